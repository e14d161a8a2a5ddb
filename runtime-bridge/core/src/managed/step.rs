//! What a step is.

use std::ops::ControlFlow;

use super::{context::ReconcileContext, decision::Decision};

/// Breaks with the decision, or leaves it to the steps after it.
pub(super) type Step = fn(&ReconcileContext) -> Flow;

/// What comes of a step.
pub(super) type Flow = ControlFlow<Decision>;

/// Leaves it to the steps after this one.
pub(super) const NEXT: Flow = ControlFlow::Continue(());

/// Decides, where there is anything to decide.
pub(super) fn decided(decision: Option<Decision>) -> Flow {
    decision.map_or(NEXT, ControlFlow::Break)
}

/// The first decision of these steps.
pub(super) fn first(steps: &[Step], ctx: &ReconcileContext) -> Option<Decision> {
    steps.iter().find_map(|step| step(ctx).break_value())
}
