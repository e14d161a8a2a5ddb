//! The order of one reconcile of a composite resource (design 7.2): a list of steps, of which the first that has something to do decides.

use std::ops::ControlFlow;

use super::{
    context::Context,
    decision::Action,
    memory::CompositeMemory,
    outcome::earliest,
    snapshot::Snapshot,
    steps::{choice, compose, deletion, gate, report, run},
};
use crate::managed::{Decision, Rest};

/// Looks, and decides or leaves it to the next.
pub(super) type Step = for<'a> fn(&Context<'a>) -> ControlFlow<Decision<Action>>;

const STEPS: &[Step] = &[
    gate::rest_without_authority,
    gate::report_paused,
    // It is being deleted.
    deletion::rest_without_finalizer,
    deletion::report,
    deletion::release,
    deletion::delete,
    deletion::confirm_absence,
    deletion::delete_secret,
    deletion::remove_finalizer,
    deletion::wait,
    choice::report_missing,
    run::wait,
    run::wait_for_unknown,
    run::begin,
    // What came of the run.
    run::store_requirements_of_failed,
    run::report_failed,
    compose::report_problem,
    compose::write_composite,
    compose::verify,
    compose::delete,
    compose::observe_taken,
    compose::create,
    compose::apply,
    report::publish,
    report::write_status,
    compose::confirm_absence,
    run::repeat,
];

/// One thing to do, or when to come back.
pub fn decide(snapshot: &Snapshot, memory: &CompositeMemory) -> Decision<Action> {
    let of = Context::new(snapshot, memory);
    let decided = STEPS.iter().find_map(|step| step(&of).break_value());
    match decided.unwrap_or_else(|| Decision::Rest(report::rest(&of))) {
        Decision::Rest(rest) => {
            // Its status says so then, whatever else it waits for.
            let closes = memory.circuit.open(snapshot.now).map(|(_, until)| until);
            Decision::Rest(Rest {
                wake: earliest([rest.wake, closes]),
                ..rest
            })
        }
        act @ Decision::Act(_) => act,
    }
}
