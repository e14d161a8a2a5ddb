//! What a gRPC status tells of the connection, and its code and message as text.

use std::error::Error;

use bridge_core::error_chain;
use tonic::{Code, ConnectError, Status, TimeoutExpired};

use crate::{
    EndpointError,
    guard::{CompressedAnswer, DeadlinePassed, EndlessAnswer},
};

/// Whether the message was not sent because its deadline had passed.
pub fn was_withheld(status: &Status) -> bool {
    causes(status).any(<dyn Error>::is::<DeadlinePassed>)
}

/// Whether the status was created here because no connection could be opened.
pub fn never_connected(status: &Status) -> bool {
    causes(status).any(|error| error.is::<ConnectError>() || error.is::<EndpointError>())
}

/// Whether the status was created here because the connection broke: a status of the server itself has no cause on this side.
pub fn is_of_the_connection(status: &Status) -> bool {
    status.source().is_some() && !causes(status).any(<dyn Error>::is::<CompressedAnswer>)
}

/// Whether the answer was cut off, as it has more bytes than its channel takes ([`Guarded::at_most`](crate::Guarded::at_most)).
pub fn is_endless(status: &Status) -> bool {
    causes(status).any(<dyn Error>::is::<EndlessAnswer>)
}

/// Whether the server certainly did not process the call: it refused the stream, or had said before that it takes no more.
pub fn was_not_processed(status: &Status) -> bool {
    causes(status)
        .filter_map(<dyn Error>::downcast_ref::<h2::Error>)
        .any(|error| {
            error.is_remote()
                && (error.reason() == Some(h2::Reason::REFUSED_STREAM)
                    || (error.is_go_away() && error.reason() == Some(h2::Reason::NO_ERROR)))
        })
}

/// Whether the call ran out of time, here (tonic then reports CANCELLED) or at the server.
pub fn timed_out(status: &Status) -> bool {
    status.code() == Code::DeadlineExceeded || causes(status).any(<dyn Error>::is::<TimeoutExpired>)
}

fn causes(status: &Status) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(status.source(), |&error| error.source())
}

/// Its message, with the causes of an error that arose here.
pub fn text(status: &Status) -> String {
    let cause = status.source().map(error_chain).unwrap_or_default();
    match (status.message(), cause) {
        ("", cause) => cause,
        (message, cause) if cause.is_empty() || message.contains(&cause) => message.to_owned(),
        (message, cause) if cause.contains(message) => cause,
        (message, cause) => format!("{message}: {cause}"),
    }
}

/// The code in gRPC's spelling: `DEADLINE_EXCEEDED`.
pub fn name(code: Code) -> &'static str {
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
