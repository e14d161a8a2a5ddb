//! The policy, or a person, lets the object go without its resource.

use std::ops::ControlFlow::Break;

use crate::managed::{
    actions::left_behind,
    context::ReconcileContext,
    decision::{Action, Decision, Purpose, Rest},
    names,
    record::Stored,
    record_format::Unreadable,
    removal::BUSY,
    report::Report,
    rules,
    step::{Flow, NEXT},
};
use crate::rule::Rule;

/// A call may run that only a newer bridge knows of; a person may let the object go all the same.
pub fn stop_at_newer_record(ctx: &ReconcileContext) -> Flow {
    let managed = &ctx.snapshot.managed;
    let may_go = managed.annotation(names::ORPHAN) == managed.uid || !rules::may_be_orphaned(ctx.snapshot);
    match ctx.stored() {
        Stored::Unreadable(why @ Unreadable::TooNew { .. }) if !may_go => Break(ctx.stop_at_unreadable(why)),
        Stored::Unreadable(_) | Stored::Owned(_) | Stored::None => NEXT,
    }
}

/// The finalizer goes only when no recorded call can execute, whatever lets the object go (trace 38).
pub fn wait_for_calls(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some(record) = ctx.record().filter(|_| rules::may_be_orphaned(snapshot)) else {
        return NEXT;
    };
    let unrecorded = rules::unrecorded_delete_may_run_until(snapshot, record, ctx.memory);
    let over = rules::may_still_run_until(snapshot, record, ctx.memory).max(unrecorded);
    let Some(over) = over.filter(|_| !Rule::OrphanWaitsForCalls.is_off()) else {
        return NEXT;
    };
    let report = Report::synced().blocked(BUSY).with_stored(&snapshot.managed);
    let rest = Rest {
        wake: Some(over),
        purpose: Purpose::Operation,
    };
    Break(report.into_decision(snapshot, ctx.memory, rest))
}

pub fn remove_finalizer(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let managed = &snapshot.managed;
    if !rules::may_be_orphaned(snapshot) {
        return NEXT;
    }
    let (name, may_exist) = match ctx.stored() {
        Stored::Owned(record) => (
            record.external_name.as_str(),
            managed.confirms(record) || record.intent.is_some(),
        ),
        Stored::None => ("", false),
        // Nobody can tell what it held: the annotation is then the best there is.
        Stored::Unreadable(_) => (managed.annotation(names::EXTERNAL_NAME), true),
    };
    let why = if managed.annotation(names::ORPHAN) == managed.uid {
        "the annotation crossbridge.dev/orphan says so"
    } else if !snapshot.kind.capabilities.can_delete {
        "the kind cannot be deleted"
    } else {
        "managementPolicies or deletionPolicy do not include Delete"
    };
    let event = may_exist.then(|| left_behind(snapshot, name, why));
    Break(Decision::Act(Action::RemoveFinalizer(event)))
}
