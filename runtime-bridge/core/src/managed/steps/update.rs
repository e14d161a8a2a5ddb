//! The resource differs from the desired state, and is changed in place.

use std::ops::ControlFlow::Break;

use crate::managed::{
    context::ReconcileContext,
    decision::Purpose,
    diff, failure,
    poll::wait_for_poll,
    report::Report,
    resource_report::{in_sync_report, shown},
    rules, running,
    status::ConditionValue,
    step::{Flow, NEXT, decided},
};
use crate::{external::Verb, kind::DiffMode, reasons::ConditionReason};

/// The same desired state was rejected.
pub fn wait_for_change(ctx: &ReconcileContext) -> Flow {
    let (Some(existing), Some(retry_state)) =
        (ctx.existing(), ctx.memory.rejected(ctx.snapshot, Verb::Update))
    else {
        return NEXT;
    };
    let report = shown(ctx, existing.observation, Some(retry_state));
    Break(ctx.wait(report, ctx.next_try(retry_state), Purpose::Drift))
}

pub fn wait_for_call(ctx: &ReconcileContext) -> Flow {
    let Some(existing) = ctx.existing() else {
        return NEXT;
    };
    let over = rules::may_still_run_until(ctx.snapshot, existing.record, ctx.memory);
    decided(over.map(|over| {
        let report = in_sync_report(ctx, existing.observation);
        ctx.wait(report, Some(over), Purpose::Operation)
    }))
}

/// What an observation sees running need not be ours to be waited for.
pub fn wait_for_operation(ctx: &ReconcileContext) -> Flow {
    let Some(existing) = ctx.existing() else {
        return NEXT;
    };
    let runs = running::running(ctx).is_some() || existing.observation.operation.is_some();
    if !runs || ctx.snapshot.kind.capabilities.concurrent_update {
        return NEXT;
    }
    Break(wait_for_poll(ctx, ctx.memory.operation.next_poll()))
}

/// An update after which the resource still differs is not repeated at once for ever.
pub fn back_off(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let (Some(existing), Some((count, last))) = (ctx.existing(), ctx.memory.updates_for(snapshot)) else {
        return NEXT;
    };
    let next = last + failure::delay(&snapshot.settings.backoffs, None, count, snapshot.fresh.jitter);
    if count <= 1 || next <= snapshot.now {
        return NEXT;
    }
    // Without their count: each new one would be written.
    let message = format!(
        "update failed: it still differs after repeated updates: {}",
        ctx.differences(existing).to_update()
    );
    let report = Report {
        synced: Some(ConditionValue::no(ConditionReason::ReconcileError, message)),
        ..in_sync_report(ctx, existing.observation)
    };
    Break(ctx.wait(report, Some(next), Purpose::Retry))
}

pub fn send(ctx: &ReconcileContext) -> Flow {
    let Some(existing) = ctx.existing() else {
        return NEXT;
    };
    let (differences, observation) = (ctx.differences(existing), existing.observation);
    // A plugin that compares knows by itself what differs.
    let changed = match ctx.snapshot.kind.capabilities.diff_mode {
        DiffMode::Bridge => differences.updated.iter().map(|diff| diff.path.clone()).collect(),
        DiffMode::Plugin => Vec::new(),
    };
    Break(
        ctx.after_verification(&existing.record.external_name, Verb::Update, |call| {
            call.changed_paths = changed;
            call.etag.clone_from(&observation.etag);
            diff::keep_observed(
                &mut call.desired.parameters,
                differences.replaced.iter(),
                &observation.parameters,
            );
        }),
    )
}
