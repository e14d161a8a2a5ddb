//! What a gRPC status means for a run.

use bridge_core::function::FunctionFailure;
use bridge_transport::status;
use tonic::{Code, Status};

use crate::{count, encode::MAX_MESSAGE_BYTES};

/// `in_time`: what it means that the time of the call is over.
pub(crate) fn of_status(status: &Status, in_time: FunctionFailure) -> FunctionFailure {
    if status::was_withheld(status) || status::timed_out(status) {
        return in_time;
    }
    if status::never_connected(status) {
        return FunctionFailure::Unreachable(status::text(status));
    }
    if let Some(rejected) = count::rejection(status) {
        return FunctionFailure::Invalid(rejected.to_string());
    }
    if is_too_large(status) || status::is_endless(status) {
        return FunctionFailure::Invalid(format!(
            "it is larger than {MAX_MESSAGE_BYTES} bytes: compose fewer or smaller resources"
        ));
    }
    if status::is_of_the_connection(status) {
        return FunctionFailure::Unreachable(format!("the connection broke: {}", status::text(status)));
    }
    if is_undecodable(status) {
        return FunctionFailure::Invalid(format!(
            "it does not decode as a RunFunctionResponse: {}",
            status.message()
        ));
    }
    FunctionFailure::Status {
        code: status::name(status.code()).to_owned(),
        message: status::text(status),
    }
}

/// Tonic gives it no other mark than its text, which a test holds.
fn is_too_large(status: &Status) -> bool {
    status.code() == Code::OutOfRange && status.message().contains("decoded message length too large")
}

/// Of prost's decoder, by way of tonic.
fn is_undecodable(status: &Status) -> bool {
    status.code() == Code::Internal && status.message().contains("failed to decode Protobuf message")
}
