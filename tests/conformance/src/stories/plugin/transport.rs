//! Messages of every size.

use std::time::Duration;

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::NameSource;
use prost::Message;
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse, health_client::HealthClient};

use crate::{
    assertion::assertions,
    bench::Bench,
    client::{Terms, told},
    lab::{Lab, Thing},
    story::Story,
    verdict::{Judgement, Stop},
};

/// Larger ones are not sent, for the sake of both sides.
const MOST_BYTES: usize = 64 << 20;

/// Taken by the message around the token.
const FRAME_BYTES: usize = 1024;

/// By then each of these is answered.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// Who watches health gets the first word at once.
const WATCH_WITHIN: Duration = Duration::from_secs(5);

/// Both ends are on one machine, as a rule.
const TORN_WITHIN: Duration = Duration::from_millis(100);

assertions! {
    TAKEN = "transport/largest-message-taken", Core, "GetPluginInfoResponse.max_message_bytes",
        "A message of nearly the size that the plugin says it takes is taken.",
        "Set the server's limit to max_message_bytes (0 means 4 MiB), or say less.";
    REFUSED = "transport/oversized-refused", Core, "GetPluginInfoResponse.max_message_bytes",
        "A message beyond that size is refused.",
        "Set the server's limit for received messages to what max_message_bytes says.";
    NEXT = "transport/call-after-oversized", Core, "GetPluginInfoResponse.max_message_bytes",
        "After a refused message the next call is served, and those of the same connection go on.",
        "Refuse the message, not the connection or the process.";
}

pub(crate) const STORY: Story<Bench> = Story {
    assertions: ALL,
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: &Bench) -> Result<(), Stop> {
    let limit = bench.info()?.max_message_bytes;
    if limit > MOST_BYTES {
        return Err(Stop::not_applicable(format!(
            "it takes messages of {limit} bytes"
        )));
    }
    let (fits, exceeds) = (limit.saturating_sub(FRAME_BYTES), limit + FRAME_BYTES);
    let look = looked_for(bench)?;
    bench.judge(TAKEN, taken(send(bench, fits).await));
    if let Some(look) = &look {
        let answer = look.send(fits).await;
        bench.judge(TAKEN, taken(answer).map_err(|seen| format!("Observe: {seen}")));
    }
    let mut stream = watched(bench).await;
    bench.judge(REFUSED, refused(limit, send(bench, exceeds).await));
    if let Some(look) = &look {
        let judged = refused(limit, look.send(exceeds).await);
        bench.judge(REFUSED, judged.map_err(|seen| format!("Observe: {seen}")));
    }
    let next = bench
        .client
        .get_plugin_info(wire::GetPluginInfoRequest::default(), terms())
        .await;
    bench.judge(NEXT, next.map(drop).map_err(|status| told(&status)));
    if let Some(stream) = &mut stream {
        bench.judge(NEXT, lives(stream).await);
    }
    Ok(())
}

/// A call that lasts as long as its connection does; `None`: health cannot be watched.
async fn watched(bench: &Bench) -> Option<Streaming<HealthCheckResponse>> {
    let mut health = HealthClient::new(bench.client.channel());
    let asked = health.watch(HealthCheckRequest {
        service: String::new(),
    });
    let mut stream = timeout(WATCH_WITHIN, asked).await.ok()?.ok()?.into_inner();
    let first = timeout(WATCH_WITHIN, stream.message()).await.ok()?;
    matches!(first, Ok(Some(_))).then_some(stream)
}

/// By now the next call was answered: a connection that was torn is known to be.
async fn lives(stream: &mut Streaming<HealthCheckResponse>) -> Judgement {
    match timeout(TORN_WITHIN, stream.message()).await {
        Err(_) | Ok(Ok(Some(_))) => Ok(()),
        Ok(Ok(None)) => Err("another call of the same connection ended with the refusal".to_owned()),
        Ok(Err(status)) => Err(format!(
            "another call of the same connection ended in {}",
            told(&status)
        )),
    }
}

/// Asks for a page by a token of this many bytes, which is nobody's.
async fn send(bench: &Bench, bytes: usize) -> Result<(), Status> {
    let request = wire::ListResourceKindsRequest {
        page_size: 0,
        page_token: "x".repeat(bytes),
    };
    bench.client.list_resource_kinds(request, terms()).await.map(drop)
}

/// Something that nobody has, to be looked for: the service that gets large messages has a limit of its own.
struct LookedFor {
    lab: Lab,
    thing: Thing,
}

fn looked_for(bench: &Bench) -> Result<Option<LookedFor>, Stop> {
    let lab = bench.chosen.iter().find_map(|kind| {
        let example = bench.fixtures.examples_of(kind).into_iter().next()?;
        Some(Lab::new(bench, kind, &example))
    });
    let Some(lab) = lab else { return Ok(None) };
    let mut thing = lab.thing()?;
    if thing.name().is_empty() && lab.kind.external_name.source != NameSource::Derived {
        thing = thing.named(&lab.fresh_name("")?);
    }
    Ok(Some(LookedFor { lab, thing }))
}

impl LookedFor {
    /// Looks by a message of this many bytes: white space behind a wish means nothing.
    async fn send(&self, bytes: usize) -> Result<(), Status> {
        let mut request = self.thing.observe();
        let padding = bytes.saturating_sub(request.encoded_len());
        if let Some(wish) = request
            .desired
            .as_mut()
            .and_then(|desired| desired.parameters.as_mut())
        {
            wish.json.extend(std::iter::repeat_n(' ', padding));
        }
        self.lab.bench.client.observe(request, terms()).await.map(drop)
    }
}

fn terms() -> Terms {
    Terms::within(ANSWER_WITHIN).rough()
}

/// Whatever it says of the token, it read it.
fn taken(answer: Result<(), Status>) -> Judgement {
    match answer {
        Ok(()) => Ok(()),
        Err(status) if status.code() == Code::InvalidArgument => Ok(()),
        Err(status) => Err(told(&status)),
    }
}

fn refused(limit: usize, answer: Result<(), Status>) -> Judgement {
    match answer {
        Err(status) if status.code() != Code::InvalidArgument => Ok(()),
        _ => Err(format!("it says that it takes {limit} bytes, and took more")),
    }
}
