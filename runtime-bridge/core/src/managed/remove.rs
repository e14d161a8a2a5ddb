//! Deletion (design 4.4), and the first half of a replacement.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use crate::{
    external::{Observation, Verb},
    kind::CreateRecovery,
};

use super::{
    decision::{Action, Decision, Event, Purpose},
    memory::Found,
    pass::{Pass, left_behind},
    record::{ConfigIdentity, Details, Intent, IntentVerb, Record, Snapshot},
    report::{self, Report},
    rules::{self, Ownership},
    settle,
};

/// How soon to look again at what should be gone.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
/// An answered Delete that shows no effect is repeated after this.
const DELETE_AGAIN: Duration = Duration::from_secs(30);

/// Why a deletion waits for a call before it.
pub(super) const BUSY: &str = "waiting until an earlier call can no longer take effect";

/// Deletes, looks, and only then lets go.
pub(super) fn remove(pass: &Pass) -> Decision {
    let world = pass.world;
    let others = world.managed.other_finalizers();
    if !others.is_empty() {
        return pass.wait(
            Report::synced().blocked(format!("waiting for finalizers of others: {}", others.join(", "))),
            None,
            Purpose::Drift,
        );
    }
    if let Some(blocked) = blocked(pass) {
        return blocked;
    }
    let bound = pass
        .record
        .as_ref()
        .is_some_and(|record| rules::bound(world, record));
    let name = match (&pass.record, bound) {
        (Some(record), true) => Some(record.external_name.clone()),
        _ if world.kind.capabilities.holds_marker => world.name_to_look_by(pass.record.as_ref()),
        _ => None,
    };
    let Some(name) = name else {
        return finish(pass, None);
    };
    let Some(looked) = pass.memory.fresh_look(world, &name) else {
        return pass.observe(&name);
    };
    match &looked.found {
        Found::There(observation) => there(pass, bound, observation, looked.began),
        Found::Absent(_) if !bound => finish(pass, None),
        Found::Absent(_) => absent(pass, &name, looked.began),
    }
}

/// The first half of a replacement: deletes what is certainly this object's, so that another one takes its place. Nothing is let go here: what
/// is seen to be absent is created anew in the ordinary course.
pub(super) fn replace(pass: &Pass, observation: &Observation, began: Timestamp) -> Decision {
    blocked(pass).unwrap_or_else(|| delete(pass, observation, began))
}

fn blocked(pass: &Pass) -> Option<Decision> {
    let blocker = pass.world.blocker.as_ref()?;
    Some(pass.wait(
        Report::synced().blocked(blocker.message.clone()),
        None,
        Purpose::Drift,
    ))
}

fn there(pass: &Pass, bound: bool, observation: &Observation, began: Timestamp) -> Decision {
    let world = pass.world;
    let left = |because: &str| {
        finish(
            pass,
            Some(left_behind(world, &observation.external_name, because)),
        )
    };
    if let Some(stop) = super::steady::in_another_account(pass, observation) {
        return stop;
    }
    let adopted = pass.record.as_ref().is_some_and(|record| record.adopted);
    if let Some(rival) = rules::rival(world, observation) {
        return left(&format!("it is managed by {rival}"));
    }
    match rules::ownership(world, observation) {
        Ownership::Others(marker) => return left(&format!("it bears the marker {marker} of another object")),
        Ownership::Unmarked if !bound => return left("it bears no marker, and this object never managed it"),
        Ownership::Unmarked if adopted && world.kind.capabilities.holds_marker => {
            return left("it was adopted, and never marked as this object's");
        }
        Ownership::Unmarked if world.recovers_by(CreateRecovery::Marker) => {
            let visible = pass
                .record
                .as_ref()
                .and_then(|record| rules::visible_at(world, record));
            if let Some(visible) = visible.filter(|visible| began <= *visible) {
                let name = &observation.external_name;
                return look_later(
                    pass,
                    name,
                    began,
                    Some(visible),
                    "waiting until its marker can be seen",
                );
            }
            return left("it bears no marker");
        }
        Ownership::Ours | Ownership::Formerly | Ownership::Unmarked => {}
    }
    delete(pass, observation, began)
}

/// Deletes what is there, unless that was done and shows no effect yet.
fn delete(pass: &Pass, observation: &Observation, began: Timestamp) -> Decision {
    let world = pass.world;
    if observation.deleting {
        return look_later(
            pass,
            &observation.external_name,
            began,
            observation.observe_after.map(|after| began + after),
            "it is being removed upstream",
        );
    }
    let answered = pass.memory.delete_answered;
    if answered.is_some_and(|answered| world.now < answered + DELETE_AGAIN) {
        return look_later(
            pass,
            &observation.external_name,
            began,
            None,
            "the deletion was accepted, and it is still there",
        );
    }
    send(pass, &observation.external_name, &observation.etag)
}

fn absent(pass: &Pass, name: &str, began: Timestamp) -> Decision {
    let world = pass.world;
    let Some(record) = &pass.record else {
        return finish(pass, None);
    };
    if !rules::same_place(world, record) {
        return pass.stop(
            "ConfigIdentityChanged",
            format!(
                "nothing is found under {name:?}, but the ProviderConfig now means another account or has other settings than when it was made; put it back"
            ),
        );
    }
    // Invisible just after creation is not gone (trace 15).
    let window = world.kind.capabilities.consistency_window;
    let visible = rules::visible_at(world, record).filter(|_| !window.is_zero());
    if let Some(visible) = visible.filter(|visible| began <= *visible) {
        return look_later(
            pass,
            name,
            began,
            Some(visible),
            "waiting until it is certain that it is gone",
        );
    }
    if rules::absence_ends_the_removal(pass.memory, name) {
        return finish(pass, None);
    }
    send(pass, name, "")
}

/// Send the Delete: guarded, one call at a time.
fn send(pass: &Pass, name: &str, etag: &str) -> Decision {
    let world = pass.world;
    if let Some(trouble) = pass.memory.refused(world, Verb::Delete) {
        return pass.wait(Report::of_trouble(Some(trouble)).deleting(), None, Purpose::Drift);
    }
    let intent = pass.record.as_ref().and_then(|record| record.intent.as_ref());
    let just_recorded = intent
        .filter(|intent| intent.verb == IntentVerb::Delete && rules::just_recorded(pass.memory, intent));
    if let Some(intent) = just_recorded {
        return pass.call(name, Verb::Delete, intent.deadline, |call| {
            etag.clone_into(&mut call.etag);
            call.token.clone_from(&intent.token);
            call.attempt = intent.attempt;
        });
    }
    let busy = pass
        .record
        .as_ref()
        .and_then(|record| rules::may_still_run_until(world, record, pass.memory));
    if let Some(over) = busy {
        return pass.wait(Report::synced().blocked(BUSY), Some(over), Purpose::Operation);
    }
    if !rules::delete_needs_intent(world) {
        return pass.after_proof(name, Verb::Delete, |call| etag.clone_into(&mut call.etag));
    }
    let Ok(config) = &world.config else {
        return pass.wait(Report::default(), None, Purpose::Retry);
    };
    let mut record = pass
        .record
        .clone()
        .unwrap_or_else(|| unrecorded(world.managed.uid.clone(), name, ConfigIdentity::of(config)));
    // What was just made may not be seen everywhere yet: the time of its create stays known (trace 15).
    let made = record.create().map(|intent| intent.deadline);
    settle::close(&mut record);
    if let Some(state) = pass.observed_state(name) {
        state.clone_into(&mut record.provider_state);
    }
    record.deadline = record.deadline.max(made);
    record.confirmed = true;
    record.intent = Some(Intent {
        verb: IntentVerb::Delete,
        token: world.fresh.token.clone(),
        attempt: 0,
        alone: false,
        turn_over: false,
        generation: world.managed.generation,
        parameters: Snapshot::Digest(String::new()),
        started_at: world.now,
        deadline: world.now + world.kind.timeouts.call,
        operation: None,
        operation_ended: false,
    });
    pass.write_intent("record the intent to delete", &record, BTreeMap::new())
}

fn unrecorded(uid: String, name: &str, config: ConfigIdentity) -> Record {
    Record {
        uid,
        external_name: name.to_owned(),
        confirmed: true,
        adopted: false,
        taken: false,
        intent: None,
        deadline: None,
        provider_state: String::new(),
        sensitive_digest: String::new(),
        details: Details::Settled,
        config,
        plugin_version: String::new(),
        incarnation: 0,
        replacement: None,
    }
}

/// Nothing of ours is left outside. The finalizer goes only when no recorded call can still execute.
fn finish(pass: &Pass, event: Option<Event>) -> Decision {
    let world = pass.world;
    let busy = pass
        .record
        .as_ref()
        .and_then(|record| rules::may_still_run_until(world, record, pass.memory));
    if let Some(over) = busy {
        return pass.wait(Report::synced().blocked(BUSY), Some(over), Purpose::Operation);
    }
    Decision::Act(Action::Release(event))
}

/// Look again by this name, but not at once.
fn look_later(pass: &Pass, name: &str, began: Timestamp, wake: Option<Timestamp>, message: &str) -> Decision {
    let world = pass.world;
    let next = (began + LOOK_AGAIN).max(wake.unwrap_or(began));
    if world.now >= next && began < next {
        return pass.observe(name);
    }
    let since = world.managed.deletion.unwrap_or(world.now);
    let overdue = report::overdue(world.now, since, world.kind.timeouts.delete);
    let report = Report::of_trouble(pass.memory.trouble.as_ref());
    let report = if overdue.is_empty() {
        report
    } else {
        Report::failed("ReconcileError", format!("deletion goes on{overdue}"))
    };
    pass.wait(report.blocked(message), Some(next), Purpose::Operation)
}
