//! The order of one reconcile of a usage: a list of steps, of which the first that has something to do decides.

use std::ops::ControlFlow;

use super::{
    decision::Action,
    facts::Facts,
    memory::UsageMemory,
    snapshot::Snapshot,
    steps::{deletion, protect},
};
use crate::managed::Decision;

/// Looks, and decides or leaves it to the next.
type Step = for<'a> fn(&Facts<'a>) -> ControlFlow<Decision<Action>>;

const STEPS: &[Step] = &[
    protect::rest_without_authority,
    deletion::rest_without_finalizer,
    protect::wait_for_usages,
    // It is being deleted.
    deletion::wait,
    deletion::leave,
    deletion::replay,
    deletion::remove_finalizer,
    deletion::leave_former,
    protect::write_usage,
    protect::mark,
    protect::write_status,
];

/// One thing to do, or when to come back.
pub fn decide(snapshot: &Snapshot, memory: &UsageMemory) -> Decision<Action> {
    let of = Facts::new(snapshot, memory);
    for step in STEPS {
        if let ControlFlow::Break(decision) = step(&of) {
            return decision;
        }
    }
    Decision::Rest(protect::rest(&of))
}
