//! The newest observation of an external resource, with what it holds for.

use std::sync::Arc;

use jiff::Timestamp;

use crate::external::{Absent, Observation};

use super::{attempt::Attempt, reconcile_inputs::ReconcileInputs};

/// A look that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct LastObservation {
    /// When it began: only that counts for absence.
    pub began: Timestamp,
    /// By which name; empty: by derived name or marker.
    pub name: String,
    /// The call that was recorded then: a look from before it says nothing of it.
    pub recorded: Option<Attempt>,
    /// It went by the recorded parameters of a create, not by the spec.
    pub as_recorded: bool,
    /// The other marker that it took for ours too; empty: none.
    pub former_marker: String,
    /// What the user wanted then.
    pub inputs: ReconcileInputs,
    /// What it brought.
    pub found: ObservedState,
    /// Not to be repeated before.
    pub next: Timestamp,
    /// What was observed before it, and counts on (trace 57).
    pub beside: Option<OwnLookUp>,
}

/// Recovery has looked up an unanswered create by its own name, and found nothing of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnLookUp {
    /// That name.
    pub name: String,
    /// Not to be repeated before.
    pub next: Timestamp,
}

/// What a look brought, failures left out: they are [`RetryState`].
#[derive(Debug, Clone, PartialEq)]
pub enum ObservedState {
    /// It is there.
    Exists(Arc<Observation>),
    /// It is not.
    Absent(Absent),
}
