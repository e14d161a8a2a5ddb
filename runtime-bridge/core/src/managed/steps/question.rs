//! Nothing that we could do would tell what became of a create: a person is asked (trace 30).

use std::{collections::BTreeMap, ops::ControlFlow::Break};

use crate::managed::{
    context::ReconcileContext,
    decision::{Decision, Event, Purpose},
    last_observation::ObservedState,
    names,
    report::Report,
    resolve_intent, rules,
    status::Question,
    step::{Flow, NEXT},
    unanswered::{ABSENT, Unanswered},
};
use crate::{reasons::StopReason, rule::Rule};

/// After the time, a question that is drawn for this token.
pub fn ask(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some(create) = Unanswered::unfound(ctx) else {
        return NEXT;
    };
    let intent = create.intent;
    if !rules::may_ask_person(snapshot, ctx.memory, intent) {
        return Break(create.wait_until_resolvable());
    }
    let asked = ctx.open_question();
    let mut not_taken = String::new();
    let answer = snapshot.managed.annotation(names::CREATE_OUTCOME);
    if let Some(question) = &asked {
        if answer == format!("absent/{}", question.id) {
            return Break(create.close_as_absent(ABSENT));
        }
        let name = answer
            .strip_prefix("exists/")
            .and_then(|rest| rest.strip_prefix(&question.id))
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            match found_by_a_person(ctx, &create, name) {
                Ok(decision) => return Break(decision),
                Err(why) => not_taken = format!("; the answer {answer:?} was not taken: {why}"),
            }
        } else if !answer.is_empty() {
            not_taken = format!("; the annotation says {answer:?}, which does not answer this question");
        }
    }
    let question = asked.unwrap_or_else(|| Question {
        id: snapshot.fresh.question.clone(),
        token: intent.token.clone(),
        attempt: intent.attempt,
    });
    let message = format!(
        "it cannot be known whether the creation begun at {} made a resource; check the external system, then annotate {}=absent/{} or {}=exists/{}/<its name>{not_taken}{}",
        intent.started_at,
        names::CREATE_OUTCOME,
        question.id,
        names::CREATE_OUTCOME,
        question.id,
        ctx.way_out()
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
    Break(ctx.wait(report, None, Purpose::Drift))
}

/// A person says that it exists under this name. A slip of the pen would make a second resource, or stop everything: it is taken only when an
/// observation has found it there (trace 49). The error says why it is not.
fn found_by_a_person(ctx: &ReconcileContext, create: &Unanswered, name: &str) -> Result<Decision, String> {
    let snapshot = ctx.snapshot;
    if let Some(why) = rules::breaks_name_rules(&snapshot.kind, name) {
        return Err(why);
    }
    let Some(last_observation) = create.observation(name) else {
        return Ok(create.observe_answer(name));
    };
    match &last_observation.found {
        ObservedState::Absent(_) if Rule::PersonsNameIsObserved.is_off() => {
            Ok(resolved_by_a_person(ctx, create, name, ""))
        }
        ObservedState::Absent(_) => Err(format!("nothing of the name {name:?} is seen")),
        ObservedState::Exists(observation) => match rules::foreign_owner(snapshot, observation) {
            Some(why) => Err(why),
            // Unmarked, or taken for somebody else's before: that is what a person's word is waited for.
            None => Ok(resolved_by_a_person(
                ctx,
                create,
                &observation.external_name,
                &observation.provider_state,
            )),
        },
    }
}

fn resolved_by_a_person(ctx: &ReconcileContext, create: &Unanswered, name: &str, state: &str) -> Decision {
    let managed = &ctx.snapshot.managed;
    let mut record = create.record.clone();
    let mut annotations = BTreeMap::new();
    name.clone_into(&mut record.external_name);
    if !state.is_empty() {
        state.clone_into(&mut record.provider_state);
    }
    resolve_intent::confirm(&mut record, managed, &mut annotations, ctx.snapshot.now);
    record.deadline = None;
    ctx.write_record("take a person's word for the create", &record, annotations)
}
