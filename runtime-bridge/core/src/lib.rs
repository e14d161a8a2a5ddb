//! The decisions of the bridge, pure: no I/O, no clock, no randomness. Time is an argument, and what is decided is a value that prints.

pub mod back_off;
pub mod claim;
pub mod composite;
pub mod controller_ref;
pub mod crd;
pub mod definition;
pub mod driver;
mod error_chain;
pub mod function;
pub mod lease;
pub mod managed;
pub mod managed_fields;
pub mod port;
pub mod protection;
pub mod queue;
pub mod reasons;
pub mod revision;
pub mod rule;
pub mod watch_plan;

pub use crossbridge_types::kind;
pub use error_chain::error_chain;

/// What a plugin is asked, and what it can answer: the contract's types.
pub mod external {
    pub use crossbridge_types::{
        Absent, Answer, Call, CallError, Completed, Config, DesiredState, Document, Effect, Failure,
        FailureCode, FieldDiff, FieldViolation, Observation, ObserveResult, Operation, OperationVerb,
        Outcome, OutcomeResult, Owner, Secrets, Target, Verb, Warning,
    };
}
