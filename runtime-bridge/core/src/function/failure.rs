//! Why a function gave no response.

use std::time::Duration;

use jiff::Timestamp;

/// Why a function gave no response. The texts stand in conditions: they are the same for the same cause, and hold no port, age or count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FunctionFailure {
    /// Nothing says where the function is.
    #[error("no endpoint is known: {0}")]
    NoEndpoint(String),
    /// Nobody answers at its endpoint, or the connection broke.
    #[error("cannot reach it: {0}")]
    Unreachable(String),
    /// No answer before the deadline.
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    /// The deadline of the run came before its answer did.
    #[error("the time of the run ended before it answered")]
    OutOfTime,
    /// The deadline of the run came before a place was free.
    #[error(
        "it is busy: none of the {places} calls of it that may be under way ended before the time of the run did"
    )]
    Busy {
        /// Calls that may be under way at once.
        places: usize,
    },
    /// It did not answer several times in a row: it is asked by one probe at a time.
    #[error("it has not answered since {since}: {why}")]
    Held {
        /// Since when.
        since: Timestamp,
        /// The failure that was last.
        why: String,
    },
    /// It answered with an error of gRPC.
    #[error("{code}: {message}")]
    Status {
        /// Name of the code.
        code: String,
        /// What it says.
        message: String,
    },
    /// What it is to be asked has no encoding.
    #[error("cannot encode the request: {0}")]
    InvalidRequest(String),
    /// Its response breaks the contract or a limit.
    #[error("unusable response: {0}")]
    Invalid(String),
    /// The request is larger than what is sent.
    #[error("the request of {size} bytes is larger than {limit}: compose fewer or smaller resources")]
    TooLarge {
        /// Of the request.
        size: usize,
        /// The most that is sent.
        limit: usize,
    },
}
