//! Deletion (design 4.4), and the first half of a replacement.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use crate::{
    external::{Observation, Verb},
    kind::CreateRecovery,
    reasons::{ConditionReason, StopReason},
    rule::Rule,
};

use super::{
    context::{ReconcileContext, left_behind},
    decision::{Action, Decision, Event, Purpose},
    last_observation::ObservedState,
    record::{ConfigIdentity, Details, Intent, IntentVerb, Record, RecordedParameters},
    report::{self, Report},
    resolve_intent,
    rules::{self, Ownership},
};

/// How soon to look again at what should be gone.
const OBSERVE_INTERVAL: Duration = Duration::from_secs(2);
/// An answered Delete that shows no effect is repeated after this.
const DELETE_INTERVAL: Duration = Duration::from_secs(30);

/// Why a deletion waits for a call before it.
pub(super) const BUSY: &str = "waiting until an earlier call can no longer take effect";

/// Deletes, looks, and only then lets go.
pub(super) fn delete(ctx: &ReconcileContext) -> Decision {
    let snapshot = ctx.snapshot;
    let others = snapshot.managed.other_finalizers();
    if !others.is_empty() {
        return ctx.wait(
            Report::synced().blocked(format!("waiting for finalizers of others: {}", others.join(", "))),
            None,
            Purpose::Drift,
        );
    }
    if let Some(blocked) = blocked(ctx) {
        return blocked;
    }
    let bound = ctx
        .record
        .as_ref()
        .is_some_and(|record| rules::bound(snapshot, record));
    let name = match (&ctx.record, bound) {
        (Some(record), true) => Some(record.external_name.clone()),
        _ if snapshot.kind.capabilities.holds_marker => snapshot.name_to_observe_by(ctx.record.as_ref()),
        _ => None,
    };
    let Some(name) = name else {
        return finish(ctx, None);
    };
    let Some(last_observation) = ctx.memory.fresh_observation(snapshot, &name) else {
        return ctx.observe(&name);
    };
    match &last_observation.found {
        ObservedState::Exists(observation) => exists(ctx, bound, observation, last_observation.began),
        ObservedState::Absent(_) if !bound => finish(ctx, None),
        ObservedState::Absent(_) => absent(ctx, &name, last_observation.began),
    }
}

/// The first half of a replacement: deletes what is certainly this object's, so that another one takes its place. Nothing is let go here: what
/// is seen to be absent is created anew in the ordinary course.
pub(super) fn replace(ctx: &ReconcileContext, observation: &Observation, began: Timestamp) -> Decision {
    blocked(ctx).unwrap_or_else(|| send_verified(ctx, observation, began))
}

fn blocked(ctx: &ReconcileContext) -> Option<Decision> {
    let blocker = ctx.snapshot.blocker.as_ref()?;
    Some(ctx.wait(
        Report::synced().blocked(blocker.message.clone()),
        None,
        Purpose::Drift,
    ))
}

fn exists(ctx: &ReconcileContext, bound: bool, observation: &Observation, began: Timestamp) -> Decision {
    let snapshot = ctx.snapshot;
    let left = |because: &str| {
        finish(
            ctx,
            Some(left_behind(snapshot, &observation.external_name, because)),
        )
    };
    if let Some(stop) = super::existing::in_another_account(ctx, observation) {
        return stop;
    }
    let adopted = ctx.record.as_ref().is_some_and(|record| record.adopted);
    if let Some(conflicting_object) = rules::conflicting_object(snapshot, observation) {
        return left(&format!("it is managed by {conflicting_object}"));
    }
    match rules::ownership(snapshot, observation) {
        Ownership::Foreign(marker) => {
            return left(&format!("it bears the marker {marker} of another object"));
        }
        Ownership::Unmarked if !bound => return left("it bears no marker, and this object never managed it"),
        Ownership::Unmarked if adopted && snapshot.kind.capabilities.holds_marker => {
            return left("it was adopted, and never marked as this object's");
        }
        Ownership::Unmarked
            if snapshot.recovers_by(CreateRecovery::Marker) && !Rule::DeletionLeavesUnmarked.is_off() =>
        {
            let visible = ctx
                .record
                .as_ref()
                .and_then(|record| rules::visible_at(snapshot, record));
            if let Some(visible) = visible.filter(|visible| began <= *visible) {
                let name = &observation.external_name;
                return observe_later(
                    ctx,
                    name,
                    began,
                    Some(visible),
                    "waiting until its marker can be seen",
                );
            }
            return left("it bears no marker");
        }
        Ownership::Owned | Ownership::FormerlyOwned | Ownership::Unmarked => {}
    }
    send_verified(ctx, observation, began)
}

/// Deletes what is there, unless that was done and shows no effect yet.
fn send_verified(ctx: &ReconcileContext, observation: &Observation, began: Timestamp) -> Decision {
    let snapshot = ctx.snapshot;
    if observation.deleting {
        return observe_later(
            ctx,
            &observation.external_name,
            began,
            observation.observe_after.map(|after| began + after),
            "it is being removed upstream",
        );
    }
    let answered = ctx.memory.delete_answered;
    if answered.is_some_and(|answered| snapshot.now < answered + DELETE_INTERVAL) {
        return observe_later(
            ctx,
            &observation.external_name,
            began,
            None,
            "the deletion was accepted, and it is still there",
        );
    }
    send(ctx, &observation.external_name, &observation.etag)
}

fn absent(ctx: &ReconcileContext, name: &str, began: Timestamp) -> Decision {
    let snapshot = ctx.snapshot;
    let Some(record) = &ctx.record else {
        return finish(ctx, None);
    };
    if !rules::same_location(snapshot, record) {
        return ctx.stop(
            StopReason::ConfigIdentityChanged,
            format!(
                "nothing is found under {name:?}, but the ProviderConfig now means another account or has other settings than when it was made; put it back"
            ),
        );
    }
    // Invisible just after creation is not gone (trace 15).
    let window = snapshot.kind.capabilities.consistency_window;
    let visible = rules::visible_at(snapshot, record).filter(|_| !window.is_zero());
    if let Some(visible) = visible.filter(|visible| began <= *visible) {
        return observe_later(
            ctx,
            name,
            began,
            Some(visible),
            "waiting until it is certain that it is gone",
        );
    }
    if rules::absence_ends_the_removal(ctx.memory, name) {
        return finish(ctx, None);
    }
    send(ctx, name, "")
}

/// Send the Delete: guarded, one call at a time.
fn send(ctx: &ReconcileContext, name: &str, etag: &str) -> Decision {
    let snapshot = ctx.snapshot;
    if let Some(retry_state) = ctx.memory.refused(snapshot, Verb::Delete) {
        return ctx.wait(
            Report::of_retry_state(Some(retry_state)).deleting(),
            None,
            Purpose::Drift,
        );
    }
    let intent = ctx.record.as_ref().and_then(|record| record.intent.as_ref());
    let is_just_recorded = intent
        .filter(|intent| intent.verb == IntentVerb::Delete && rules::is_just_recorded(ctx.memory, intent));
    if let Some(intent) = is_just_recorded {
        return ctx.call(name, Verb::Delete, intent.deadline, |call| {
            etag.clone_into(&mut call.etag);
            call.token.clone_from(&intent.token);
            call.attempt = intent.attempt;
        });
    }
    let busy = ctx
        .record
        .as_ref()
        .and_then(|record| rules::may_still_run_until(snapshot, record, ctx.memory));
    if let Some(over) = busy {
        return ctx.wait(Report::synced().blocked(BUSY), Some(over), Purpose::Operation);
    }
    if !rules::delete_needs_intent(snapshot) {
        return ctx.after_verification(name, Verb::Delete, |call| etag.clone_into(&mut call.etag));
    }
    let Ok(config) = &snapshot.config else {
        return ctx.wait(Report::default(), None, Purpose::Retry);
    };
    let mut record = ctx
        .record
        .clone()
        .unwrap_or_else(|| unrecorded(snapshot.managed.uid.clone(), name, ConfigIdentity::of(config)));
    // What was just made may not be seen everywhere yet: the time of its create stays known (trace 15).
    let made = record.create().map(|intent| intent.deadline);
    resolve_intent::close(&mut record);
    if let Some(state) = ctx.observed_state(name) {
        state.clone_into(&mut record.provider_state);
    }
    if !Rule::DeletionKeepsTimeOfCreate.is_off() {
        record.deadline = record.deadline.max(made);
    }
    record.confirmed = true;
    record.intent = Some(Intent {
        verb: IntentVerb::Delete,
        token: snapshot.fresh.token.clone(),
        attempt: 0,
        exclusive: false,
        token_exhausted: false,
        generation: snapshot.managed.generation,
        parameters: RecordedParameters::Digest(String::new()),
        started_at: snapshot.now,
        deadline: snapshot.now + snapshot.kind.timeouts.call,
        operation: None,
        operation_ended: false,
    });
    ctx.write_intent("record the intent to delete", &record, BTreeMap::new())
}

fn unrecorded(uid: String, name: &str, config: ConfigIdentity) -> Record {
    Record {
        uid,
        external_name: name.to_owned(),
        confirmed: true,
        adopted: false,
        name_conflict: false,
        intent: None,
        deadline: None,
        provider_state: String::new(),
        sensitive_digest: String::new(),
        details: Details::Complete,
        config,
        plugin_version: String::new(),
        incarnation: 0,
        replacement: None,
    }
}

/// Nothing of ours is left outside. The finalizer goes only when no recorded call can still execute.
fn finish(ctx: &ReconcileContext, event: Option<Event>) -> Decision {
    let snapshot = ctx.snapshot;
    let busy = ctx
        .record
        .as_ref()
        .and_then(|record| rules::may_still_run_until(snapshot, record, ctx.memory));
    if let Some(over) = busy.filter(|_| !Rule::FinalizerWaitsForCalls.is_off()) {
        return ctx.wait(Report::synced().blocked(BUSY), Some(over), Purpose::Operation);
    }
    Decision::Act(Action::RemoveFinalizer(event))
}

/// Look again by this name, but not at once.
fn observe_later(
    ctx: &ReconcileContext,
    name: &str,
    began: Timestamp,
    wake: Option<Timestamp>,
    message: &str,
) -> Decision {
    let snapshot = ctx.snapshot;
    let next = (began + OBSERVE_INTERVAL).max(wake.unwrap_or(began));
    if snapshot.now >= next && began < next {
        return ctx.observe(name);
    }
    let since = snapshot.managed.deletion.unwrap_or(snapshot.now);
    let overdue = report::overdue(snapshot.now, since, snapshot.kind.timeouts.delete);
    let report = Report::of_retry_state(ctx.memory.retry_state.as_ref());
    let report = if overdue.is_empty() {
        report
    } else {
        Report::failed(
            ConditionReason::ReconcileError,
            format!("deletion goes on{overdue}"),
        )
    };
    ctx.wait(report.blocked(message), Some(next), Purpose::Operation)
}
