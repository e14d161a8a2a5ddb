//! Create recovery (design 4.3): what becomes of a create whose answer nobody has.

use crate::{external::Observation, kind::CreateRecovery};

use super::{
    create,
    decision::{Decision, Event, Purpose},
    memory::Found,
    names,
    pass::Pass,
    record::{Intent, Record},
    report::Report,
    rules, settle,
    status::Question,
    unanswered,
};

/// How soon a Create that was answered without a name is repeated.
const ASK_AGAIN: std::time::Duration = std::time::Duration::from_secs(10);

const ABSENT: &str = "settle the create as absent";

/// In this order: a look that finds it, the retained token, absence after the time, a person.
pub(super) fn recover(pass: &Pass) -> Decision {
    let (Some(record), world) = (&pass.record, pass.world) else {
        return super::steady::steady(pass);
    };
    let Some(intent) = record.create() else {
        return super::steady::steady(pass);
    };
    if rules::never_sent(pass.memory, intent) {
        return settled_as_absent(pass, record, "close the create that was never sent");
    }
    if !rules::same_place(world, record) {
        return pass.stop_and_return(
            "ConfigIdentityChanged",
            "a creation is unanswered, and the ProviderConfig now means another account or has other settings than when it was sent; put it back until the creation is settled".to_owned(),
        );
    }
    let settles = rules::settles_at(world, unanswered::create_ends(world, intent));
    let by_marker = world.recovers_by(CreateRecovery::Marker);
    let name = rules::name_to_recover_by(world, record);
    let by_name = if world.cloud_named() {
        !name.is_empty()
    } else {
        world.recovers_by(CreateRecovery::DeterministicName)
    };
    let can_look = by_marker || by_name;
    if can_look {
        let as_recorded = rules::looked_for_as_recorded(intent, &pass.wish).is_some();
        let fresh = pass.memory.fresh_look_for_the_create(world, &name, as_recorded);
        let Some(looked) = fresh.filter(|looked| rules::look_is_about(looked, intent)) else {
            return look(pass, intent, &name);
        };
        match &looked.found {
            Found::There(observation) => match super::steady::anothers(world, observation) {
                Some(why) if !world.cloud_named() && !pass.deleting() => {
                    return pass.stop("DoublyOwned", why);
                }
                // While deleting, and under a marker, another's counts as absence of ours.
                Some(_) => {}
                // The creating request marks: what bears no marker is not its work, or is not yet to be seen as it is.
                None if !rules::may_be_its_work(world, record, observation) => {
                    if world.now <= settles {
                        return wait_for_the_time(pass, settles);
                    }
                }
                None => return settled_as_found(pass, record, observation, looked.as_recorded),
            },
            Found::Absent(_) => {}
        }
    }
    let repeatable = rules::token_may_be_repeated(world, record, intent, &pass.wish);
    if repeatable && !intent.turn_over {
        match unanswered::created_at(pass.memory, intent) {
            // It was made: it is only not to be seen yet, or gone again.
            Some(_) if can_look => {}
            // And the answer told no name.
            Some(at) if world.now < at + ASK_AGAIN => {
                return pass.wait(
                    Report::of_trouble(pass.memory.trouble.as_ref()).towards(world),
                    Some(at + ASK_AGAIN),
                    Purpose::Operation,
                );
            }
            Some(_) | None => return create::repeat(pass, record, false),
        }
    }
    if rules::absence_speaks_of_all(world, intent, by_marker, by_name) {
        return by_absence(pass, record, intent, &name, settles);
    }
    // Only the token is left: the same request, alone, proves that it never had an effect (trace 25).
    if repeatable && !intent.alone {
        return if world.now > settles {
            create::repeat(pass, record, true)
        } else {
            wait_for_the_time(pass, settles)
        };
    }
    ask(pass, record, intent, settles)
}

fn look(pass: &Pass, intent: &Intent, name: &str) -> Decision {
    pass.observe_for_the_create(name, rules::looked_for_as_recorded(intent, &pass.wish))
}

/// It exists. A cloud-named one is confirmed by metadata; of another the next status tells. One that was looked for as recorded is confirmed
/// by metadata too, with the state by which the plugin will find it: a look by today's wish may miss it.
fn settled_as_found(pass: &Pass, record: &Record, observation: &Observation, as_recorded: bool) -> Decision {
    if !pass.world.cloud_named() && !as_recorded {
        return if pass.deleting() {
            super::remove::remove(pass)
        } else {
            super::steady::steady(pass)
        };
    }
    let mut record = record.clone();
    let mut annotations = std::collections::BTreeMap::new();
    record.external_name.clone_from(&observation.external_name);
    if !observation.provider_state.is_empty() {
        record.provider_state.clone_from(&observation.provider_state);
    }
    settle::confirm(&mut record, &pass.world.managed, &mut annotations, pass.world.now);
    if !pass.world.cloud_named() {
        // Such kinds have no pending creation that it would end.
        annotations.remove(super::names::CREATE_SUCCEEDED);
    }
    // Other attempts, if any, had the same effect or none; none may be under way when it is deleted.
    record.deadline = pass
        .record
        .as_ref()
        .and_then(|old| old.intent.as_ref())
        .map(|intent| intent.deadline);
    pass.write_record("confirm the create that a look found", &record, annotations)
}

fn by_absence(
    pass: &Pass,
    record: &Record,
    intent: &Intent,
    name: &str,
    settles: jiff::Timestamp,
) -> Decision {
    let world = pass.world;
    match &pass.memory.looked {
        Some(looked) if rules::absence_settles(world, unanswered::create_ends(world, intent), looked) => {
            settled_as_absent(pass, record, ABSENT)
        }
        // Somebody else's, or an unmarked one after the time: for a kind whose creating request marks it is absence too.
        Some(looked) if looked.began > settles => settled_as_absent(pass, record, ABSENT),
        _ if world.now > settles => look(pass, intent, name),
        _ => wait_for_the_time(pass, settles),
    }
}

/// Nothing was made. What was recorded is closed, so that a new token may be drawn, or the object go.
fn settled_as_absent(pass: &Pass, record: &Record, why: &'static str) -> Decision {
    let mut record = record.clone();
    let mut annotations = std::collections::BTreeMap::new();
    settle::absent(pass.world, &pass.world.managed, &mut record, &mut annotations);
    record.deadline = None;
    pass.write_record(why, &record, annotations)
}

fn wait_for_the_time(pass: &Pass, settles: jiff::Timestamp) -> Decision {
    let report = Report::of_trouble(pass.memory.trouble.as_ref());
    let report = if pass.deleting() {
        report.blocked("waiting until it is certain what became of an unanswered creation")
    } else {
        report.creating()
    };
    // What is looked for may be seen before the time, which may be an hour away.
    let next_look = pass.memory.looked.as_ref().map(|looked| looked.next);
    let settled = settles + std::time::Duration::from_millis(1);
    let wake = next_look.filter(|next| *next > pass.world.now).unwrap_or(settled);
    pass.wait(report, Some(wake.min(settled)), Purpose::Operation)
}

/// Nothing that we could do would tell: a person is asked, after the time, a question drawn for this token (trace 30).
fn ask(pass: &Pass, record: &Record, intent: &Intent, settles: jiff::Timestamp) -> Decision {
    let world = pass.world;
    if !rules::may_be_asked(world, intent) {
        return wait_for_the_time(pass, settles);
    }
    let asked = pass.open_question();
    let mut not_taken = String::new();
    if let Some(question) = &asked {
        let answer = world.managed.annotation(names::CREATE_OUTCOME);
        if answer == format!("absent/{}", question.id) {
            return settled_as_absent(pass, record, ABSENT);
        }
        let name = answer
            .strip_prefix("exists/")
            .and_then(|rest| rest.strip_prefix(&question.id))
            .and_then(|rest| rest.strip_prefix('/'));
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            match found_by_a_person(pass, record, intent, name) {
                Ok(decision) => return decision,
                Err(why) => not_taken = format!("; the answer {answer:?} was not taken: {why}"),
            }
        }
    }
    let question = asked.unwrap_or_else(|| Question {
        id: world.fresh.question.clone(),
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
        event: Some(Event::warning("CreateOutcomeUnknown", &message)),
        question: Some(question),
        ..Report::failed("CreateOutcomeUnknown", message)
    };
    let report = if pass.deleting() {
        report.blocked("waiting for an answer: see Synced")
    } else {
        report.creating()
    };
    pass.wait(report, None, Purpose::Drift)
}

/// A person says that it exists under this name. A slip of the pen would make a second resource, or stop everything: it is taken only when an
/// observation has found it there (trace 49). The error says why it is not.
fn found_by_a_person(pass: &Pass, record: &Record, intent: &Intent, name: &str) -> Result<Decision, String> {
    let world = pass.world;
    if let Some(why) = unanswered::breaks_name_rules(&world.kind, name) {
        return Err(why);
    }
    let as_recorded = rules::looked_for_as_recorded(intent, &pass.wish).is_some();
    let fresh = pass.memory.fresh_look_for_the_create(world, name, as_recorded);
    let Some(looked) = fresh.filter(|looked| rules::look_is_about(looked, intent)) else {
        return Ok(look(pass, intent, name));
    };
    match &looked.found {
        Found::Absent(_) => Err(format!("nothing of the name {name:?} is seen")),
        Found::There(observation) => match super::steady::anothers(world, observation) {
            Some(why) => Err(why),
            // Unmarked, or taken for somebody else's before: that is what a person's word is waited for.
            None => Ok(settled_by_a_person(pass, record, observation)),
        },
    }
}

fn settled_by_a_person(pass: &Pass, record: &Record, observation: &Observation) -> Decision {
    let mut record = record.clone();
    let mut annotations = std::collections::BTreeMap::new();
    record.external_name.clone_from(&observation.external_name);
    if !observation.provider_state.is_empty() {
        record.provider_state.clone_from(&observation.provider_state);
    }
    settle::confirm(&mut record, &pass.world.managed, &mut annotations, pass.world.now);
    record.deadline = None;
    pass.write_record("take a person's word for the create", &record, annotations)
}
