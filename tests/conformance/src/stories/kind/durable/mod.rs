//! What must survive the plugin's processes.

mod handles;
mod killed;

use crossbridge_types::CreateRecovery;
use handles::{Begun, ask_again, begin, follow_elsewhere};

use crate::{
    assertion::{Assertion, assertions},
    client::Client,
    lab::{Lab, Thing},
    stories::kind::{
        life::{CREATED, DELETED, UPDATED, completed, exists, wish_came_back},
        repeat::honoured,
    },
    stories::plugin::kinds::{judge_elsewhere, snapshot},
    story::Story,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    KILLED = "durable/killed-in-create-one-resource", Durable, "CreateRequest.outcome_unknown",
        "A plugin that is killed inside Create, started again and asked again, ends with one resource.",
        "Make each step findable by token, name or marker before it is begun; remember nothing in the process.";
    FOUND = "durable/found-after-kill", Durable, "plugin_service.proto",
        "What was made is found, updated and removed by a new process.",
        "Keep nothing between calls that the next one cannot do without.";
    TOKEN = "durable/token-after-kill", Durable, "CreateRecovery.CREATE_RECOVERY_CLIENT_TOKEN",
        "A token is honoured by a new process.",
        "Hand the token to the upstream, or store it beside the resource, before the effect.";
    HANDLE_AFTER_KILL = "durable/handle-after-kill", Durable, "Operation.handle",
        "An operation is followed by a new process, by its handle alone.",
        "Put into the handle what is needed to ask the upstream; no key into a map of this process.";
    HANDLE_ON_REPLICA = "durable/handle-on-replica", Durable, "Operation.handle",
        "An operation is followed by another replica.",
        "The handle is self-contained: no host name, no local file.";
    HANDLE_ON_NEXT = "durable/handle-on-next-build", Durable, "Operation.handle",
        "An operation is followed by the next build of the plugin.",
        "Give handles a version, and go on reading the former ones.";
    REPLICA = "durable/seen-by-replica", Durable, "plugin_service.proto",
        "What one replica made is found and removed by another.",
        "Keep nothing between calls that the next one cannot do without.";
}

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    if !lab.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    if lab.bench.has_failed(CREATED) {
        return Err(Stop::blocked("a creation does not complete even without that"));
    }
    unless(lab, &[HANDLE_ON_REPLICA, REPLICA], on_replica(lab).await);
    unless(lab, &[HANDLE_AFTER_KILL, FOUND, TOKEN], after_kill(lab).await);
    unless(lab, &[HANDLE_ON_NEXT], on_next_build(lab).await);
    killed::killed_inside(lab).await
}

/// What was not possible is noted, and the story goes on.
fn unless(lab: &Lab, assertions: &[&'static Assertion], ended: Result<(), Stop>) {
    let Err(stop) = ended else { return };
    for assertion in assertions {
        if lab.bench.book.verdict(assertion, lab.bench.subject()).is_none() {
            lab.bench.note(assertion, stop.clone().into());
        }
    }
}

/// The one whose creation was begun, once the others are removed.
async fn created(lab: &Lab, all: Vec<Begun>) -> Result<Thing, Stop> {
    let mut things = all.into_iter().map(|begun| begun.thing).rev();
    let created = things.next().ok_or_else(|| Stop::blocked("nothing was begun"))?;
    for other in things {
        lab.remove(&other).await?;
    }
    Ok(created)
}

/// Removes it through these hands; what resists is removed by the usual ones, later.
async fn removed(lab: &Lab, thing: &mut Thing) -> Result<Judgement, Stop> {
    if !lab.kind.capabilities.can_delete || lab.bench.has_failed(DELETED) {
        return Ok(Ok(()));
    }
    let request = thing.delete();
    let deleted = completed(&lab.delete(thing, request).await?, "Delete");
    if deleted.is_err() {
        return Ok(deleted);
    }
    let is_gone = lab.becomes_absent(thing).await?;
    if is_gone {
        lab.bench.registry.strike(thing);
    }
    Ok(holds(is_gone, || {
        "it was not removed, though Delete was completed".to_owned()
    }))
}

/// Changes it through these hands.
async fn updated(lab: &Lab, thing: &mut Thing) -> Result<Judgement, Stop> {
    let Some(wish) = &lab.example.update_parameters else {
        return Ok(Ok(()));
    };
    if !lab.kind.capabilities.can_update || lab.bench.has_failed(UPDATED) {
        return Ok(Ok(()));
    }
    *thing = thing.clone().with_parameters(wish);
    let request = thing.update();
    let done = completed(&lab.update(thing, request).await?, "Update");
    if done.is_err() {
        return Ok(done);
    }
    let seen = lab.found(thing).await?;
    Ok(wish_came_back(&lab.kind, wish, &seen))
}

async fn after_kill(lab: &Lab) -> Result<(), Stop> {
    lab.bench.hands.can_restart()?;
    let channel = lab.bench.client.channel();
    let mut all = begin(lab).await?;
    lab.bench.hands.restart(&channel).await?;
    let ends = follow_elsewhere(lab, HANDLE_AFTER_KILL, &mut all).await?;
    lab.bench.hands.restart(&channel).await?;
    ask_again(lab, &ends).await;
    let mut thing = created(lab, all).await?;
    let seen = lab.presence(&thing).await?;
    let found = exists(seen.as_ref());
    lab.bench.judge(FOUND, found.clone());
    if lab.recovers_by(CreateRecovery::ClientToken) {
        let mut repeat = thing.clone();
        let outcome = lab.create_once(&mut repeat, true).await?;
        lab.bench.judge(TOKEN, honoured(&outcome, thing.name()));
        if outcome.external_name != thing.name() {
            repeat.token = uuid::Uuid::new_v4().to_string();
            repeat.target.external_name.clone_from(&outcome.external_name);
            lab.bench.registry.enter(&repeat);
            lab.bench.registry.enter(&thing);
        }
    } else {
        lab.bench
            .not_applicable(TOKEN, "the kind has no CLIENT_TOKEN recovery");
    }
    if found.is_ok() {
        let changed = worked(updated(lab, &mut thing).await);
        lab.bench.judge(FOUND, changed);
        let gone = worked(removed(lab, &mut thing).await);
        lab.bench.judge(FOUND, gone);
    }
    lab.remove(&thing).await
}

/// A step that could not be taken at all does not hold either: it could, by the process that made the thing.
fn worked(judged: Result<Judgement, Stop>) -> Judgement {
    judged.unwrap_or_else(|stop| Err(stop.to_string()))
}

async fn on_replica(lab: &Lab) -> Result<(), Stop> {
    let replica = lab.bench.hands.replica().await?;
    let mut other = lab.clone();
    other.bench.client = Client::over(&lab.bench.client, replica.channel.clone());
    let mut all = begin(lab).await?;
    let ends = follow_elsewhere(&other, HANDLE_ON_REPLICA, &mut all).await?;
    ask_again(lab, &ends).await;
    let mut thing = created(lab, all).await?;
    let seen = other.presence(&thing).await?;
    let found = exists(seen.as_ref());
    lab.bench.judge(REPLICA, found.clone());
    if found.is_ok() {
        lab.bench
            .judge(REPLICA, worked(removed(&other, &mut thing).await));
    }
    lab.remove(&thing).await
}

async fn on_next_build(lab: &Lab) -> Result<(), Stop> {
    lab.bench.hands.can_upgrade()?;
    if lab.bench.has_failed(HANDLE_AFTER_KILL) {
        return Err(Stop::blocked(
            "a new process of the same build does not follow it either",
        ));
    }
    let mut all = begin(lab).await?;
    let channel = lab.bench.client.channel();
    let is_due = all.iter().any(|begun| begun.handle().is_some());
    let plugin = lab.bench.watching_plugin();
    let kinds = snapshot(&plugin).await;
    let upgraded = if is_due {
        lab.bench.hands.upgrade(&channel).await
    } else {
        Ok(())
    };
    let followed = match upgraded {
        Ok(()) => follow_elsewhere(lab, HANDLE_ON_NEXT, &mut all).await,
        Err(stop) => Err(stop),
    };
    if is_due {
        if let Ok(before) = &kinds {
            judge_elsewhere(&plugin, before, "the next build").await;
        }
        lab.bench.hands.downgrade(&channel).await?;
    }
    followed?;
    let thing = created(lab, all).await?;
    lab.remove(&thing).await
}
