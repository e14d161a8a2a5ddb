//! The managed-resource machine: looks at what is known and returns one thing to do (design section 4).
//!
//! [`decide`] reads a [`World`] and a [`Memory`] and returns a [`Decision`]. The shell carries it out, tells the memory what it brought
//! ([`Memory::learn_look`], [`Memory::learn_answer`], …) and asks again, until there is nothing left to do. [`settle`] says what of an answer
//! must be persisted before anything else is done.

mod annotations;
mod create;
mod decide;
mod decision;
mod diff;
mod duration;
mod failure;
mod learn;
mod machine;
mod memory;
pub mod names;
mod operate;
mod ownership;
mod pass;
mod policy;
mod quantity;
mod record;
mod recover;
mod remove;
mod replacement;
mod report;
mod resume;
pub mod rules;
mod settle;
pub mod status;
mod status_echo;
mod steady;
mod stored_form;
mod trouble;
mod unanswered;
mod world;

pub use annotations::Annotations;
pub use decide::{decide, decide_unasked};
pub use decision::{Action, Asked, Call, Decision, Event, MetadataChange, Purpose, Rest, StatusWrite};
pub use diff::{differences, differences_by_rules};
pub use duration::parse_go;
pub use failure::{Reaction, back_off, delay, reaction};
pub use machine::{ManagedMachine, Performed, SnapshotAdditions};
pub use memory::{Attempt, Found, Looked, Memory, Stamp};
pub use ownership::{Neighbour, Neighbours, OwnershipClaims};
pub use policy::Policies;
pub use record::{
    ConfigIdentity, Details, Intent, IntentVerb, Record, RecordedOperation, Replacement, SNAPSHOT_LIMIT,
    Snapshot, Stored,
};
pub use resume::resume;
pub use settle::{Settled, settle};
pub use status::{Condition, OperationReport, Progress, Question, Says, Status};
pub use status_echo::StatusEcho;
pub use trouble::Trouble;
pub use world::{Blocker, Fresh, Hold, Managed, Problem, Settings, Wish, World, former_marker};
