//! Operations: work upstream that outlasts a call, polled when due.

use jiff::Timestamp;

use crate::external::{OperationVerb, Verb};
use crate::reasons::ConditionReason;
use crate::rule::Rule;

use super::{
    context::ReconcileContext,
    decision::{Decision, Purpose},
    intervals::POLL_AFTER,
    record::{Intent, IntentVerb, Record},
    report::{self, Report},
    rules,
    status::OperationReport,
};

/// The operation that runs: a removal first, then a recorded creation, then what the status holds.
pub(super) fn running(ctx: &ReconcileContext) -> Option<OperationReport> {
    let other = other(ctx);
    let creation = || creation(ctx).map(|(intent, handle)| report_of(ctx, intent, handle));
    match other {
        Some(removal) if removal.verb == OperationVerb::Delete => Some(removal),
        other => creation().or(other),
    }
}

/// The creation's operation, until it is confirmed, spent or expired.
pub(super) fn creation<'p>(ctx: &'p ReconcileContext) -> Option<(&'p Intent, &'p str)> {
    let record = ctx.record.as_ref()?;
    let intent = record
        .create()
        .filter(|_| !rules::confirmed(ctx.snapshot, record))?;
    let operation = intent.operation.as_ref()?;
    let alive = operation.expire_time.is_none_or(|end| end > ctx.snapshot.now)
        && operation.handle != ctx.memory.spent_handle;
    alive.then_some((intent, operation.handle.as_str()))
}

/// An Update or Delete: what this process learned, else what the status says.
fn other(ctx: &ReconcileContext) -> Option<OperationReport> {
    let stored = || {
        ctx.snapshot
            .managed
            .status
            .progress
            .operation
            .clone()
            .filter(|operation| operation.verb != OperationVerb::Create)
    };
    let known = ctx.memory.operation.clone().unwrap_or_else(stored)?;
    let record = ctx.record.as_ref();
    let of_a_former = record.is_some_and(|record| !rules::is_of_the_recorded_resource(record, &known));
    let alive = known.expire_time.is_none_or(|end| end > ctx.snapshot.now)
        && !known.handle.is_empty()
        && !of_a_former;
    alive.then(|| reported(ctx, known))
}

fn report_of(ctx: &ReconcileContext, intent: &Intent, handle: &str) -> OperationReport {
    let operation = intent.operation.as_ref();
    let stored = ctx
        .snapshot
        .managed
        .status
        .progress
        .operation
        .as_ref()
        .filter(|stored| stored.verb == OperationVerb::Create);
    let report = OperationReport {
        handle: handle.to_owned(),
        verb: OperationVerb::Create,
        phase: stored.map(|stored| stored.phase.clone()).unwrap_or_default(),
        progress: stored.and_then(|stored| stored.progress),
        since: intent.started_at,
        generation: intent.generation,
        poll_driven: operation.is_some_and(|operation| operation.poll_driven),
        expire_time: operation.and_then(|operation| operation.expire_time),
        external_name: ctx
            .record
            .as_ref()
            .map(|record| record.external_name.clone())
            .unwrap_or_default(),
        incarnation: ctx.record.as_ref().map_or(0, |record| record.incarnation),
        sensitive_digest: None,
    };
    reported(ctx, report)
}

/// With what a poll of this process last told.
fn reported(ctx: &ReconcileContext, report: OperationReport) -> OperationReport {
    match ctx
        .memory
        .reported
        .as_ref()
        .filter(|reported| reported.handle == report.handle)
    {
        Some(reported) => OperationReport {
            phase: reported.phase.clone(),
            progress: reported.progress_percent,
            ..report
        },
        None => report,
    }
}

/// Adds what runs. The handle of a creation stays in the record alone.
pub(super) fn with_operation(ctx: &ReconcileContext, report: Report) -> Report {
    let Some(mut operation) = running(ctx) else {
        return report;
    };
    let timeouts = &ctx.snapshot.kind.timeouts;
    let limit = match operation.verb {
        OperationVerb::Create => timeouts.create,
        OperationVerb::Update => timeouts.update,
        OperationVerb::Delete => timeouts.delete,
    };
    let overdue = report::overdue(ctx.snapshot.now, operation.since, limit);
    if operation.verb == OperationVerb::Create {
        operation.handle.clear();
        operation.poll_driven = false;
        operation.expire_time = None;
        operation.external_name.clear();
        operation.incarnation = 0;
    }
    let mut report = report.operation(operation);
    if !overdue.is_empty() && report.synced.as_ref().is_some_and(|value| value.status) {
        report.synced = Some(super::status::ConditionValue::no(
            ConditionReason::ReconcileError,
            format!("the operation goes on{overdue}"),
        ));
    }
    Report { overdue, ..report }
}

/// What runs, where the plugin would be asked about it: another account knows nothing of it.
pub(super) fn followed(ctx: &ReconcileContext) -> Option<OperationReport> {
    let record = ctx.record.as_ref();
    let elsewhere = record.is_some_and(|record| rules::in_another_account(ctx.snapshot, record));
    running(ctx).filter(|_| Rule::OtherAccountIsNotPolled.is_off() || !elsewhere)
}

/// Polls what is due; waits for what is not. `None`: nothing runs, or what runs does not stand in the way.
pub(super) fn follow(ctx: &ReconcileContext) -> Option<Decision> {
    let operation = followed(ctx)?;
    let snapshot = ctx.snapshot;
    let name = name_of(ctx, &operation);
    let capabilities = &snapshot.kind.capabilities;
    if ctx.deleting()
        && operation.verb == OperationVerb::Create
        && rules::may_be_deleted_while_created(snapshot)
        && !name.is_empty()
    {
        return Some(super::delete::delete(ctx));
    }
    if ctx.memory.next_poll.is_none_or(|next| next <= snapshot.now) {
        return Some(poll(ctx, &operation, &name));
    }
    let newer =
        snapshot.managed.generation != operation.generation && operation.verb != OperationVerb::Delete;
    if newer && capabilities.concurrent_update && !ctx.deleting() && !name.is_empty() {
        return Some(super::existing::reconcile_existing(ctx));
    }
    Some(wait(ctx, ctx.memory.next_poll))
}

/// The poll that is due of what goes on by itself: it needs no wish.
pub(super) fn follow_by_itself(ctx: &ReconcileContext) -> Option<Decision> {
    let operation = followed(ctx).filter(|operation| !operation.poll_driven)?;
    let due = ctx.memory.next_poll.is_none_or(|next| next <= ctx.snapshot.now);
    due.then(|| poll(ctx, &operation, &name_of(ctx, &operation)))
}

/// The resource that an operation is about. One that an older bridge reported does not name it.
fn name_of(ctx: &ReconcileContext, operation: &OperationReport) -> String {
    match (&ctx.record, operation.external_name.is_empty()) {
        (Some(record), true) => record.external_name.clone(),
        _ => operation.external_name.clone(),
    }
}

/// Says how far it is, and waits.
pub(super) fn wait(ctx: &ReconcileContext, next: Option<Timestamp>) -> Decision {
    let report = Report::of_retry_state(
        ctx.memory
            .retry_state
            .as_ref()
            .filter(|retry_state| retry_state.verb == Verb::Poll),
    );
    let report = with_operation(ctx, report);
    let report = if ctx.deleting() {
        report.deleting()
    } else if report
        .operation
        .as_ref()
        .is_some_and(|operation| operation.verb == OperationVerb::Create)
    {
        report.creating()
    } else {
        report
    };
    ctx.wait(
        report,
        next.or(Some(ctx.snapshot.now + POLL_AFTER)),
        Purpose::Operation,
    )
}

/// The intent that a poll of such an operation goes on with, if it needs one.
fn intent_of<'p>(ctx: &'p ReconcileContext, verb: OperationVerb) -> Option<(&'p Record, &'p Intent)> {
    let needs = match verb {
        OperationVerb::Create => Some(IntentVerb::Create),
        OperationVerb::Delete if rules::delete_needs_intent(ctx.snapshot) => Some(IntentVerb::Delete),
        OperationVerb::Update | OperationVerb::Delete => None,
    };
    let record = ctx.record.as_ref()?;
    let intent = record
        .intent
        .as_ref()
        .filter(|intent| Some(intent.verb) == needs)?;
    Some((record, intent))
}

fn poll(ctx: &ReconcileContext, operation: &OperationReport, name: &str) -> Decision {
    let fill = |call: &mut super::decision::Call| {
        call.handle.clone_from(&operation.handle);
        call.operation = Some(operation.verb);
        call.sensitive_digest.clone_from(&operation.sensitive_digest);
        if let Some(intent) = ctx.record.as_ref().and_then(|record| record.intent.as_ref()) {
            call.token.clone_from(&intent.token);
            call.attempt = intent.attempt;
        }
    };
    if !operation.poll_driven || Rule::DrivingPollIsACall.is_off() {
        return ctx.call(
            name,
            Verb::Poll,
            ctx.snapshot.now + ctx.snapshot.kind.timeouts.call,
            fill,
        );
    }
    // It moves only when polled: the poll counts as the call that it continues (trace 31).
    let Some((record, intent)) = intent_of(ctx, operation.verb) else {
        return ctx.after_verification(name, Verb::Poll, fill);
    };
    if rules::may_drive(ctx.snapshot, ctx.memory, intent) {
        return ctx.call(name, Verb::Poll, intent.deadline, fill);
    }
    let mut record = record.clone();
    if let Some(intent) = record.intent.as_mut() {
        intent.deadline = ctx.snapshot.now + ctx.snapshot.kind.timeouts.call;
    }
    ctx.write_intent(
        "record that the operation is driven on",
        &record,
        super::decide::nothing_else(),
    )
}
