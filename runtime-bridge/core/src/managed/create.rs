//! The intent rule and the repeat rule: what is written before a Create, and the Create itself.

use std::collections::BTreeMap;

use crate::{external::Verb, kind::NameSource};

use super::{
    decision::{Decision, Event, Purpose},
    names,
    pass::Pass,
    record::{ConfigIdentity, Details, Intent, IntentVerb, Record, Snapshot},
    replacement,
    report::Report,
    rules, settle, unanswered,
};

/// The intent was written in this pass: now, and only now, its call may go.
pub(super) fn send_what_was_just_recorded(pass: &Pass) -> Option<Decision> {
    let record = pass.record.as_ref()?;
    let intent = record.intent.as_ref()?;
    let create = intent.verb == IntentVerb::Create && intent.operation.is_none();
    if !create || !rules::just_recorded(pass.memory, intent) {
        return None; // A Delete, and a poll that drives on, are sent by their own branches.
    }
    // What was recorded, or nothing: a Secret or a config may have changed since.
    let same = rules::request_is_the_same(pass.world, record, intent, &pass.wish);
    if !same || !unanswered::secrets_are_recorded(record, intent, &pass.wish) {
        return None;
    }
    // The same request each time: a name that an answer told is no part of it.
    let name = if pass.world.cloud_named() {
        ""
    } else {
        &record.external_name
    };
    Some(pass.call(name, Verb::Create, intent.deadline, |call| {
        if let Snapshot::Whole(parameters) = &intent.parameters {
            call.desired.parameters.clone_from(parameters);
        }
        call.token.clone_from(&intent.token);
        call.attempt = intent.attempt;
        call.outcome_unknown = intent.attempt > 0;
    }))
}

/// Records what is about to be made. `derived` is the name that the plugin works out; empty where it does not.
pub(super) fn begin(pass: &Pass, derived: &str) -> Decision {
    let world = pass.world;
    if !world.managed.policies.create || !world.kind.capabilities.can_create {
        let missing = "external resource does not exist";
        let report = Report::failed("ReconcileError", format!("observe failed: {missing}"))
            .ready(super::status::Says::no("Unavailable", ""))
            .event(Event::warning("CannotObserveExternalResource", missing));
        return pass.wait(report, None, Purpose::Drift);
    }
    if let Some(trouble) = pass.memory.refused(world, Verb::Create) {
        return pass.wait(Report::of_trouble(Some(trouble)).creating(), None, Purpose::Drift);
    }
    // Beside another that makes the same, nobody could tell afterwards whose it is (trace 45).
    if let Some(rival) = world.rival.as_ref().filter(|_| !world.cloud_named()) {
        return pass.stop(
            "DoublyOwned",
            format!("{rival} has the same external name, or is making it; give this object a name of its own with {}, or delete one of the two", names::EXTERNAL_NAME),
        );
    }
    if let Some(over) = pass
        .record
        .as_ref()
        .and_then(|record| rules::may_still_run_until(world, record, pass.memory))
    {
        return pass.wait(Report::synced().creating(), Some(over), Purpose::Operation);
    }
    let Ok(config) = &world.config else {
        return pass.wait(Report::default(), None, Purpose::Retry);
    };
    if world.kind.external_name.source == NameSource::Derived && derived.is_empty() {
        return pass.stop(
            "NameNotTold",
            format!(
                "the plugin works out the names of {}, and does not tell this one's (Absent.external_name): that is a fault of the plugin, nothing is made before it is put right",
                world.kind.plural
            ),
        );
    }
    let annotated = world.managed.annotation(names::EXTERNAL_NAME);
    let name = match world.kind.external_name.source {
        NameSource::User if annotated.is_empty() => world.managed.name.clone(),
        NameSource::User => annotated.to_owned(),
        NameSource::Derived => derived.to_owned(),
        NameSource::Provider => String::new(),
    };
    let record = Record {
        uid: world.managed.uid.clone(),
        external_name: name.clone(),
        confirmed: false,
        adopted: false,
        taken: false,
        intent: Some(Intent {
            verb: IntentVerb::Create,
            token: world.fresh.token.clone(),
            attempt: 0,
            alone: false,
            turn_over: false,
            generation: world.managed.generation,
            parameters: Snapshot::of(&pass.wish.parameters, &pass.wish.digest),
            started_at: world.now,
            deadline: world.now + world.kind.timeouts.call,
            operation: None,
            operation_ended: false,
        }),
        deadline: None,
        provider_state: String::new(),
        sensitive_digest: pass.wish.sensitive_digest.clone(),
        details: if rules::gives_details_once(world) {
            Details::Due
        } else {
            Details::Settled
        },
        config: ConfigIdentity::of(config),
        plugin_version: world.plugin_version.clone(),
        incarnation: rules::next_incarnation(pass.record.as_ref()),
        replacement: replacement::used_approvals(world, pass.record.as_ref()),
    };
    let others = world
        .managed
        .annotations
        .iter()
        .filter(|(key, _)| *key != names::RECORD)
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if !record.fits(others) {
        return pass.stop(
            "RecordTooLarge",
            "the annotations of this object leave no room for the record of its creation; remove some that are not needed".to_owned(),
        );
    }
    let mut annotations = BTreeMap::new();
    if world.cloud_named() {
        annotations.insert(names::CREATE_PENDING.to_owned(), Some(pending(pass)));
        // A former resource's name: it would be taken for the new one's.
        annotations.insert(names::EXTERNAL_NAME.to_owned(), None);
    } else {
        annotations.insert(names::EXTERNAL_NAME.to_owned(), Some(name));
    }
    pass.write_intent("record the intent to create", &record, annotations)
}

/// The same request once more: same token and parameters, a new deadline (traces 9, 11).
pub(super) fn repeat(pass: &Pass, record: &Record, alone: bool) -> Decision {
    let mut record = record.clone();
    if let Some(intent) = record.intent.as_mut() {
        intent.attempt += 1;
        intent.alone = alone;
        // Alone, its turn begins anew: a mere hindrance ends nothing, and another refusal does.
        intent.turn_over &= !alone;
        intent.deadline = pass.world.now + pass.world.kind.timeouts.call;
        (intent.operation, intent.operation_ended) = (None, false);
        // Which value an attempt brought nobody knows any more: what the resource holds then counts as another one.
        if record.sensitive_digest != pass.wish.sensitive_digest {
            record.sensitive_digest.clear();
        }
    }
    pass.write_intent("record that the create is repeated", &record, BTreeMap::new())
}

/// The pending time must come after the times of earlier ends, or a Go reconciler would take it for settled.
fn pending(pass: &Pass) -> String {
    let ended = [names::CREATE_SUCCEEDED, names::CREATE_FAILED]
        .into_iter()
        .filter_map(|key| pass.world.managed.annotated_time(key))
        .max();
    let now = pass.world.now;
    let after = ended.map_or(now, |ended| now.max(ended + std::time::Duration::from_secs(1)));
    settle::seconds(after)
}
