//! What a plugin answers, taken apart.

use crossbridge_proto::v1alpha1 as wire;
use serde_json::Value;

pub use wire::observe_response::Result as Look;
pub use wire::outcome::Result as Ended;

/// The parameters that were found.
pub fn parameters(observation: &wire::Observation) -> Value {
    let document = observation
        .parameters
        .as_ref()
        .expect("an observation has parameters");
    serde_json::from_str(&document.json).expect("a document is JSON")
}

/// The failure of an outcome; panics if there is none.
pub fn failure(outcome: &wire::Outcome) -> &wire::Failure {
    match &outcome.result {
        Some(Ended::Failure(failure)) => failure,
        other => panic!("it did not fail: {other:?}"),
    }
}

/// The operation of an outcome; panics if there is none.
pub fn operation(outcome: &wire::Outcome) -> &wire::Operation {
    match &outcome.result {
        Some(Ended::Operation(operation)) => operation,
        other => panic!("it is no operation: {other:?}"),
    }
}

/// The end of an outcome; panics if it has not ended well.
pub fn completed(outcome: &wire::Outcome) -> &wire::Completed {
    match &outcome.result {
        Some(Ended::Completed(completed)) => completed,
        other => panic!("it is not completed: {other:?}"),
    }
}
