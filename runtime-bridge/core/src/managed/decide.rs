//! The order of one reconcile (design 4.2): a list of steps, of which the first that has something to do decides.

use super::{
    context::ReconcileContext,
    decision::{Decision, Purpose},
    reconcile_memory::ReconcileMemory,
    report::Report,
    snapshot::Snapshot,
    step::{Step, first},
    steps::{
        absent, adopt, create, delete, found, gate, in_sync, obstacle, operation, orphan, question, recovery,
        renew, replace, update,
    },
};

/// These look neither at the config nor at the desired state with its secrets.
const CACHED_STEPS: &[Step] = &[
    gate::rest_without_finalizer,
    gate::publish_one_time_details,
    gate::rest_without_authority,
    gate::report_paused,
    // The object is being deleted.
    orphan::stop_at_newer_record,
    orphan::wait_for_calls,
    orphan::remove_finalizer,
    gate::report_deleting,
];

/// Those after them.
const STEPS: &[Step] = &[
    obstacle::follow_without_secrets,
    obstacle::stop_at_unreadable_record,
    obstacle::stop_at_foreign_create,
    obstacle::stop_at_changed_name,
    obstacle::wait_for_config,
    // Before a suspension: it is one call, and nobody would know what became of it.
    create::send_recorded,
    obstacle::wait_for_suspension,
    obstacle::back_off,
    operation::poll,
    operation::wait,
    // The answer of a create is not known: an observation that finds it, the retained token, absence after the time, a person.
    recovery::close_unsent,
    recovery::stop_elsewhere,
    recovery::observe,
    recovery::stop_at_foreign_owner,
    recovery::wait_for_marker,
    recovery::confirm_found,
    recovery::repeat,
    recovery::resolve_absent,
    recovery::repeat_exclusively,
    question::ask,
    // The object is being deleted.
    delete::wait_for_finalizers,
    delete::wait_for_blocker,
    found::observe,
    found::stop_in_another_account,
    delete::leave_foreign,
    delete::leave_unmarked,
    delete::remove_existing,
    delete::finish_unbound,
    delete::stop_elsewhere,
    delete::wait_until_visible,
    delete::remove_absent,
    // The resource exists.
    found::stop_at_foreign_owner,
    adopt::stop_at_name_conflict,
    adopt::adopt,
    renew::renew,
    in_sync::rest,
    in_sync::rest_without_update,
    replace::stop_forbidden,
    replace::go_on,
    replace::begin,
    replace::ask,
    replace::stop_unmarked,
    update::wait_for_change,
    update::wait_for_call,
    update::wait_for_operation,
    update::back_off,
    update::send,
    // It does not exist.
    absent::wait_for_operation,
    absent::stop_elsewhere,
    absent::confirm,
    create::stay_absent,
    create::wait_for_change,
    create::stop_beside_another,
    create::wait_for_call,
    create::stop_without_name,
    create::record_intent,
];

/// What can be decided before anybody asks for the config or reads Secrets, which may take long: whatever the snapshot holds of those is not
/// looked at. `None`: they are needed.
pub fn decide_without_config(snapshot: &Snapshot, memory: &ReconcileMemory) -> Option<Decision> {
    first(CACHED_STEPS, &ReconcileContext::new(snapshot, memory))
}

/// Looks at what is known and returns one thing to do.
pub fn decide(snapshot: &Snapshot, memory: &ReconcileMemory) -> Decision {
    let ctx = ReconcileContext::new(snapshot, memory);
    first(CACHED_STEPS, &ctx)
        .or_else(|| first(STEPS, &ctx))
        .unwrap_or_else(|| ctx.wait(Report::default(), None, Purpose::Retry))
}
