//! What stands in the way of every call: the record, the config, Secrets, suspensions, failures.

use std::{ops::ControlFlow::Break, time::Duration};

use jiff::Timestamp;

use crate::managed::{
    context::ReconcileContext,
    decision::{Decision, Event, Purpose, Rest},
    names,
    poll::poll_by_itself,
    record::Stored,
    report::Report,
    resource_report::{not_created, with_operation},
    rules,
    snapshot::{Problem, Snapshot},
    status::SYNCED,
    step::{Flow, NEXT},
};
use crate::reasons::{Reason, StopReason, WarningEvent};

/// The desired state cannot be read whole: what goes on by itself is followed all the same, and nothing else is done. A Delete needs no secrets,
/// and must not wait for one that is gone.
pub fn follow_without_secrets(ctx: &ReconcileContext) -> Flow {
    let (snapshot, memory) = (ctx.snapshot, ctx.memory);
    let Some(problem) = snapshot.desired.as_ref().err().filter(|_| !ctx.deleting()) else {
        return NEXT;
    };
    let is_open =
        snapshot.config.is_ok() && snapshot.suspension.is_none() && memory.backoff_active(snapshot).is_none();
    if let Some(poll) = poll_by_itself(ctx).filter(|_| is_open) {
        return Break(poll);
    }
    let next = memory.operation.next_poll().filter(|next| *next > snapshot.now);
    Break(report_external_problem(ctx, problem, next))
}

pub fn stop_at_unreadable_record(ctx: &ReconcileContext) -> Flow {
    let Stored::Unreadable(why) = ctx.stored() else {
        return NEXT;
    };
    Break(ctx.stop_at_unreadable(why))
}

pub fn stop_at_foreign_create(ctx: &ReconcileContext) -> Flow {
    let is_ours = ctx.record().is_some_and(|record| record.create().is_some());
    if is_ours || !ctx.snapshot.is_named_upstream() || !has_foreign_pending_create(ctx.snapshot) {
        return NEXT;
    }
    Break(ctx.stop(
        StopReason::CreateOutcomeUnknown,
        format!(
            "cannot determine creation result - remove the {} annotation if it is safe to proceed",
            names::CREATE_PENDING
        ),
    ))
}

/// A create of somebody else's (a Go provider's, a backup's) whose end nobody recorded.
fn has_foreign_pending_create(snapshot: &Snapshot) -> bool {
    let time = |key| snapshot.managed.annotation(key).parse::<Timestamp>().ok();
    let ended = time(names::CREATE_SUCCEEDED).max(time(names::CREATE_FAILED));
    time(names::CREATE_PENDING).is_some_and(|pending| ended.is_none_or(|ended| pending > ended))
}

pub fn stop_at_changed_name(ctx: &ReconcileContext) -> Flow {
    let changed = ctx
        .record()
        .filter(|record| !ctx.deleting() && rules::name_was_changed(ctx.snapshot, record));
    let Some(record) = changed else { return NEXT };
    Break(ctx.stop(
        StopReason::ExternalNameChanged,
        format!(
            "the annotation {} says {:?}, but this object's resource is {:?}; put it back, or make another object for the other resource",
            names::EXTERNAL_NAME,
            ctx.snapshot.managed.annotation(names::EXTERNAL_NAME),
            record.external_name
        ),
    ))
}

pub fn wait_for_config(ctx: &ReconcileContext) -> Flow {
    match &ctx.snapshot.config {
        Err(problem) => Break(report_external_problem(ctx, problem, None)),
        Ok(_) => NEXT,
    }
}

/// Whoever has changed something is told, once. Those at rest only wait, or a thousand of them would write twice for each suspension.
pub fn wait_for_suspension(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some(suspension) = &snapshot.suspension else {
        return NEXT;
    };
    let left = Duration::try_from(suspension.until.duration_since(snapshot.now)).unwrap_or_default();
    // Not all at the same moment.
    let wake = suspension.until + (left / 4).mul_f64(snapshot.fresh.jitter.clamp(0.0, 1.0));
    // An annotation changes no generation.
    let reported = rules::wrong_orphan(snapshot).is_none()
        && snapshot
            .managed
            .condition(SYNCED)
            .is_some_and(|synced| synced.observed_generation == snapshot.managed.generation);
    Break(if reported {
        Decision::Rest(Rest {
            wake: Some(wake),
            purpose: Purpose::Retry,
        })
    } else {
        report_external_problem(ctx, &suspension.problem, Some(wake))
    })
}

pub fn back_off(ctx: &ReconcileContext) -> Flow {
    let Some(retry_state) = ctx.memory.backoff_active(ctx.snapshot) else {
        return NEXT;
    };
    let report = with_operation(ctx, Report::of_retry_state(Some(retry_state)));
    let report = if ctx.deleting() {
        report.deleting()
    } else {
        not_created(ctx, report)
    };
    Break(ctx.wait(report, retry_state.until, Purpose::Retry))
}

/// Something outside the object is in the way: no plugin call, but the conditions say so.
fn report_external_problem(ctx: &ReconcileContext, problem: &Problem, until: Option<Timestamp>) -> Decision {
    let snapshot = ctx.snapshot;
    let message = format!("{}{}", problem.message, ctx.way_out());
    let event = format!("{}: {message}", problem.reason);
    let report = Report {
        event: Some(Event::warning(WarningEvent::CannotConnectToProvider, &event)),
        ..Report::failed(
            Reason::of_problem(&problem.reason),
            format!("connect failed: {message}"),
        )
    };
    let report = report.with_stored(&snapshot.managed).with_default_ready(snapshot);
    // What is in the way is watched; the slow retry is for what cannot be.
    let wake = until.unwrap_or(snapshot.now + Duration::from_mins(1));
    let rest = Rest {
        wake: Some(wake),
        purpose: Purpose::Retry,
    };
    report.into_decision(snapshot, ctx.memory, rest)
}
