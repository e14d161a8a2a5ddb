//! Operations: work upstream that outlasts a call. Which one runs.

use crate::external::OperationVerb;
use crate::rule::Rule;

use super::{context::ReconcileContext, record::Intent, rules, status::OperationReport};

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
    let record = ctx.record()?;
    let intent = record
        .create()
        .filter(|_| !rules::confirmed(ctx.snapshot, record))?;
    let operation = intent.operation.as_ref()?;
    let alive = operation.expire_time.is_none_or(|end| end > ctx.snapshot.now)
        && !ctx.memory.operation.is_spent(&operation.handle);
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
    let known = ctx.memory.operation.known_or(stored)?;
    let record = ctx.record();
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
            .record()
            .map(|record| record.external_name.clone())
            .unwrap_or_default(),
        incarnation: ctx.record().map_or(0, |record| record.incarnation),
        sensitive_digest: None,
    };
    reported(ctx, report)
}

/// With what a poll of this process last told.
fn reported(ctx: &ReconcileContext, report: OperationReport) -> OperationReport {
    match ctx.memory.operation.reported(&report.handle) {
        Some(reported) => OperationReport {
            phase: reported.phase.clone(),
            progress: reported.progress_percent,
            ..report
        },
        None => report,
    }
}

/// What runs, where the plugin would be asked about it: another account knows nothing of it.
pub(super) fn followed(ctx: &ReconcileContext) -> Option<OperationReport> {
    let record = ctx.record();
    let elsewhere = record.is_some_and(|record| rules::in_another_account(ctx.snapshot, record));
    running(ctx).filter(|_| Rule::OtherAccountIsNotPolled.is_off() || !elsewhere)
}

/// The resource that an operation is about. One that an older bridge reported does not name it.
pub(super) fn name_of(ctx: &ReconcileContext, operation: &OperationReport) -> String {
    match (ctx.record(), operation.external_name.is_empty()) {
        (Some(record), true) => record.external_name.clone(),
        _ => operation.external_name.clone(),
    }
}
