//! The managed-resource machine: looks at what is known and returns one thing to do (design section 4).
//!
//! [`decide`] reads a [`Snapshot`] and a [`ReconcileMemory`] and returns a [`Decision`]. The driver carries it out, reports to the memory what came of
//! it ([`ReconcileMemory::record_observation`], [`ReconcileMemory::record_response`], …) and asks again, until there is nothing left to do.
//! [`resolve_intent()`] says what of an answer must be persisted before anything else is done.
//!
//! Each module imports those below it alone, from what is stored up to the order of the steps:
//!
//! ```text
//! decide                                        the order of the steps
//! steps/*                                       each decides, or leaves it to the next; none knows another
//! removal  poll  unanswered  actions            what several steps do alike
//! context  running  resource_report  approval   what they look at
//! report  resolve_intent  record_*              what is shown, persisted, remembered of a result
//! rules/*                                       the rules, by subject
//! reconcile_memory  snapshot  record  status    data
//! ```

mod actions;
mod annotations;
mod approval;
mod at_provider_refusal;
mod attempt;
mod context;
mod decide;
mod decision;
mod diff;
mod differences;
mod duration;
mod failure;
mod initial_schedule;
mod intervals;
mod last_observation;
mod list_index;
mod machine;
pub mod names;
mod observation_size;
mod ownership;
mod policy;
mod poll;
mod quantity;
mod reconcile_inputs;
mod reconcile_memory;
mod record;
mod record_drift;
mod record_failure;
mod record_format;
mod record_observation;
mod record_results;
mod removal;
mod report;
mod resolve_intent;
mod resource_report;
mod retry_state;
mod rules;
mod running;
mod same_json;
mod snapshot;
pub mod status;
mod status_echo;
mod status_pace;
mod step;
mod steps;
mod stored_form;
mod unanswered;

pub use annotations::Annotations;
pub use attempt::Attempt;
pub use decide::{decide, decide_without_config};
pub use decision::{
    Action, AnnotationChanges, Call, Decision, Event, MetadataChange, ObserveCall, Purpose, Rest, StatusWrite,
};
pub use diff::{differences, differences_by_rules};
pub use duration::parse_go;
pub use failure::{Reaction, delay, reaction};
pub use initial_schedule::initial_schedule;
pub use last_observation::{LastObservation, ObservedState, OwnLookUp};
pub use machine::{ManagedMachine, Performed, SnapshotAdditions};
pub use observation_size::{drop_large_observation, is_large};
pub use ownership::{Neighbour, Neighbours, OwnershipClaims};
pub use policy::Policies;
pub use reconcile_inputs::ReconcileInputs;
pub use reconcile_memory::ReconcileMemory;
pub use record::{
    ConfigIdentity, Details, Intent, IntentVerb, Record, RecordedOperation, RecordedParameters, Replacement,
    SNAPSHOT_LIMIT, Stored,
};
pub use record_format::{RecordFormat, Unreadable};
pub use resolve_intent::{IntentResolution, resolve_intent};
pub use retry_state::RetryState;
pub use snapshot::{
    Blocker, Fresh, Managed, Problem, ResolvedDesiredState, Settings, Snapshot, Suspension, former_marker,
};
pub use status::{Condition, ConditionValue, OperationReport, PendingDelete, Progress, Question, Status};
pub use status_echo::StatusEcho;
