//! The managed-resource machine: looks at what is known and returns one thing to do (design section 4).
//!
//! [`decide`] reads a [`World`] and a [`ReconcileMemory`] and returns a [`Decision`]. The shell carries it out, tells the memory what it brought
//! ([`ReconcileMemory::record_observation`], [`ReconcileMemory::record_response`], …) and asks again, until there is nothing left to do. [`settle`] says what of an answer
//! must be persisted before anything else is done.

mod annotations;
mod context;
mod create;
mod decide;
mod decision;
mod delete;
mod diff;
mod duration;
mod existing;
mod failure;
mod initial_schedule;
mod intervals;
mod last_observation;
mod machine;
pub mod names;
mod operation;
mod ownership;
mod policy;
mod quantity;
mod reconcile_inputs;
mod reconcile_memory;
mod record;
mod record_failure;
mod record_observation;
mod record_results;
mod recover_creation;
mod replacement;
mod report;
mod resolve_intent;
mod retry_state;
mod rules;
mod snapshot;
pub mod status;
mod status_echo;
mod stored_form;

pub use annotations::Annotations;
pub use decide::{decide, decide_without_config};
pub use decision::{
    Action, Attempt, Call, Decision, Event, MetadataChange, ObserveCall, Purpose, Rest, StatusWrite,
};
pub use diff::{differences, differences_by_rules};
pub use duration::parse_go;
pub use failure::{Reaction, back_off, delay, reaction};
pub use initial_schedule::initial_schedule;
pub use last_observation::{LastObservation, ObservedState};
pub use machine::{ManagedMachine, Performed, SnapshotAdditions};
pub use ownership::{Neighbour, Neighbours, OwnershipClaims};
pub use policy::Policies;
pub use reconcile_inputs::ReconcileInputs;
pub use reconcile_memory::ReconcileMemory;
pub use record::{
    ConfigIdentity, Details, Intent, IntentVerb, Record, RecordedOperation, RecordedParameters, Replacement,
    SNAPSHOT_LIMIT, Stored,
};
pub use resolve_intent::{IntentResolution, resolve_intent};
pub use retry_state::RetryState;
pub use snapshot::{
    Blocker, Fresh, Managed, Problem, ResolvedDesiredState, Settings, Snapshot, Suspension, former_marker,
};
pub use status::{Condition, ConditionValue, OperationReport, Progress, Question, Status};
pub use status_echo::StatusEcho;
