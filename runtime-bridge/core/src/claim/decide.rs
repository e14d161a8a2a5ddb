//! The order of one reconcile of a claim: a list of steps, of which the first that has something to do decides.

use std::ops::ControlFlow;

use super::{
    ClaimMemory, Snapshot,
    decision::Action,
    facts::Facts,
    steps::{bind, deletion, gate, report},
};
use crate::managed::Decision;

/// Looks, and decides or leaves it to the next.
type Step = for<'a> fn(&Facts<'a>) -> ControlFlow<Decision<Action>>;

const STEPS: &[Step] = &[
    gate::rest_without_authority,
    gate::report_paused,
    // It is being deleted.
    deletion::rest_without_finalizer,
    deletion::report,
    deletion::delete,
    deletion::confirm_absence,
    deletion::delete_secret,
    deletion::remove_finalizer,
    deletion::wait,
    bind::wait_for_unknown,
    bind::refuse,
    bind::write_claim,
    bind::create,
    bind::apply,
    bind::propagate,
    report::write_status,
];

/// One thing to do, or when to come back.
pub fn decide(snapshot: &Snapshot, memory: &ClaimMemory) -> Decision<Action> {
    let of = Facts::new(snapshot, memory);
    for step in STEPS {
        if let ControlFlow::Break(decision) = step(&of) {
            return decision;
        }
    }
    Decision::Rest(report::rest(&of))
}
