//! There is nothing to do, or nothing that may be done: the status says how the resource is.

use std::{ops::ControlFlow::Break, time::Duration};

use jiff::Timestamp;

use crate::external::{Observation, Verb};
use crate::managed::{
    context::ReconcileContext,
    decision::{Decision, Purpose},
    report::Report,
    resource_report::in_sync_report,
    rules, running,
    step::{Flow, NEXT},
};

/// It is being deleted upstream, or is as it is desired. An empty marker may only not be seen yet.
pub fn rest(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some(existing) = ctx.existing() else {
        return NEXT;
    };
    let (last_observation, observation) = (existing.last_observation, existing.observation);
    if observation.deleting {
        return Break(in_sync(ctx, observation, None));
    }
    let differences = ctx.differences(existing);
    let unseen = rules::visible_at(snapshot, existing.record).filter(|visible| {
        differences.unmarked && observation.found_marker.is_empty() && last_observation.began <= *visible
    });
    let is_in_sync =
        !differences.has_fields() && !differences.secrets && (!differences.unmarked || unseen.is_some());
    // Nothing is replaced before it bears the marker.
    if !is_in_sync && (differences.replaced.is_empty() || unseen.is_none()) {
        return NEXT;
    }
    Break(match unseen {
        Some(visible) if snapshot.now > visible => ctx.observe(&last_observation.name),
        unseen => in_sync(ctx, observation, unseen),
    })
}

/// Neither policy nor kind let it be changed in place.
pub fn rest_without_update(ctx: &ReconcileContext) -> Flow {
    let Some(existing) = ctx.existing() else {
        return NEXT;
    };
    let may_update = ctx.snapshot.managed.policies.update
        && (ctx.snapshot.kind.capabilities.can_update || !ctx.differences(existing).replaced.is_empty());
    if may_update {
        return NEXT;
    }
    Break(in_sync(ctx, existing.observation, None))
}

/// Troubles of the past are over, save those of an operation that runs.
fn in_sync(ctx: &ReconcileContext, observation: &Observation, observe_after: Option<Timestamp>) -> Decision {
    let next_observation = ctx.memory.observed.next();
    let soon = observe_after.map(|time| time + Duration::from_millis(1));
    let running = running::running(ctx).is_some();
    let retry_state = ctx.memory.retry_state.as_ref();
    let retry_state = retry_state.filter(|retry_state| running && retry_state.verb == Verb::Poll);
    let report = Report {
        synced: Report::of_retry_state(retry_state).synced,
        ..in_sync_report(ctx, observation)
    };
    let purpose = if observation.ready && soon.is_none() {
        Purpose::Drift
    } else {
        Purpose::Unsettled
    };
    ctx.wait(report, soon.or(next_observation), purpose)
}
