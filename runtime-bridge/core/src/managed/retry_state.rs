//! What did not work, and for how long it stands in the way.

use jiff::Timestamp;

use crate::external::Verb;

use super::reconcile_inputs::ReconcileInputs;

/// Something that did not work, shown until a later attempt does.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryState {
    /// What was tried.
    pub verb: Verb,
    /// As it stands in the condition: `create failed: …`.
    pub message: String,
    /// Reported as waiting, not as an error.
    pub waiting: bool,
    /// How many in a row.
    pub failures: u32,
    /// No call before; `None`: not before the user changes something.
    pub until: Option<Timestamp>,
    /// What the user wanted when it failed.
    pub inputs: ReconcileInputs,
    /// The same call is not tried again for this desired state before then, though others are; `None`: it is, as soon as `until` allows.
    pub rejected_until: Option<Timestamp>,
}
