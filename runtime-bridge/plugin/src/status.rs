//! What a gRPC status means for a call that returned no answer.

use std::error::Error;

use bridge_core::{error_chain, external::CallError};
use tonic::{Code, ConnectError, Status, TimeoutExpired};

use crate::guard::{CompressedAnswer, DeadlinePassed};

/// Code of a call that was certainly never sent.
pub(crate) const NOT_SENT: &str = "NOT_SENT";

/// Code of an answer that breaks the contract.
pub(crate) const INVALID_ANSWER: &str = "INVALID_ANSWER";

/// Four codes mean that nothing was done. So does a connection that never came about, as the request never left. Every other
/// status leaves it open.
pub(crate) fn classify(status: &Status) -> CallError {
    if causes(status).any(<dyn Error>::is::<DeadlinePassed>) {
        return not_sent(DeadlinePassed.to_string());
    }
    if never_connected(status) {
        return not_sent(format!("cannot connect to the plugin: {}", text(status)));
    }
    let message = text(status);
    if timed_out(status) {
        let code = name(Code::DeadlineExceeded).into();
        return CallError::Unknown { code, message };
    }
    let code = name(status.code()).to_owned();
    match status.code() {
        Code::InvalidArgument | Code::FailedPrecondition | Code::NotFound | Code::Unimplemented => {
            CallError::Rejected { code, message }
        }
        _ => CallError::Unknown { code, message },
    }
}

/// The request certainly never left.
pub(crate) fn not_sent(message: String) -> CallError {
    CallError::Rejected {
        code: NOT_SENT.into(),
        message,
    }
}

/// Whether a call that ended so may have met a plugin that has ended.
pub(crate) fn triggers_recheck(code: &str) -> bool {
    [
        NOT_SENT,
        name(Code::Unavailable),
        name(Code::Cancelled),
        name(Code::Unknown),
    ]
    .contains(&code)
}

/// Whether the status was created here because no connection could be opened.
pub(crate) fn never_connected(status: &Status) -> bool {
    causes(status).any(<dyn Error>::is::<ConnectError>)
}

/// Whether the status was created here because the connection broke: a status of the plugin itself has no cause on this side.
pub(crate) fn is_of_the_connection(status: &Status) -> bool {
    status.source().is_some() && !causes(status).any(<dyn Error>::is::<CompressedAnswer>)
}

/// Whether the call ran out of time, here (tonic then reports CANCELLED) or at the plugin.
pub(crate) fn timed_out(status: &Status) -> bool {
    status.code() == Code::DeadlineExceeded || causes(status).any(<dyn Error>::is::<TimeoutExpired>)
}

fn causes(status: &Status) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(status.source(), |&error| error.source())
}

/// Its message, with the causes of an error that arose here.
pub(crate) fn text(status: &Status) -> String {
    let cause = status.source().map(error_chain).unwrap_or_default();
    match (status.message(), cause) {
        ("", cause) => cause,
        (message, cause) if cause.is_empty() || message.contains(&cause) => message.to_owned(),
        (message, cause) if cause.contains(message) => cause,
        (message, cause) => format!("{message}: {cause}"),
    }
}

/// The code in the contract's spelling.
pub(crate) fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
