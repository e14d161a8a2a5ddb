//! What tells an Update that corrects drift from one that the user asked for.

use crate::managed::reconcile_inputs::ReconcileInputs;

/// What is known of drift.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::managed) struct DriftMemory {
    /// What was desired when the resource was last observed to be as desired.
    pub(in crate::managed) in_sync: Option<ReconcileInputs>,
    /// The fields that the Update under way corrects, for people.
    pub(in crate::managed) corrected: Option<String>,
}
