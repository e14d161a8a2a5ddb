//! How an external resource is deleted: for a deletion, and as the first half of a replacement.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use crate::{
    external::{Document, Observation, Verb},
    reasons::ConditionReason,
    rule::Rule,
};

use super::{
    context::ReconcileContext,
    decision::{Action, Decision, Event, Purpose},
    record::{ConfigIdentity, Details, Intent, IntentVerb, Record, RecordedParameters},
    record_format::RecordFormat,
    report::{Report, overdue},
    resolve_intent, rules, running,
    status::{ConditionValue, PendingDelete},
};

/// How soon to look again at what should be gone.
const OBSERVE_INTERVAL: Duration = Duration::from_secs(2);
/// How soon to look again whether usages are listed.
const LIST_INTERVAL: Duration = Duration::from_secs(10);
/// An answered Delete that shows no effect is repeated after this.
const DELETE_INTERVAL: Duration = Duration::from_secs(30);

/// Why a deletion waits for a call before it.
pub(super) const BUSY: &str = "waiting until an earlier call can no longer take effect";

/// What must go first; `None`: nothing stands in the way.
pub(super) fn blocked(ctx: &ReconcileContext) -> Option<Decision> {
    let blocker = ctx.snapshot.blocker.as_ref();
    let blocker = blocker.filter(|_| !Rule::UsedKeepsItsExternal.is_off())?;
    Some(ctx.wait(
        held(ctx, Report::synced(), &blocker.message),
        blocker.is_unknown.then(|| ctx.snapshot.now + LIST_INTERVAL),
        Purpose::Drift,
    ))
}

/// `Ready` says what is removed, and why: the object's deletion, or a replacement.
fn held(ctx: &ReconcileContext, report: Report, message: &str) -> Report {
    if ctx.deleting() {
        report.blocked(message)
    } else {
        report.ready(ConditionValue::no(ConditionReason::Replacing, message))
    }
}

/// The Delete that a deletion begins with, where it is recorded, and nothing is to be waited for before it.
pub(super) fn to_come(ctx: &ReconcileContext) -> Option<PendingDelete> {
    let snapshot = ctx.snapshot;
    let record = ctx.record().filter(|record| rules::confirmed(snapshot, record))?;
    let visible = rules::visible_at(snapshot, record)
        .filter(|_| !snapshot.kind.capabilities.consistency_window.is_zero());
    let waits = running::running(ctx).is_some()
        || visible.is_some_and(|visible| visible >= snapshot.now)
        || rules::may_still_run_until(snapshot, record, ctx.memory).is_some()
        || snapshot.blocker.is_some()
        || !snapshot.managed.other_finalizers().is_empty();
    (rules::delete_needs_intent(snapshot) && !waits).then(|| PendingDelete {
        token: snapshot.fresh.token.clone(),
        deadline: snapshot.now + snapshot.kind.timeouts.call,
        after: record
            .intent
            .as_ref()
            .map(|intent| intent.token.clone())
            .unwrap_or_default(),
    })
}

/// Deletes what is there, unless that was done and shows no effect yet.
pub(super) fn remove(ctx: &ReconcileContext, observation: &Observation, began: Timestamp) -> Decision {
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
    let answered = ctx.memory.calls.delete_answered();
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

/// Send the Delete: guarded, one call at a time.
pub(super) fn send(ctx: &ReconcileContext, name: &str, etag: &str) -> Decision {
    let snapshot = ctx.snapshot;
    if let Some(retry_state) = ctx.memory.rejected(snapshot, Verb::Delete) {
        return ctx.wait(
            held(ctx, Report::of_retry_state(Some(retry_state)), ""),
            ctx.next_try(retry_state),
            Purpose::Drift,
        );
    }
    let intent = ctx.record().and_then(|record| record.intent.as_ref());
    let is_just_recorded = intent
        .filter(|intent| intent.verb == IntentVerb::Delete && rules::is_just_recorded(ctx.memory, intent));
    if let Some(intent) = is_just_recorded {
        return ctx.call(name, Verb::Delete, intent.deadline, |call| {
            etag.clone_into(&mut call.etag);
            call.token.clone_from(&intent.token);
            call.attempt = intent.attempt;
        });
    }
    if let Some(pending) = rules::pending_delete(snapshot, ctx.memory).filter(|_| ctx.deleting()) {
        return ctx.call(name, Verb::Delete, pending.deadline, |call| {
            etag.clone_into(&mut call.etag);
            call.token.clone_from(&pending.token);
        });
    }
    let busy = ctx
        .record()
        .and_then(|record| rules::may_still_run_until(snapshot, record, ctx.memory));
    if let Some(over) = busy {
        return ctx.wait(held(ctx, Report::synced(), BUSY), Some(over), Purpose::Operation);
    }
    if !rules::delete_needs_intent(snapshot) {
        return ctx.after_verification(name, Verb::Delete, |call| etag.clone_into(&mut call.etag));
    }
    match with_intent(ctx, name) {
        Some(record) => ctx.write_intent("record the intent to delete", &record, BTreeMap::new()),
        None => ctx.wait(Report::default(), None, Purpose::Retry),
    }
}

/// The record with a new intent to delete; `None`: the config is not known.
pub(super) fn with_intent(ctx: &ReconcileContext, name: &str) -> Option<Record> {
    let snapshot = ctx.snapshot;
    let config = snapshot.config.as_ref().ok()?;
    let mut record = ctx
        .record()
        .cloned()
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
        unknown: Document::new(),
    });
    Some(record)
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
        format: RecordFormat::default(),
    }
}

/// Nothing of ours is left outside. The finalizer goes only when no recorded call can still execute.
pub(super) fn finish(ctx: &ReconcileContext, event: Option<Event>) -> Decision {
    let snapshot = ctx.snapshot;
    let busy = ctx
        .record()
        .and_then(|record| rules::may_still_run_until(snapshot, record, ctx.memory));
    if let Some(over) = busy.filter(|_| !Rule::FinalizerWaitsForCalls.is_off()) {
        return ctx.wait(held(ctx, Report::synced(), BUSY), Some(over), Purpose::Operation);
    }
    Decision::Act(Action::RemoveFinalizer(event))
}

/// Look again by this name, but not at once.
pub(super) fn observe_later(
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
    let overdue = overdue(snapshot.now, since, snapshot.kind.timeouts.delete);
    let report = Report::of_retry_state(ctx.memory.retry_state.as_ref());
    let report = if overdue.is_empty() {
        report
    } else {
        Report::failed(
            ConditionReason::ReconcileError,
            format!("deletion goes on{overdue}"),
        )
    };
    ctx.wait(held(ctx, report, message), Some(next), Purpose::Operation)
}
