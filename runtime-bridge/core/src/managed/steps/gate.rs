//! What is decided before anything outside the object is known.

use std::ops::ControlFlow::Break;

use crate::managed::{
    context::ReconcileContext,
    decision::{Action, Decision, Event, Rest},
    removal,
    report::{self, Report},
    step::{Flow, NEXT},
};
use crate::reasons::{ConditionReason, NormalEvent};

/// A deletion without our finalizer is no business of ours any more.
pub fn rest_without_finalizer(ctx: &ReconcileContext) -> Flow {
    if ctx.deleting() && !ctx.snapshot.managed.has_finalizer() {
        return Break(Decision::Rest(Rest::NEVER));
    }
    NEXT
}

/// Details that came with an answer may never come again: they are published before anything else is done, whether or not anything new may be
/// begun, but do not keep a call waiting whose intent is written.
pub fn publish_one_time_details(ctx: &ReconcileContext) -> Flow {
    let now = ctx.memory.connection.is_unpublished() && !ctx.memory.calls.may_send_any();
    if now && report::is_publishable_now(ctx.snapshot, ctx.memory) {
        return Break(Decision::Act(Action::Publish));
    }
    NEXT
}

/// Another process leads, or this one is shutting down.
pub fn rest_without_authority(ctx: &ReconcileContext) -> Flow {
    if ctx.snapshot.may_act {
        NEXT
    } else {
        Break(Decision::Rest(Rest::NEVER))
    }
}

pub fn report_paused(ctx: &ReconcileContext) -> Flow {
    let managed = &ctx.snapshot.managed;
    if !managed.paused() {
        return NEXT;
    }
    let message =
        "Reconciliation is paused either through the `spec.managementPolicies` or the pause annotation";
    let report = Report {
        event: Some(Event::normal(NormalEvent::ReconciliationPaused, message)),
        ..Report::failed(ConditionReason::ReconcilePaused, "")
    };
    Break(
        report
            .with_stored(managed)
            .into_decision(ctx.snapshot, ctx.memory, Rest::NEVER),
    )
}

/// A deletion is visible before anything is waited for, and so is by what it is in use. Where nothing but the Delete is to come, the same write
/// records it.
pub fn report_deleting(ctx: &ReconcileContext) -> Flow {
    let managed = &ctx.snapshot.managed;
    if !ctx.deleting() || managed.shows_deleting() {
        return NEXT;
    }
    let user = ctx.snapshot.blocker.as_ref();
    let message = user.map_or("", |blocker| blocker.message.as_str());
    let report = Report {
        deletion: removal::to_come(ctx),
        ..Report::default().with_stored(managed).blocked(message)
    };
    Break(report.into_decision(ctx.snapshot, ctx.memory, Rest::NEVER))
}
