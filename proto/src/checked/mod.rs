//! The contract's messages after every check: domain types, and the conversions between them and the wire.
//!
//! `TryFrom` a wire message checks everything that the contract says of it by itself: REQUIRED fields, sizes, forms,
//! conditions between fields. A [`Violation`] names the field and the rule. Whoever builds a domain type calls its `check` before it goes on
//! the wire. What needs more than the message (the kind's name rules, the clock) is the caller's matter.
//!
//! Enumerations take a number that this version does not know like an unset one, by the default that the contract documents.

mod discovery;
mod document;
mod failure;
mod kind;
mod nested;
mod observation;
mod operation;
mod outcome;
mod plugin;
mod request;
mod secrets;
mod target;
#[cfg(test)]
mod tests;
mod text;
mod violation;

pub use discovery::{List, Listed, ListedItem};
pub use document::Document;
pub use failure::{Effect, Failure, FailureCode, FieldViolation};
pub use kind::{
    Capabilities, Comparison, ConnectionKey, CreateRecovery, DiffMode, Example, FieldRule, Kind, Mutability,
    NameRules, NameSource, PrinterColumn, ReferenceRule, Timeouts,
};
pub use observation::{Absent, FieldDiff, Look, Observation, Warning};
pub use operation::{Operation, OperationVerb};
pub use outcome::{Completed, Outcome, OutcomeResult};
pub use plugin::{
    ConfigVerdict, CredentialKey, DEFAULT_CONCURRENT_CALLS, DEFAULT_MESSAGE_BYTES, KindPage, PluginInfo,
};
pub use request::{Create, Delete, Desired, Observe, Poll, Update};
pub use secrets::Secrets;
pub use target::{Config, Owner, ResourceType, Target};
pub use violation::{Rule, Violation};
