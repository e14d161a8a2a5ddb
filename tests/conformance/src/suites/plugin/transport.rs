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
    client::{CallOptions, describe},
    kind_context::{KindContext, TestResource},
    run_context::RunContext,
    suite::Suite,
    verdict::{Judgement, Stop},
};

/// Larger ones are not sent, for the sake of both sides.
const MOST_BYTES: usize = 64 << 20;

/// Taken by the message around the token.
const FRAME_BYTES: usize = 1024;

/// By then each of these is answered.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// A health watch gets the first status at once.
const WATCH_WITHIN: Duration = Duration::from_secs(5);

/// Both ends are on one machine, as a rule.
const DISCONNECT_WITHIN: Duration = Duration::from_millis(100);

assertions! {
    NAME_EXISTS = "transport/largest-message-accepted", Core, "GetPluginInfoResponse.max_message_bytes",
        "A message of nearly the advertised size is accepted.",
        "Set the server's limit to max_message_bytes (0 means 4 MiB), or say less.";
    REJECTED = "transport/oversized-rejected", Core, "GetPluginInfoResponse.max_message_bytes",
        "A message beyond the advertised size is rejected.",
        "Set the server's limit for received messages to max_message_bytes.";
    NEXT = "transport/call-after-oversized", Core, "GetPluginInfoResponse.max_message_bytes",
        "After a rejected message the next call is served, and those of the same connection go on.",
        "Reject the message, not the connection or the process.";
}

pub(crate) const SUITE: Suite<RunContext> = Suite {
    assertions: ALL,
    run: |run_ctx| Box::pin(run(run_ctx)),
};

async fn run(run_ctx: &RunContext) -> Result<(), Stop> {
    let limit = run_ctx.info()?.max_message_bytes;
    if limit > MOST_BYTES {
        return Err(Stop::not_applicable(format!(
            "it takes messages of {limit} bytes"
        )));
    }
    let (fits, exceeds) = (limit.saturating_sub(FRAME_BYTES), limit + FRAME_BYTES);
    let observation = probe(run_ctx)?;
    run_ctx.judge(NAME_EXISTS, taken(send(run_ctx, fits).await));
    if let Some(observation) = &observation {
        let response = observation.send(fits).await;
        run_ctx.judge(
            NAME_EXISTS,
            taken(response).map_err(|seen| format!("Observe: {seen}")),
        );
    }
    let mut stream = watched(run_ctx).await;
    run_ctx.judge(REJECTED, rejected(limit, send(run_ctx, exceeds).await));
    if let Some(observation) = &observation {
        let judged = rejected(limit, observation.send(exceeds).await);
        run_ctx.judge(REJECTED, judged.map_err(|seen| format!("Observe: {seen}")));
    }
    let next = run_ctx
        .client
        .get_plugin_info(wire::GetPluginInfoRequest::default(), options())
        .await;
    run_ctx.judge(NEXT, next.map(drop).map_err(|status| describe(&status)));
    if let Some(stream) = &mut stream {
        run_ctx.judge(NEXT, lives(stream).await);
    }
    Ok(())
}

/// A call that lasts as long as its connection does; `None`: health cannot be watched.
async fn watched(run_ctx: &RunContext) -> Option<Streaming<HealthCheckResponse>> {
    let mut health = HealthClient::new(run_ctx.client.channel());
    let asked = health.watch(HealthCheckRequest {
        service: String::new(),
    });
    let mut stream = timeout(WATCH_WITHIN, asked).await.ok()?.ok()?.into_inner();
    let first = timeout(WATCH_WITHIN, stream.message()).await.ok()?;
    matches!(first, Ok(Some(_))).then_some(stream)
}

/// By now the next call was answered: a connection that was torn is known to be.
async fn lives(stream: &mut Streaming<HealthCheckResponse>) -> Judgement {
    match timeout(DISCONNECT_WITHIN, stream.message()).await {
        Err(_) | Ok(Ok(Some(_))) => Ok(()),
        Ok(Ok(None)) => Err("another call of the same connection ended with the rejection".to_owned()),
        Ok(Err(status)) => Err(format!(
            "another call of the same connection ended in {}",
            describe(&status)
        )),
    }
}

/// Asks for a page by an invalid token of this many bytes.
async fn send(run_ctx: &RunContext, bytes: usize) -> Result<(), Status> {
    let request = wire::ListResourceKindsRequest {
        page_size: 0,
        page_token: "x".repeat(bytes),
    };
    run_ctx
        .client
        .list_resource_kinds(request, options())
        .await
        .map(drop)
}

/// An unused name to observe: the service that receives large messages has a limit of its own.
struct Probe {
    ctx: KindContext,
    resource: TestResource,
}

fn probe(run_ctx: &RunContext) -> Result<Option<Probe>, Stop> {
    let ctx = run_ctx.chosen.iter().find_map(|kind| {
        let example = run_ctx.fixtures.examples_of(kind).into_iter().next()?;
        Some(KindContext::new(run_ctx, kind, &example))
    });
    let Some(ctx) = ctx else { return Ok(None) };
    let mut resource = ctx.resource()?;
    if resource.name().is_empty() && ctx.kind.external_name.source != NameSource::Derived {
        resource = resource.with_name(&ctx.unused_name("")?);
    }
    Ok(Some(Probe { ctx, resource }))
}

impl Probe {
    /// Sends Observe with a message of this many bytes: white space after a document has no meaning.
    async fn send(&self, bytes: usize) -> Result<(), Status> {
        let mut request = self.resource.observe();
        let padding = bytes.saturating_sub(request.encoded_len());
        if let Some(desired) = request
            .desired
            .as_mut()
            .and_then(|desired| desired.parameters.as_mut())
        {
            desired.json.extend(std::iter::repeat_n(' ', padding));
        }
        self.ctx
            .run_ctx
            .client
            .observe(request, options())
            .await
            .map(drop)
    }
}

fn options() -> CallOptions {
    CallOptions::within(ANSWER_WITHIN).tolerant()
}

/// Whatever it reports of the token, it read it.
fn taken(response: Result<(), Status>) -> Judgement {
    match response {
        Ok(()) => Ok(()),
        Err(status) if status.code() == Code::InvalidArgument => Ok(()),
        Err(status) => Err(describe(&status)),
    }
}

fn rejected(limit: usize, response: Result<(), Status>) -> Judgement {
    match response {
        Err(status) if status.code() != Code::InvalidArgument => Ok(()),
        _ => Err(format!("it reports that it takes {limit} bytes, and took more")),
    }
}
