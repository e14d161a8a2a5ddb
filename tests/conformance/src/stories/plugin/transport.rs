//! Messages of every size.

use crossbridge_proto::v1alpha1 as wire;
use tonic::Code;

use crate::{
    assertion::assertions,
    bench::Bench,
    client::{Terms, told},
    story::Story,
    verdict::{Judgement, Stop},
};

/// Larger ones are not sent, for the sake of both sides.
const MOST_BYTES: usize = 64 << 20;

/// Taken by the message around the token.
const FRAME_BYTES: usize = 1024;

/// By then each of these is answered.
const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);

assertions! {
    TAKEN = "transport/largest-message-taken", Core, "GetPluginInfoResponse.max_message_bytes",
        "A message of nearly the size that the plugin says it takes is taken.",
        "Set the server's limit to max_message_bytes (0 means 4 MiB), or say less.";
    REFUSED = "transport/oversized-refused", Core, "GetPluginInfoResponse.max_message_bytes",
        "A message beyond that size is refused.",
        "Set the server's limit for received messages to what max_message_bytes says.";
    NEXT = "transport/call-after-oversized", Core, "GetPluginInfoResponse.max_message_bytes",
        "After a refused message the next call is served.",
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
    bench.judge(TAKEN, taken(send(bench, limit.saturating_sub(FRAME_BYTES)).await));
    bench.judge(REFUSED, refused(limit, send(bench, limit + FRAME_BYTES).await));
    let next = bench
        .client
        .get_plugin_info(wire::GetPluginInfoRequest::default(), terms())
        .await;
    bench.judge(NEXT, next.map(drop).map_err(|status| told(&status)));
    Ok(())
}

/// Asks for a page by a token of this many bytes, which is nobody's.
async fn send(bench: &Bench, bytes: usize) -> Result<(), tonic::Status> {
    let request = wire::ListResourceKindsRequest {
        page_size: 0,
        page_token: "x".repeat(bytes),
    };
    bench.client.list_resource_kinds(request, terms()).await.map(drop)
}

fn terms() -> Terms {
    Terms::within(ANSWER_WITHIN).rough()
}

/// Whatever it says of the token, it read it.
fn taken(answer: Result<(), tonic::Status>) -> Judgement {
    match answer {
        Ok(()) => Ok(()),
        Err(status) if status.code() == Code::InvalidArgument => Ok(()),
        Err(status) => Err(told(&status)),
    }
}

fn refused(limit: usize, answer: Result<(), tonic::Status>) -> Judgement {
    match answer {
        Err(status) if status.code() != Code::InvalidArgument => Ok(()),
        _ => Err(format!("it says that it takes {limit} bytes, and took more")),
    }
}
