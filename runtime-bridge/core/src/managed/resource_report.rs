//! Reports that tell how the resource itself is, and what runs upstream.

use crate::external::{Observation, OperationVerb, Verb};
use crate::reasons::ConditionReason;

use super::{
    approval,
    context::ReconcileContext,
    last_observation::ObservedState,
    report::{Report, overdue},
    retry_state::RetryState,
    rules, running,
    status::ConditionValue,
};

/// Adds what runs. The handle of a creation stays in the record alone.
pub(super) fn with_operation(ctx: &ReconcileContext, report: Report) -> Report {
    let Some(mut operation) = running::running(ctx) else {
        return report;
    };
    let timeouts = &ctx.snapshot.kind.timeouts;
    let limit = match operation.verb {
        OperationVerb::Create => timeouts.create,
        OperationVerb::Update => timeouts.update,
        OperationVerb::Delete => timeouts.delete,
    };
    let overdue = overdue(ctx.snapshot.now, operation.since, limit);
    if operation.verb == OperationVerb::Create {
        operation.handle.clear();
        operation.poll_driven = false;
        operation.expire_time = None;
        operation.external_name.clear();
        operation.incarnation = 0;
    }
    let mut report = report.operation(operation);
    if !overdue.is_empty() && report.synced.as_ref().is_some_and(|value| value.status) {
        report.synced = Some(ConditionValue::no(
            ConditionReason::ReconcileError,
            format!("the operation goes on{overdue}"),
        ));
    }
    Report { overdue, ..report }
}

/// Before the resource is there, Ready says `Creating`.
pub(super) fn not_created(ctx: &ReconcileContext, report: Report) -> Report {
    let made = ctx
        .record()
        .is_some_and(|record| rules::confirmed(ctx.snapshot, record));
    if made { report } else { report.creating() }
}

/// How the resource is; success, unless an earlier call stands in the way.
pub(super) fn in_sync_report(ctx: &ReconcileContext, observation: &Observation) -> Report {
    let retry_state = ctx.memory.retry_state.as_ref();
    let retry_state = retry_state.filter(|retry_state| !matches!(retry_state.verb, Verb::Observe));
    with_operation(ctx, shown(ctx, observation, retry_state))
}

/// How the resource is, and what stands in the way.
pub(super) fn shown(
    ctx: &ReconcileContext,
    observation: &Observation,
    retry_state: Option<&RetryState>,
) -> Report {
    Report {
        ready: readiness(ctx),
        at_provider: observation.status.clone(),
        create_token: token(ctx),
        ..Report::of_retry_state(retry_state)
    }
}

/// The first status after the create was seen names its token: that confirms it, unless its operation still runs.
fn token(ctx: &ReconcileContext) -> Option<String> {
    if running::creation(ctx).is_some() {
        return None;
    }
    ctx.record()
        .and_then(|record| record.create())
        .map(|intent| intent.token.clone())
}

/// `Ready` of what is being deleted while its object stays: so that another one takes its place, or by another actor.
pub(super) fn not_kept(replaced: bool) -> ConditionValue {
    if replaced {
        ConditionValue::no(
            ConditionReason::Replacing,
            "it is being deleted, as approved, so that another one takes its place",
        )
    } else {
        ConditionValue::no(
            ConditionReason::Deleting,
            "it is being removed upstream, though not at this object's request",
        )
    }
}

/// The conditions of a resource that is there.
fn readiness(ctx: &ReconcileContext) -> Option<ConditionValue> {
    let Some(ObservedState::Exists(observation)) = ctx.memory.observed.last_state() else {
        return None;
    };
    let replaced = ctx
        .record()
        .is_some_and(|record| approval::has_begun(ctx.snapshot, record, observation));
    Some(if replaced || observation.deleting {
        not_kept(replaced)
    } else if observation.ready {
        ConditionValue::yes(ConditionReason::Available)
    } else {
        ConditionValue::no(ConditionReason::Unavailable, observation.ready_message.clone())
    })
}
