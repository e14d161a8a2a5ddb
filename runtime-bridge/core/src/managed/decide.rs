//! The order of one pass (design 4.2).

use std::{collections::BTreeMap, sync::Arc};

use super::{
    decision::{Action, Decision, Event, Purpose, Rest},
    memory::{Found, Memory},
    names,
    pass::{Pass, left_behind},
    record::{Record, Stored},
    report::Report,
    rules,
    status::{SYNCED, Says},
    world::{Hold, Problem, Wish, World},
};

/// What can be decided before anybody asks for the config or reads Secrets, which may take long: whatever `world` holds of those is not
/// looked at. `None`: they are needed.
pub fn decide_unasked(world: &World, memory: &Memory) -> Option<Decision> {
    let managed = &world.managed;
    if managed.deletion.is_some() && !managed.held() {
        return Some(Decision::Rest(Rest::NEVER));
    }
    if let Some(decision) = super::report::publish_what_comes_once(world, memory) {
        return Some(decision);
    }
    if !world.may_act {
        return Some(Decision::Rest(Rest::NEVER));
    }
    if managed.paused() {
        let message =
            "Reconciliation is paused either through the `spec.managementPolicies` or the pause annotation";
        let report = Report {
            event: Some(Event::normal("ReconciliationPaused", message)),
            operation: managed.status.progress.operation.clone(),
            question: managed.status.progress.question.clone(),
            ..Report::failed("ReconcilePaused", "")
        };
        return Some(report.conclude(world, memory, Rest::NEVER));
    }
    // What is not to be deleted needs the config for anything more.
    managed.deletion?;
    if let Some(decision) = leave(world, memory) {
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
    Some(report.deleting().conclude(world, memory, Rest::NEVER))
}

/// Looks at what is known and returns one thing to do.
pub fn decide(world: &World, memory: &Memory) -> Decision {
    if let Some(decision) = decide_unasked(world, memory) {
        return decision;
    }
    let managed = &world.managed;
    let stored = managed.record();
    let record = match &*stored {
        Stored::Ours(record) => Some((**record).clone()),
        Stored::None | Stored::Unreadable(_) => None,
    };
    let wish = match (&world.wish, managed.deletion) {
        (Ok(wish), _) => Arc::clone(wish),
        // A Delete needs no secrets, and must not wait for one that is gone.
        (Err(_), Some(_)) => bare(world),
        (Err(problem), None) => return without_secrets(world, memory, record, problem),
    };
    let pass = Pass {
        world,
        memory,
        record,
        wish,
    };
    if let Stored::Unreadable(why) = &*stored {
        return pass.stop(
            "RecordUnreadable",
            format!("the annotation {} cannot be read ({why}); restore it, or remove it together with {} if nothing was created", names::RECORD, names::CREATE_PENDING),
        );
    }
    if let Some(decision) = stops_before_any_call(&pass) {
        return decision;
    }
    if let Err(problem) = &world.config {
        return trouble_outside(world, memory, problem, None);
    }
    // Before a hold: it is one call, and nobody would know what became of it.
    if let Some(decision) = super::create::send_what_was_just_recorded(&pass) {
        return decision;
    }
    if let Some(hold) = &world.hold {
        return wait_for_the_hold(world, memory, hold);
    }
    if let Some(trouble) = memory.held_back(world) {
        let report = super::operate::with_operation(&pass, Report::of_trouble(Some(trouble)));
        let report = if pass.deleting() {
            report.deleting()
        } else {
            unmade(&pass, report)
        };
        return pass.wait(report, trouble.until, Purpose::Retry);
    }
    if let Some(decision) = super::operate::follow(&pass) {
        return decision;
    }
    if pass
        .record
        .as_ref()
        .is_some_and(|record| record.create().is_some() && !rules::confirmed(world, record))
    {
        return super::recover::recover(&pass);
    }
    if pass.deleting() {
        return super::remove::remove(&pass);
    }
    super::steady::steady(&pass)
}

fn bare(world: &World) -> Arc<Wish> {
    Arc::new(Wish {
        parameters: world.bare.clone(),
        digest: String::new(),
        sensitive: crate::external::Secrets::default(),
        sensitive_digest: String::new(),
    })
}

/// The wish cannot be read whole: what goes on by itself is followed all the same, and nothing else is done.
fn without_secrets(world: &World, memory: &Memory, record: Option<Record>, problem: &Problem) -> Decision {
    let pass = Pass {
        world,
        memory,
        record,
        wish: bare(world),
    };
    let open = world.config.is_ok() && world.hold.is_none() && memory.held_back(world).is_none();
    if let Some(poll) = super::operate::follow_by_itself(&pass).filter(|_| open) {
        return poll;
    }
    let next = memory.next_poll.filter(|next| *next > world.now);
    trouble_outside(world, memory, problem, next)
}

/// Before the resource is there, Ready says `Creating`.
pub(super) fn unmade(pass: &Pass, report: Report) -> Report {
    let made = pass
        .record
        .as_ref()
        .is_some_and(|record| rules::confirmed(pass.world, record));
    if made { report } else { report.creating() }
}

/// The policy, or a person, lets the object go without its resource.
fn leave(world: &World, memory: &Memory) -> Option<Decision> {
    let managed = &world.managed;
    let stored = managed.record();
    let (record, unreadable) = match &*stored {
        Stored::Ours(record) => (Some(&**record), false),
        Stored::None => (None, false),
        Stored::Unreadable(_) => (None, true),
    };
    if !rules::is_to_be_left(world) {
        return None;
    }
    let busy = |record: &Record| {
        let unrecorded = rules::unrecorded_delete_may_run_until(world, record, memory);
        rules::may_still_run_until(world, record, memory).max(unrecorded)
    };
    // The finalizer goes only when no recorded call can execute, whatever lets the object go (trace 38).
    if let Some(over) = record.and_then(busy) {
        let report = Report {
            operation: managed.status.progress.operation.clone(),
            question: managed.status.progress.question.clone(),
            ..Report::synced().blocked(super::remove::BUSY)
        };
        let rest = Rest {
            wake: Some(over),
            purpose: Purpose::Operation,
        };
        return Some(report.conclude(world, memory, rest));
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
    } else if !world.kind.capabilities.can_delete {
        "the kind cannot be deleted"
    } else {
        "managementPolicies or deletionPolicy do not include Delete"
    };
    Some(Decision::Act(Action::Release(
        may_exist.then(|| left_behind(world, name, why)),
    )))
}

/// Whoever has changed something is told, once. Those at rest only wait, or a thousand of them would write twice for each hold.
fn wait_for_the_hold(world: &World, memory: &Memory, hold: &Hold) -> Decision {
    let left = std::time::Duration::try_from(hold.until.duration_since(world.now)).unwrap_or_default();
    // Not all at the same moment.
    let wake = hold.until + (left / 4).mul_f64(world.fresh.jitter.clamp(0.0, 1.0));
    let told = world
        .managed
        .condition(SYNCED)
        .is_some_and(|synced| synced.observed_generation == world.managed.generation);
    if told {
        return Decision::Rest(Rest {
            wake: Some(wake),
            purpose: Purpose::Retry,
        });
    }
    trouble_outside(world, memory, &hold.problem, Some(wake))
}

/// Something outside the object is in the way: no plugin call, but the conditions say so.
fn trouble_outside(
    world: &World,
    memory: &Memory,
    problem: &Problem,
    until: Option<jiff::Timestamp>,
) -> Decision {
    let message = format!("{}: {}", problem.reason, problem.message);
    let report = Report {
        event: Some(Event::warning("CannotConnectToProvider", &message)),
        operation: world.managed.status.progress.operation.clone(),
        question: world.managed.status.progress.question.clone(),
        ..Report::failed("ReconcileError", format!("connect failed: {message}"))
    }
    .towards(world);
    // What is in the way is watched; the slow retry is for what cannot be.
    let wake = until.unwrap_or(world.now + std::time::Duration::from_mins(1));
    report.conclude(
        world,
        memory,
        Rest {
            wake: Some(wake),
            purpose: Purpose::Retry,
        },
    )
}

/// Stops that no look could help.
fn stops_before_any_call(pass: &Pass) -> Option<Decision> {
    let world = pass.world;
    let managed = &world.managed;
    let open = pass
        .record
        .as_ref()
        .is_some_and(|record| record.create().is_some());
    match &pass.record {
        _ if !open && world.cloud_named() && foreign_create_is_pending(world) => Some(pass.stop(
            "CreateOutcomeUnknown",
            format!("cannot determine creation result - remove the {} annotation if it is safe to proceed", names::CREATE_PENDING),
        )),
        Some(record) if !pass.deleting() && rules::name_was_changed(world, record) => Some(pass.stop(
            "ExternalNameChanged",
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
fn foreign_create_is_pending(world: &World) -> bool {
    let time = |key| world.managed.annotation(key).parse::<jiff::Timestamp>().ok();
    let ended = time(names::CREATE_SUCCEEDED).max(time(names::CREATE_FAILED));
    time(names::CREATE_PENDING).is_some_and(|pending| ended.is_none_or(|ended| pending > ended))
}

/// The conditions of a resource that is there.
pub(super) fn readiness(pass: &Pass) -> Option<Says> {
    let Some(Found::There(observation)) = pass.memory.looked.as_ref().map(|looked| &looked.found) else {
        return None;
    };
    let replaced = pass
        .record
        .as_ref()
        .is_some_and(|record| super::replacement::has_begun(pass.world, record, observation));
    Some(if observation.deleting && replaced {
        Says::no(
            "Deleting",
            "it is being deleted, so that another one takes its place",
        )
    } else if observation.deleting {
        Says::no(
            "Deleting",
            "it is being removed upstream, though nobody here asked for it",
        )
    } else if observation.ready {
        Says::yes("Available")
    } else {
        Says::no("Unavailable", observation.ready_message.clone())
    })
}

/// No annotations beside the record.
pub(super) fn nothing_else() -> BTreeMap<String, Option<String>> {
    BTreeMap::new()
}
