//! The order of one pass (design 4.2).

use std::{collections::BTreeMap, sync::Arc};

use crate::reasons::{ConditionReason, NormalEvent, StopReason, WarningEvent};
use crate::rule::Rule;

use super::{
    context::{ReconcileContext, left_behind},
    decision::{Action, Decision, Event, Purpose, Rest},
    last_observation::ObservedState,
    names,
    reconcile_memory::ReconcileMemory,
    record::{Record, Stored},
    report::Report,
    rules,
    snapshot::{Problem, ResolvedDesiredState, Snapshot, Suspension},
    status::{ConditionValue, SYNCED},
};

/// What can be decided before anybody asks for the config or reads Secrets, which may take long: whatever `world` holds of those is not
/// looked at. `None`: they are needed.
pub fn decide_without_config(snapshot: &Snapshot, memory: &ReconcileMemory) -> Option<Decision> {
    let managed = &snapshot.managed;
    if managed.deletion.is_some() && !managed.has_finalizer() {
        return Some(Decision::Rest(Rest::NEVER));
    }
    if let Some(decision) = super::report::publish_one_time_details(snapshot, memory) {
        return Some(decision);
    }
    if !snapshot.may_act {
        return Some(Decision::Rest(Rest::NEVER));
    }
    if managed.paused() {
        let message =
            "Reconciliation is paused either through the `spec.managementPolicies` or the pause annotation";
        let report = Report {
            event: Some(Event::normal(NormalEvent::ReconciliationPaused, message)),
            operation: managed.status.progress.operation.clone(),
            question: managed.status.progress.question.clone(),
            ..Report::failed(ConditionReason::ReconcilePaused, "")
        };
        return Some(report.into_decision(snapshot, memory, Rest::NEVER));
    }
    // What is not to be deleted needs the config for anything more.
    managed.deletion?;
    if let Some(decision) = leave(snapshot, memory) {
        return Some(decision);
    }
    if managed.shows_deleting() {
        return None;
    }
    let report = Report {
        operation: managed.status.progress.operation.clone(),
        question: managed.status.progress.question.clone(),
        ..Report::default()
    };
    Some(report.deleting().into_decision(snapshot, memory, Rest::NEVER))
}

/// Looks at what is known and returns one thing to do.
pub fn decide(snapshot: &Snapshot, memory: &ReconcileMemory) -> Decision {
    if let Some(decision) = decide_without_config(snapshot, memory) {
        return decision;
    }
    let managed = &snapshot.managed;
    let stored = managed.record();
    let record = match &*stored {
        Stored::Owned(record) => Some((**record).clone()),
        Stored::None | Stored::Unreadable(_) => None,
    };
    let desired = match (&snapshot.desired, managed.deletion) {
        (Ok(desired), _) => Arc::clone(desired),
        // A Delete needs no secrets, and must not wait for one that is gone.
        (Err(_), Some(_)) => bare(snapshot),
        (Err(problem), None) => return without_secrets(snapshot, memory, record, problem),
    };
    let ctx = ReconcileContext {
        snapshot,
        memory,
        record,
        desired,
    };
    if let Stored::Unreadable(why) = &*stored {
        return ctx.stop(
            StopReason::RecordUnreadable,
            format!("the annotation {} cannot be read ({why}); restore it, or remove it together with {} if nothing was created", names::RECORD, names::CREATE_PENDING),
        );
    }
    if let Some(decision) = stop_before_calls(&ctx) {
        return decision;
    }
    if let Err(problem) = &snapshot.config {
        return report_external_problem(snapshot, memory, problem, None);
    }
    // Before a hold: it is one call, and nobody would know what became of it.
    let waits = snapshot.suspension.is_some() && Rule::RecordedIsSentDuringSuspension.is_off();
    if let Some(decision) = super::create::send_recorded_intent(&ctx).filter(|_| !waits) {
        return decision;
    }
    if let Some(suspension) = &snapshot.suspension {
        return wait_for_suspension(snapshot, memory, suspension);
    }
    if let Some(retry_state) = memory.backoff_active(snapshot) {
        let report = super::operation::with_operation(&ctx, Report::of_retry_state(Some(retry_state)));
        let report = if ctx.deleting() {
            report.deleting()
        } else {
            not_created(&ctx, report)
        };
        return ctx.wait(report, retry_state.until, Purpose::Retry);
    }
    if let Some(decision) = super::operation::follow(&ctx) {
        return decision;
    }
    if ctx
        .record
        .as_ref()
        .is_some_and(|record| record.create().is_some() && !rules::confirmed(snapshot, record))
    {
        return super::recover_creation::recover_creation(&ctx);
    }
    if ctx.deleting() {
        return super::delete::delete(&ctx);
    }
    super::existing::reconcile_existing(&ctx)
}

fn bare(snapshot: &Snapshot) -> Arc<ResolvedDesiredState> {
    Arc::new(ResolvedDesiredState {
        parameters: snapshot.bare.clone(),
        digest: String::new(),
        sensitive: crate::external::Secrets::default(),
        sensitive_digest: String::new(),
    })
}

/// The wish cannot be read whole: what goes on by itself is followed all the same, and nothing else is done.
fn without_secrets(
    snapshot: &Snapshot,
    memory: &ReconcileMemory,
    record: Option<Record>,
    problem: &Problem,
) -> Decision {
    let ctx = ReconcileContext {
        snapshot,
        memory,
        record,
        desired: bare(snapshot),
    };
    let open =
        snapshot.config.is_ok() && snapshot.suspension.is_none() && memory.backoff_active(snapshot).is_none();
    if let Some(poll) = super::operation::follow_by_itself(&ctx).filter(|_| open) {
        return poll;
    }
    let next = memory.next_poll.filter(|next| *next > snapshot.now);
    report_external_problem(snapshot, memory, problem, next)
}

/// Before the resource is there, Ready says `Creating`.
pub(super) fn not_created(ctx: &ReconcileContext, report: Report) -> Report {
    let made = ctx
        .record
        .as_ref()
        .is_some_and(|record| rules::confirmed(ctx.snapshot, record));
    if made { report } else { report.creating() }
}

/// The policy, or a person, lets the object go without its resource.
fn leave(snapshot: &Snapshot, memory: &ReconcileMemory) -> Option<Decision> {
    let managed = &snapshot.managed;
    let stored = managed.record();
    let (record, unreadable) = match &*stored {
        Stored::Owned(record) => (Some(&**record), false),
        Stored::None => (None, false),
        Stored::Unreadable(_) => (None, true),
    };
    if !rules::may_be_orphaned(snapshot) {
        return None;
    }
    let busy = |record: &Record| {
        let unrecorded = rules::unrecorded_delete_may_run_until(snapshot, record, memory);
        rules::may_still_run_until(snapshot, record, memory).max(unrecorded)
    };
    // The finalizer goes only when no recorded call can execute, whatever lets the object go (trace 38).
    let waits = record
        .and_then(busy)
        .filter(|_| !Rule::OrphanWaitsForCalls.is_off());
    if let Some(over) = waits {
        let report = Report {
            operation: managed.status.progress.operation.clone(),
            question: managed.status.progress.question.clone(),
            ..Report::synced().blocked(super::delete::BUSY)
        };
        let rest = Rest {
            wake: Some(over),
            purpose: Purpose::Operation,
        };
        return Some(report.into_decision(snapshot, memory, rest));
    }
    // Nobody can tell what an unreadable record held: the annotation is then the best word there is.
    let name = match &record {
        Some(record) => record.external_name.as_str(),
        None if unreadable => managed.annotation(names::EXTERNAL_NAME),
        None => "",
    };
    let may_exist = unreadable
        || record
            .as_ref()
            .is_some_and(|record| managed.confirms(record) || record.intent.is_some());
    let why = if managed.annotation(names::ORPHAN) == managed.uid {
        "the annotation crossbridge.dev/orphan says so"
    } else if !snapshot.kind.capabilities.can_delete {
        "the kind cannot be deleted"
    } else {
        "managementPolicies or deletionPolicy do not include Delete"
    };
    Some(Decision::Act(Action::RemoveFinalizer(
        may_exist.then(|| left_behind(snapshot, name, why)),
    )))
}

/// Whoever has changed something is told, once. Those at rest only wait, or a thousand of them would write twice for each hold.
fn wait_for_suspension(snapshot: &Snapshot, memory: &ReconcileMemory, suspension: &Suspension) -> Decision {
    let left =
        std::time::Duration::try_from(suspension.until.duration_since(snapshot.now)).unwrap_or_default();
    // Not all at the same moment.
    let wake = suspension.until + (left / 4).mul_f64(snapshot.fresh.jitter.clamp(0.0, 1.0));
    let reported = snapshot
        .managed
        .condition(SYNCED)
        .is_some_and(|synced| synced.observed_generation == snapshot.managed.generation);
    if reported {
        return Decision::Rest(Rest {
            wake: Some(wake),
            purpose: Purpose::Retry,
        });
    }
    report_external_problem(snapshot, memory, &suspension.problem, Some(wake))
}

/// Something outside the object is in the way: no plugin call, but the conditions say so.
fn report_external_problem(
    snapshot: &Snapshot,
    memory: &ReconcileMemory,
    problem: &Problem,
    until: Option<jiff::Timestamp>,
) -> Decision {
    let message = format!("{}: {}", problem.reason, problem.message);
    let report = Report {
        event: Some(Event::warning(WarningEvent::CannotConnectToProvider, &message)),
        operation: snapshot.managed.status.progress.operation.clone(),
        question: snapshot.managed.status.progress.question.clone(),
        ..Report::failed(
            ConditionReason::ReconcileError,
            format!("connect failed: {message}"),
        )
    }
    .with_default_ready(snapshot);
    // What is in the way is watched; the slow retry is for what cannot be.
    let wake = until.unwrap_or(snapshot.now + std::time::Duration::from_mins(1));
    report.into_decision(
        snapshot,
        memory,
        Rest {
            wake: Some(wake),
            purpose: Purpose::Retry,
        },
    )
}

/// Stops that no look could help.
fn stop_before_calls(ctx: &ReconcileContext) -> Option<Decision> {
    let snapshot = ctx.snapshot;
    let managed = &snapshot.managed;
    let open = ctx
        .record
        .as_ref()
        .is_some_and(|record| record.create().is_some());
    match &ctx.record {
        _ if !open && snapshot.is_named_upstream() && has_foreign_pending_create(snapshot) => Some(ctx.stop(
            StopReason::CreateOutcomeUnknown,
            format!("cannot determine creation result - remove the {} annotation if it is safe to proceed", names::CREATE_PENDING),
        )),
        Some(record) if !ctx.deleting() && rules::name_was_changed(snapshot, record) => Some(ctx.stop(
            StopReason::ExternalNameChanged,
            format!(
                "the annotation {} says {:?}, but this object's resource is {:?}; put it back, or make another object for the other resource",
                names::EXTERNAL_NAME,
                managed.annotation(names::EXTERNAL_NAME),
                record.external_name
            ),
        )),
        Some(_) | None => None,
    }
}

/// A create of somebody else's (a Go provider's, a backup's) whose end nobody recorded.
fn has_foreign_pending_create(snapshot: &Snapshot) -> bool {
    let time = |key| snapshot.managed.annotation(key).parse::<jiff::Timestamp>().ok();
    let ended = time(names::CREATE_SUCCEEDED).max(time(names::CREATE_FAILED));
    time(names::CREATE_PENDING).is_some_and(|pending| ended.is_none_or(|ended| pending > ended))
}

/// The conditions of a resource that is there.
pub(super) fn readiness(ctx: &ReconcileContext) -> Option<ConditionValue> {
    let Some(ObservedState::Exists(observation)) = ctx
        .memory
        .last_observation
        .as_ref()
        .map(|last_observation| &last_observation.found)
    else {
        return None;
    };
    let replaced = ctx
        .record
        .as_ref()
        .is_some_and(|record| super::replacement::has_begun(ctx.snapshot, record, observation));
    Some(if observation.deleting && replaced {
        ConditionValue::no(
            ConditionReason::Deleting,
            "it is being deleted, so that another one takes its place",
        )
    } else if observation.deleting {
        ConditionValue::no(
            ConditionReason::Deleting,
            "it is being removed upstream, though nobody here asked for it",
        )
    } else if observation.ready {
        ConditionValue::yes(ConditionReason::Available)
    } else {
        ConditionValue::no(ConditionReason::Unavailable, observation.ready_message.clone())
    })
}

/// No annotations beside the record.
pub(super) fn nothing_else() -> BTreeMap<String, Option<String>> {
    BTreeMap::new()
}
