//! The domain types of the contract between the runtime bridge and a provider plugin: what a plugin is asked, what it can answer, and what its
//! kinds are. Pure: no wire format, no I/O, no clock.
//!
//! Every side uses these types: the bridge, the SDK and the conformance kit. `crossbridge-proto` converts them to the wire and back. A type whose
//! fields have a form has a `check`, which names the field and the rule that it breaks ([`Violation`]): it holds for whatever came from the wire,
//! and whoever builds a value for the wire calls it. What needs more than the value (the kind's name rules, the clock) is the caller's matter.

mod call;
pub mod check;
mod desired;
mod discovery;
mod failure;
pub mod kind;
pub mod limits;
mod observation;
mod operation;
mod outcome;
mod plugin;
mod target;
mod violation;

pub use call::{Call, Observe, Verb};
pub use desired::{DesiredState, Secrets};
pub use discovery::{List, Listed, ListedItem};
pub use failure::{CallError, Effect, Failure, FailureCode, FieldViolation};
pub use kind::{
    Capabilities, Comparison, ConnectionKey, CreateRecovery, DiffMode, Example, FieldRule, Kind, Mutability,
    NameRules, NameSource, PrinterColumn, ReferenceRule, ResourceType, Timeouts,
};
pub use observation::{Absent, FieldDiff, Observation, ObserveResult, Warning};
pub use operation::{Operation, OperationVerb};
pub use outcome::{Answer, Completed, Outcome, OutcomeResult};
pub use plugin::{
    ConfigVerdict, CredentialKey, DEFAULT_CONCURRENT_CALLS, DEFAULT_MESSAGE_BYTES, KindPage, PluginInfo,
};
pub use target::{Config, Owner, Target};
pub use violation::{Rule, Violation};

/// A JSON object: parameters, a status, settings.
pub type Document = serde_json::Map<String, serde_json::Value>;
