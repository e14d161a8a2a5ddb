//! Create recovery (design 4.3): what becomes of a create whose answer nobody has.

use crate::rule::Rule;
use crate::{external::Observation, kind::CreateRecovery, reasons::StopReason};

use super::{
    context::ReconcileContext,
    create,
    decision::{Decision, Event, Purpose},
    last_observation::ObservedState,
    names,
    record::{Intent, Record},
    report::Report,
    resolve_intent, rules,
    status::Question,
};

/// How soon a Create that was answered without a name is repeated.
const ASK_AGAIN: std::time::Duration = std::time::Duration::from_secs(10);

const ABSENT: &str = "settle the create as absent";

/// In this order: a look that finds it, the retained token, absence after the time, a person.
pub(super) fn recover_creation(ctx: &ReconcileContext) -> Decision {
    let (Some(record), snapshot) = (&ctx.record, ctx.snapshot) else {
        return super::existing::reconcile_existing(ctx);
    };
    let Some(intent) = record.create() else {
        return super::existing::reconcile_existing(ctx);
    };
    if rules::is_certainly_unsent(ctx.memory, intent) {
        return resolved_as_absent(ctx, record, "close the create that was never sent");
    }
    if !rules::same_location(snapshot, record) {
        return ctx.stop_and_return(
            StopReason::ConfigIdentityChanged,
            "a creation is unanswered, and the ProviderConfig now means another account or has other settings than when it was sent; put it back until the creation is settled".to_owned(),
        );
    }
    let settles = rules::resolves_at(snapshot, rules::create_ends(snapshot, intent));
    let by_marker = snapshot.recovers_by(CreateRecovery::Marker);
    let name = rules::recovery_name(snapshot, record);
    let by_name = if snapshot.is_named_upstream() {
        !name.is_empty()
    } else {
        snapshot.recovers_by(CreateRecovery::DeterministicName)
    };
    let can_look = by_marker || by_name;
    if can_look {
        let as_recorded = rules::observed_as_recorded(intent, &ctx.desired).is_some();
        let fresh = ctx
            .memory
            .fresh_observation_for_create(snapshot, &name, as_recorded);
        let Some(last_observation) =
            fresh.filter(|last_observation| rules::observation_is_about(last_observation, intent))
        else {
            return look(ctx, intent, &name);
        };
        match &last_observation.found {
            ObservedState::Exists(observation) => match super::existing::foreign_owner(snapshot, observation)
            {
                Some(why) if !snapshot.is_named_upstream() && !ctx.deleting() => {
                    return ctx.stop(StopReason::DoublyOwned, why);
                }
                // While deleting, and under a marker, another's counts as absence of ours.
                Some(_) => {}
                // The creating request marks: what bears no marker is not its work, or is not yet to be seen as it is.
                None if !rules::may_be_its_work(snapshot, record, observation) => {
                    if snapshot.now <= settles {
                        return wait_until_resolvable(ctx, settles);
                    }
                }
                None => return resolved_as_found(ctx, record, observation, last_observation.as_recorded),
            },
            ObservedState::Absent(_) => {}
        }
    }
    let repeatable = rules::token_may_be_repeated(snapshot, record, intent, &ctx.desired);
    if repeatable && !intent.token_exhausted {
        match rules::created_at(ctx.memory, intent) {
            // It was made: it is only not to be seen yet, or gone again.
            Some(_) if can_look => {}
            // And the answer told no name.
            Some(at) if snapshot.now < at + ASK_AGAIN => {
                return ctx.wait(
                    Report::of_retry_state(ctx.memory.retry_state.as_ref()).with_default_ready(snapshot),
                    Some(at + ASK_AGAIN),
                    Purpose::Operation,
                );
            }
            Some(_) | None => return create::repeat(ctx, record, false),
        }
    }
    if rules::absence_is_conclusive(snapshot, intent, by_marker, by_name) {
        return by_absence(ctx, record, intent, &name, settles);
    }
    // Only the token is left: the same request, alone, proves that it never had an effect (trace 25).
    if repeatable && !intent.exclusive {
        return if snapshot.now > settles || Rule::ExclusiveAfterAllAttempts.is_off() {
            create::repeat(ctx, record, true)
        } else {
            wait_until_resolvable(ctx, settles)
        };
    }
    ask(ctx, record, intent, settles)
}

fn look(ctx: &ReconcileContext, intent: &Intent, name: &str) -> Decision {
    ctx.observe_for_the_create(name, rules::observed_as_recorded(intent, &ctx.desired))
}

/// It exists. A cloud-named one is confirmed by metadata; of another the next status tells. One that was looked for as recorded is confirmed
/// by metadata too, with the state by which the plugin will find it: a look by today's wish may miss it.
fn resolved_as_found(
    ctx: &ReconcileContext,
    record: &Record,
    observation: &Observation,
    as_recorded: bool,
) -> Decision {
    if !ctx.snapshot.is_named_upstream() && !as_recorded {
        return if ctx.deleting() {
            super::delete::delete(ctx)
        } else {
            super::existing::reconcile_existing(ctx)
        };
    }
    let mut record = record.clone();
    let mut annotations = std::collections::BTreeMap::new();
    record.external_name.clone_from(&observation.external_name);
    if !observation.provider_state.is_empty() {
        record.provider_state.clone_from(&observation.provider_state);
    }
    resolve_intent::confirm(
        &mut record,
        &ctx.snapshot.managed,
        &mut annotations,
        ctx.snapshot.now,
    );
    if !ctx.snapshot.is_named_upstream() {
        // Such kinds have no pending creation that it would end.
        annotations.remove(super::names::CREATE_SUCCEEDED);
    }
    // Other attempts, if any, had the same effect or none; none may be under way when it is deleted.
    record.deadline = ctx
        .record
        .as_ref()
        .and_then(|old| old.intent.as_ref())
        .map(|intent| intent.deadline);
    ctx.write_record("confirm the create that a look found", &record, annotations)
}

fn by_absence(
    ctx: &ReconcileContext,
    record: &Record,
    intent: &Intent,
    name: &str,
    settles: jiff::Timestamp,
) -> Decision {
    let snapshot = ctx.snapshot;
    match &ctx.memory.last_observation {
        Some(last_observation)
            if rules::absence_resolves(snapshot, rules::create_ends(snapshot, intent), last_observation) =>
        {
            resolved_as_absent(ctx, record, ABSENT)
        }
        // Somebody else's, or an unmarked one after the time: for a kind whose creating request marks it is absence too.
        Some(last_observation) if last_observation.began > settles => resolved_as_absent(ctx, record, ABSENT),
        _ if snapshot.now > settles => look(ctx, intent, name),
        _ => wait_until_resolvable(ctx, settles),
    }
}

/// Nothing was made. What was recorded is closed, so that a new token may be drawn, or the object go.
fn resolved_as_absent(ctx: &ReconcileContext, record: &Record, why: &'static str) -> Decision {
    let mut record = record.clone();
    let mut annotations = std::collections::BTreeMap::new();
    resolve_intent::absent(ctx.snapshot, &ctx.snapshot.managed, &mut record, &mut annotations);
    record.deadline = None;
    ctx.write_record(why, &record, annotations)
}

fn wait_until_resolvable(ctx: &ReconcileContext, settles: jiff::Timestamp) -> Decision {
    let report = Report::of_retry_state(ctx.memory.retry_state.as_ref());
    let report = if ctx.deleting() {
        report.blocked("waiting until it is certain what became of an unanswered creation")
    } else {
        report.creating()
    };
    // What is looked for may be seen before the time, which may be an hour away.
    let next_observation = ctx
        .memory
        .last_observation
        .as_ref()
        .map(|last_observation| last_observation.next);
    let settled = settles + std::time::Duration::from_millis(1);
    let wake = next_observation
        .filter(|next| *next > ctx.snapshot.now)
        .unwrap_or(settled);
    ctx.wait(report, Some(wake.min(settled)), Purpose::Operation)
}

/// Nothing that we could do would tell: a person is asked, after the time, a question drawn for this token (trace 30).
fn ask(ctx: &ReconcileContext, record: &Record, intent: &Intent, settles: jiff::Timestamp) -> Decision {
    let snapshot = ctx.snapshot;
    if !rules::may_ask_person(snapshot, intent) {
        return wait_until_resolvable(ctx, settles);
    }
    let asked = ctx.open_question();
    let mut not_taken = String::new();
    if let Some(question) = &asked {
        let answer = snapshot.managed.annotation(names::CREATE_OUTCOME);
        if answer == format!("absent/{}", question.id) {
            return resolved_as_absent(ctx, record, ABSENT);
        }
        let name = answer
            .strip_prefix("exists/")
            .and_then(|rest| rest.strip_prefix(&question.id))
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            match found_by_a_person(ctx, record, intent, name) {
                Ok(decision) => return decision,
                Err(why) => not_taken = format!("; the answer {answer:?} was not taken: {why}"),
            }
        }
    }
    let question = asked.unwrap_or_else(|| Question {
        id: snapshot.fresh.question.clone(),
        token: intent.token.clone(),
        attempt: intent.attempt,
    });
    let message = format!(
        "nobody can tell whether the creation begun at {} made a resource; look in the external system, then annotate {}=absent/{} or {}=exists/{}/<its name>{not_taken}",
        intent.started_at,
        names::CREATE_OUTCOME,
        question.id,
        names::CREATE_OUTCOME,
        question.id
    );
    let report = Report {
        event: Some(Event::warning(StopReason::CreateOutcomeUnknown, &message)),
        question: Some(question),
        ..Report::failed(StopReason::CreateOutcomeUnknown, message)
    };
    let report = if ctx.deleting() {
        report.blocked("waiting for an answer: see Synced")
    } else {
        report.creating()
    };
    ctx.wait(report, None, Purpose::Drift)
}

/// A person says that it exists under this name. A slip of the pen would make a second resource, or stop everything: it is taken only when an
/// observation has found it there (trace 49). The error says why it is not.
fn found_by_a_person(
    ctx: &ReconcileContext,
    record: &Record,
    intent: &Intent,
    name: &str,
) -> Result<Decision, String> {
    let snapshot = ctx.snapshot;
    if let Some(why) = rules::breaks_name_rules(&snapshot.kind, name) {
        return Err(why);
    }
    let as_recorded = rules::observed_as_recorded(intent, &ctx.desired).is_some();
    let fresh = ctx
        .memory
        .fresh_observation_for_create(snapshot, name, as_recorded);
    let Some(last_observation) =
        fresh.filter(|last_observation| rules::observation_is_about(last_observation, intent))
    else {
        return Ok(look(ctx, intent, name));
    };
    match &last_observation.found {
        ObservedState::Absent(_) if Rule::PersonsNameIsObserved.is_off() => {
            Ok(resolved_by_a_person(ctx, record, name, ""))
        }
        ObservedState::Absent(_) => Err(format!("nothing of the name {name:?} is seen")),
        ObservedState::Exists(observation) => match super::existing::foreign_owner(snapshot, observation) {
            Some(why) => Err(why),
            // Unmarked, or taken for somebody else's before: that is what a person's word is waited for.
            None => Ok(resolved_by_a_person(
                ctx,
                record,
                &observation.external_name,
                &observation.provider_state,
            )),
        },
    }
}

fn resolved_by_a_person(ctx: &ReconcileContext, record: &Record, name: &str, state: &str) -> Decision {
    let mut record = record.clone();
    let mut annotations = std::collections::BTreeMap::new();
    name.clone_into(&mut record.external_name);
    if !state.is_empty() {
        state.clone_into(&mut record.provider_state);
    }
    resolve_intent::confirm(
        &mut record,
        &ctx.snapshot.managed,
        &mut annotations,
        ctx.snapshot.now,
    );
    record.deadline = None;
    ctx.write_record("take a person's word for the create", &record, annotations)
}
