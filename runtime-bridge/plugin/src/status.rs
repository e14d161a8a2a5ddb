//! What a gRPC status means for a call that returned no answer.

use bridge_core::external::CallError;
use bridge_transport::{
    DeadlinePassed,
    status::{name, never_connected, text, timed_out, was_not_processed, was_withheld},
};
use tonic::{Code, Status};

/// Code of a call that was certainly never sent.
pub(crate) const NOT_SENT: &str = "NOT_SENT";

/// Code of an answer that breaks the contract.
pub(crate) const INVALID_ANSWER: &str = "INVALID_ANSWER";

/// Four codes mean that nothing was done. So does a connection that never came about, as the request never left. Every other
/// status leaves it open.
pub(crate) fn classify(status: &Status) -> CallError {
    if was_withheld(status) {
        return not_sent(DeadlinePassed.to_string());
    }
    if was_not_processed(status) {
        return not_sent(text(status));
    }
    if never_connected(status) {
        return CallError::Unreachable {
            message: text(status),
        };
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

/// Whether a call that ended so may have met a plugin that has ended, or another release of it.
pub(crate) fn triggers_recheck(code: &str) -> bool {
    [
        NOT_SENT,
        INVALID_ANSWER,
        name(Code::Unavailable),
        name(Code::Cancelled),
        name(Code::Unknown),
    ]
    .contains(&code)
}
