//! What a call's metadata holds: its deadline, its id, its trace.

use std::time::{Duration, SystemTime};

use tonic::{Status, metadata::MetadataMap};
use tracing::Span;

use crate::{Deadline, Failure};

/// Longest call that changes something; longer ones are operations.
const CALL_LIMIT: Duration = Duration::from_mins(1);

/// Kept back of each deadline at most, for the answer's way.
const ANSWER_RESERVE: Duration = Duration::from_millis(200);

/// What the metadata of a call holds.
#[derive(Debug, Default)]
pub(super) struct Metadata {
    /// gRPC's own deadline, relative to now.
    timeout: Option<Duration>,
    /// `crossbridge-deadline-ms`, the absolute deadline; `None`: not sent.
    absolute: Option<SystemTime>,
    /// `crossbridge-call-id`, for logs; empty: none.
    pub(super) call_id: String,
    /// `traceparent`'s trace id and parent span id.
    trace: Option<(String, String)>,
}

impl Metadata {
    /// Reads them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a deadline that cannot be read; other malformed metadata is ignored.
    pub(super) fn read(map: &MetadataMap) -> Result<Self, Status> {
        let text = |key: &str| map.get(key).and_then(|value| value.to_str().ok());
        let malformed =
            |key: &'static str| move || Status::invalid_argument(format!("the metadata {key} is malformed"));
        Ok(Self {
            timeout: map
                .get("grpc-timeout")
                .map(|value| {
                    value
                        .to_str()
                        .ok()
                        .and_then(grpc_timeout)
                        .ok_or_else(malformed("grpc-timeout"))
                })
                .transpose()?,
            absolute: map
                .get("crossbridge-deadline-ms")
                .map(|value| {
                    value
                        .to_str()
                        .ok()
                        .and_then(unix_milliseconds)
                        .ok_or_else(malformed("crossbridge-deadline-ms"))
                })
                .transpose()?,
            call_id: text("crossbridge-call-id").unwrap_or_default().to_owned(),
            trace: text("traceparent").and_then(trace_parent),
        })
    }

    /// Until when a call that changes something may work.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION`: no deadline, one of more than 60 s, or one that has passed.
    pub(super) fn deadline_of_change(&self, now: SystemTime) -> Result<Deadline, Failure> {
        let refuse = |why: &str| Err(Failure::status(Status::failed_precondition(why)));
        match self.timeout {
            None => refuse("a call that changes something needs a deadline of at most 60 s"),
            Some(timeout) if timeout > CALL_LIMIT => {
                refuse("the deadline is more than 60 s ahead: what takes longer is an operation")
            }
            Some(timeout) => self.bounded(timeout, now),
        }
    }

    /// Until when any other call may work: 60 s where it has no deadline, or a later one.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION`: it has passed.
    pub(super) fn deadline_of_observe(&self, now: SystemTime) -> Result<Deadline, Failure> {
        self.bounded(self.timeout.unwrap_or(CALL_LIMIT).min(CALL_LIMIT), now)
    }

    fn bounded(&self, timeout: Duration, now: SystemTime) -> Result<Deadline, Failure> {
        let left = match self.absolute {
            None => timeout,
            Some(absolute) => timeout.min(absolute.duration_since(now).unwrap_or(Duration::ZERO)),
        };
        if left.is_zero() {
            return Err(Failure::status(Status::failed_precondition(
                "the call's deadline has passed: nothing was done",
            )));
        }
        Ok(Deadline::after(
            left.saturating_sub(ANSWER_RESERVE.min(left / 20)),
        ))
    }

    /// The span of a call, in the caller's trace.
    pub(super) fn span(&self, rpc: &'static str) -> Span {
        let span = tracing::info_span!(
            "call",
            rpc,
            call_id = self.call_id,
            trace_id = tracing::field::Empty,
            parent_span_id = tracing::field::Empty,
            kind = tracing::field::Empty,
            owner = tracing::field::Empty,
            external_name = tracing::field::Empty,
        );
        if let Some((trace, parent)) = &self.trace {
            span.record("trace_id", trace.as_str());
            span.record("parent_span_id", parent.as_str());
        }
        span
    }
}

/// gRPC's form: at most eight digits and a unit.
fn grpc_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(count * 3600)),
        "M" => Some(Duration::from_secs(count * 60)),
        "S" => Some(Duration::from_secs(count)),
        "m" => Some(Duration::from_millis(count)),
        "u" => Some(Duration::from_micros(count)),
        "n" => Some(Duration::from_nanos(count)),
        _ => None,
    }
}

fn unix_milliseconds(text: &str) -> Option<SystemTime> {
    let milliseconds = text.parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(milliseconds))
}

/// W3C: version, trace id, parent id, flags.
fn trace_parent(text: &str) -> Option<(String, String)> {
    let is_id = |id: &str, length: usize| {
        id.len() == length
            && id.bytes().all(|byte| byte.is_ascii_hexdigit())
            && id.bytes().any(|byte| byte != b'0')
    };
    let mut parts = text.split('-');
    let (version, trace, parent) = (parts.next()?, parts.next()?, parts.next()?);
    (version.len() == 2 && version != "ff" && is_id(trace, 32) && is_id(parent, 16))
        .then(|| (trace.to_owned(), parent.to_owned()))
}

#[cfg(test)]
#[path = "metadata_tests.rs"]
mod tests;
