//! The external system as the bridge sees it: what a plugin is asked, and what it can answer.
//!
//! These are the contract's messages after every check, in the words of the machine. `bridge-plugin` makes them.

mod answer;
mod failure;
mod request;

pub use answer::{
    Absent, Answer, Completed, FieldDiff, Look, Observation, Operation, OperationVerb, Outcome,
    OutcomeResult, Warning,
};
pub use failure::{CallError, Effect, Failure, FailureCode, FieldViolation};
pub use request::{Config, DesiredState, Owner, Secrets, Target, Verb};

/// A JSON object: parameters, a status, settings.
pub type Document = serde_json::Map<String, serde_json::Value>;
