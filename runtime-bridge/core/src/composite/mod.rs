//! Composite resources: what they are to compose, and what of it is to be written.
//!
//! Each module imports those below it alone:
//!
//! ```text
//! machine                                       the decisions as the driver runs them
//! decide  steps/*                               the order of one reconcile
//! outcome  due  begin_run  differences  connection  context  what steps share
//! plan  view  status  write                     what a result means, is shown, reported, stored
//! results  record_events                        what came of an action
//! comparison  report                            what is known, for people
//! rules  facts                                  predicates, and what follows from a snapshot alone
//! decision  snapshot  memory                    what is decided, from what
//! choose                                        composition and revision
//! pipeline/*                                    runs the functions of a composition, without I/O
//! desired                                       composed resources from what the functions desire
//! secrets  present  requires  name              comparison, stored requirements, names
//! publication  digest  sentence                 the connection Secret, equality of content, lists in messages
//! xr  live  resource_ref  object_id  names      data
//! ```

mod begin_run;
mod blocked;
mod choose;
#[cfg(test)]
mod choose_tests;
mod circuit;
mod comparison;
mod completed;
mod composed;
mod connection;
mod context;
mod decide;
mod decision;
mod desired;
mod desired_error;
mod differences;
mod digest;
mod due;
mod facts;
mod hold;
mod in_use;
mod live;
mod machine;
mod memory;
mod movement;
mod name;
pub mod names;
mod object_id;
mod outcome;
mod overdue;
mod pipeline;
mod plan;
mod present;
mod publication;
mod reapplication;
mod record_events;
mod refused_report;
mod report;
pub mod requires;
mod resource_ref;
mod results;
mod rules;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod secret_deletion_tests;
mod secrets;
mod sentence;
mod snapshot;
mod status;
mod steps;
mod view;
mod write;
mod xr;

pub use choose::{
    Choice, ChoiceChange, Chosen as ChosenRevision, Library, Missing, Preferences, Selected, choose,
};
pub use circuit::{CircuitCounts, CircuitSettings};
pub use comparison::{Compared, Standing, comparison};
pub use decide::decide;
pub use decision::{Action, Change, CompositeWrite, Deletion, RunStart, StatusWrite};
pub use desired::{
    ComposedResource, CompositeIdentity, DesiredContext, DesiredResources, ObservedName,
    Scope as ResourceScope, desired_resources,
};
pub use desired_error::{DesiredError, DesiredWarning};
pub use digest::{AppliedMark, BodyDigest, ContentDigest, Written, for_functions};
pub use live::{LiveObject, ObjectState, Ownership};
pub use machine::{Additions, CompositeMachine};
pub use memory::CompositeMemory;
pub use name::{child_name, composed_manager, is_valid_name, is_valid_namespace};
pub use object_id::ObjectId;
pub(crate) use overdue::Deadline;
pub use pipeline::{
    CredentialSpec, Found, Limits, Lookup, Next, Pipeline, PipelineSpec, PipelineSpecError, RunFailure,
    RunInput, RunOutcome, StepFailure, StepResult, StepSpec, Violation,
};
pub use present::{Difference, Seen, differences};
pub use publication::{Publication, SecretName, SecretVersions};
pub(crate) use reapplication::{DISPUTED, Reapplication};
pub use refused_report::RefusedReport;
pub use requires::StepRequirements;
pub use resource_ref::ResourceRef;
pub use results::{Performed, PublishedSecret, WriteFailure, WriteFailureKind};
pub use secrets::{own_secret, secret_of, secrets_that_count};
pub use snapshot::{Basis, ChoiceProblem, Chosen, InUse, Reservation, RunState, Settings, Snapshot};
pub(crate) use status::{
    ConditionReport, READY, SYNCED, Stamp as ConditionStamp, deleting_since, differs as status_differs,
    in_order, stored_conditions,
};
pub use status::{DELETION_BLOCKED, DELETION_OVERDUE, reports_deletion, with_condition};
pub use xr::Composite;
