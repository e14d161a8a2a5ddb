//! One call on its way: only before its deadline, its end classified.

use std::{future::Future, time::Duration};

use bridge_core::{external::CallError, limits};
use bridge_transport::{Now, status::name};
use jiff::Timestamp;
use prost::Message;
use tokio::time::timeout;
use tonic::{
    Code, Request, Response, Status,
    metadata::{MetadataMap, MetadataValue},
};

use crate::{answer::Answered, random, state::PluginState, status};

/// What frames the longest message of an answer, in bytes.
pub(crate) const FRAMES: usize = 64 << 10;

/// Of one answer: the longest message that is read, with what frames it.
pub(crate) const MOST_RECEIVED: usize = limits::ANSWER + FRAMES;

/// Sends a request.
pub(crate) async fn send<Q, A, F>(
    state: &PluginState,
    now: &Now,
    request: Q,
    deadline: Timestamp,
    call: impl FnOnce(Request<Q>) -> F,
) -> Result<A, CallError>
where
    Q: Message,
    F: Future<Output = Result<Response<A>, Status>>,
{
    let (size, most) = (request.encoded_len(), state.served.info.max_message_bytes);
    if size > most {
        return Err(status::not_sent(format!(
            "the request takes {size} bytes, and the plugin takes messages of at most {most}"
        )));
    }
    let left = left(now, deadline)?;
    let answered = timeout(left, call(with_metadata(request, deadline, left).0)).await;
    let answer = answered.map_err(|_| CallError::Unknown {
        code: name(Code::DeadlineExceeded).into(),
        message: "the plugin did not answer before the deadline".into(),
    })?;
    let answer = answer.map_err(|status| status::classify(&status))?;
    Ok(answer.into_inner())
}

/// What an answer says, or how it breaks the contract.
pub(crate) fn checked<A, T>(answer: A, check: impl FnOnce(A) -> Answered<T>) -> Result<T, CallError> {
    check(answer).map_err(|why| CallError::Unknown {
        code: status::INVALID_ANSWER.into(),
        message: format!("the plugin's answer breaks the contract: {why}"),
    })
}

/// Time until the deadline, or why nothing may be sent any more.
pub(crate) fn left(now: &Now, deadline: Timestamp) -> Result<Duration, CallError> {
    Duration::try_from(deadline.duration_since(now()))
        .ok()
        .filter(|left| !left.is_zero())
        .ok_or_else(|| status::not_sent("the deadline of the call had passed".into()))
}

/// A request as the contract wants each of them: with its deadline, by this clock and as time that is left, with an id and a trace. Gives the
/// id too, by which the plugin's log names the call.
pub fn with_metadata<Q>(message: Q, deadline: Timestamp, left: Duration) -> (Request<Q>, String) {
    let mut request = Request::new(message);
    request.set_timeout(left);
    let metadata = request.metadata_mut();
    metadata.insert(
        "crossbridge-deadline-ms",
        MetadataValue::from(deadline.as_millisecond()),
    );
    let call_id = identify(metadata);
    (request, call_id)
}

/// Gives a call its id, which is returned, and its trace.
pub(crate) fn identify(metadata: &mut MetadataMap) -> String {
    let call_id = random::call_id();
    // What consists of hexadecimal digits is always a valid value.
    if let (Ok(value), Ok(traceparent)) = (call_id.parse(), traceparent().parse()) {
        metadata.insert("crossbridge-call-id", value);
        metadata.insert("traceparent", traceparent);
    }
    call_id
}

/// W3C trace context of a new, sampled trace.
fn traceparent() -> String {
    let (trace, span) = random::trace();
    format!("00-{trace:032x}-{span:016x}-01")
}
