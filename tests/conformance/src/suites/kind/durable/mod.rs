//! What must survive the plugin's processes.

mod handles;
mod killed;

use crossbridge_types::CreateRecovery;
use handles::{Begun, ask_again, begin, follow_elsewhere};

use crate::{
    assertion::{Assertion, assertions},
    client::Client,
    kind_context::{KindContext, TestResource},
    suite::Suite,
    suites::kind::{
        lifecycle::{CREATED, DELETED, UPDATED, completed, exists, matches_desired},
        repeat::token_honored,
    },
    suites::plugin::kinds::{judge_elsewhere, snapshot},
    verdict::{Judgement, Stop, holds},
};

assertions! {
    KILLED = "durable/killed-in-create-one-resource", Durable, "CreateRequest.outcome_unknown",
        "A plugin that is killed inside Create and restarted ends with one resource when Create is repeated.",
        "Make each step findable by token, name or marker before it is begun; keep no state in the process.";
    FOUND = "durable/found-after-kill", Durable, "plugin_service.proto",
        "What was created is observed, updated and deleted by a new process.",
        "Keep nothing between calls that the next one needs.";
    TOKEN = "durable/token-after-kill", Durable, "CreateRecovery.CREATE_RECOVERY_CLIENT_TOKEN",
        "A token is honored by a new process.",
        "Hand the token to the upstream, or store it beside the resource, before the effect.";
    HANDLE_AFTER_KILL = "durable/handle-after-kill", Durable, "Operation.handle",
        "An operation is followed by a new process, by its handle alone.",
        "Put into the handle what is needed to query the upstream; no key into a map of this process.";
    HANDLE_ON_REPLICA = "durable/handle-on-replica", Durable, "Operation.handle",
        "An operation is followed by another replica.",
        "The handle is self-contained: no host name, no local file.";
    HANDLE_ON_NEXT = "durable/handle-on-next-build", Durable, "Operation.handle",
        "An operation is followed by the next build of the plugin.",
        "Give handles a version, and continue to accept the former ones.";
    REPLICA = "durable/visible-to-replica", Durable, "plugin_service.proto",
        "What one replica created is observed and deleted by another.",
        "Keep nothing between calls that the next one needs.";
}

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| Box::pin(run(ctx)),
};

async fn run(ctx: &KindContext) -> Result<(), Stop> {
    if !ctx.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    if ctx.run_ctx.has_failed(CREATED) {
        return Err(Stop::blocked("a creation does not complete even without that"));
    }
    unless(ctx, &[HANDLE_ON_REPLICA, REPLICA], on_replica(ctx).await);
    unless(ctx, &[HANDLE_AFTER_KILL, FOUND, TOKEN], after_kill(ctx).await);
    unless(ctx, &[HANDLE_ON_NEXT], on_next_build(ctx).await);
    killed::killed_inside(ctx).await
}

/// What was not possible is noted, and the suite goes on.
fn unless(ctx: &KindContext, assertions: &[&'static Assertion], ended: Result<(), Stop>) {
    let Err(stop) = ended else { return };
    for assertion in assertions {
        if ctx
            .run_ctx
            .verdict_log
            .verdict(assertion, ctx.run_ctx.subject())
            .is_none()
        {
            ctx.run_ctx.note(assertion, stop.clone().into());
        }
    }
}

/// The resource whose creation was begun; the others are deleted first.
async fn created(ctx: &KindContext, all: Vec<Begun>) -> Result<TestResource, Stop> {
    let mut resources = all.into_iter().map(|begun| begun.resource).rev();
    let created = resources
        .next()
        .ok_or_else(|| Stop::blocked("nothing was begun"))?;
    for other in resources {
        ctx.remove(&other).await?;
    }
    Ok(created)
}

/// Removes it through this process control; what resists is removed by the usual ones, later.
async fn removed(ctx: &KindContext, resource: &mut TestResource) -> Result<Judgement, Stop> {
    if !ctx.kind.capabilities.can_delete || ctx.run_ctx.has_failed(DELETED) {
        return Ok(Ok(()));
    }
    let request = resource.delete();
    let deleted = completed(&ctx.delete(resource, request).await?, "Delete");
    if deleted.is_err() {
        return Ok(deleted);
    }
    let is_absent = ctx.is_eventually_absent(resource).await?;
    if is_absent {
        ctx.run_ctx.registry.remove(resource);
    }
    Ok(holds(is_absent, || {
        "it was not removed, though Delete was completed".to_owned()
    }))
}

/// Changes it through this process control.
async fn updated(ctx: &KindContext, resource: &mut TestResource) -> Result<Judgement, Stop> {
    let Some(desired) = &ctx.example.update_parameters else {
        return Ok(Ok(()));
    };
    if !ctx.kind.capabilities.can_update || ctx.run_ctx.has_failed(UPDATED) {
        return Ok(Ok(()));
    }
    *resource = resource.clone().with_parameters(desired);
    let request = resource.update();
    let done = completed(&ctx.update(resource, request).await?, "Update");
    if done.is_err() {
        return Ok(done);
    }
    let seen = ctx.expect_exists(resource).await?;
    Ok(matches_desired(&ctx.kind, desired, &seen))
}

async fn after_kill(ctx: &KindContext) -> Result<(), Stop> {
    ctx.run_ctx.process_control.can_restart()?;
    let channel = ctx.run_ctx.client.channel();
    let mut all = begin(ctx).await?;
    ctx.run_ctx.process_control.restart(&channel).await?;
    let ends = follow_elsewhere(ctx, HANDLE_AFTER_KILL, &mut all).await?;
    ctx.run_ctx.process_control.restart(&channel).await?;
    ask_again(ctx, &ends).await;
    let mut resource = created(ctx, all).await?;
    let seen = ctx.find(&resource).await?;
    let found = exists(seen.as_ref());
    ctx.run_ctx.judge(FOUND, found.clone());
    if ctx.recovers_by(CreateRecovery::ClientToken) {
        let mut repeat = resource.clone();
        let outcome = ctx.create_once(&mut repeat, true).await?;
        ctx.run_ctx.judge(TOKEN, token_honored(&outcome, resource.name()));
        if outcome.external_name != resource.name() {
            repeat.token = uuid::Uuid::new_v4().to_string();
            repeat.target.external_name.clone_from(&outcome.external_name);
            ctx.run_ctx.registry.add(&repeat);
            ctx.run_ctx.registry.add(&resource);
        }
    } else {
        ctx.run_ctx
            .not_applicable(TOKEN, "the kind has no CLIENT_TOKEN recovery");
    }
    if found.is_ok() {
        let changed = worked(updated(ctx, &mut resource).await);
        ctx.run_ctx.judge(FOUND, changed);
        let deleted = worked(removed(ctx, &mut resource).await);
        ctx.run_ctx.judge(FOUND, deleted);
    }
    ctx.remove(&resource).await
}

/// A step that could not be taken at all does not hold either: it could, by the process that created the resource.
fn worked(judged: Result<Judgement, Stop>) -> Judgement {
    judged.unwrap_or_else(|stop| Err(stop.to_string()))
}

async fn on_replica(ctx: &KindContext) -> Result<(), Stop> {
    let replica = ctx.run_ctx.process_control.replica().await?;
    let mut other = ctx.clone();
    other.run_ctx.client = Client::over(&ctx.run_ctx.client, replica.channel.clone());
    let mut all = begin(ctx).await?;
    let ends = follow_elsewhere(&other, HANDLE_ON_REPLICA, &mut all).await?;
    ask_again(ctx, &ends).await;
    let mut resource = created(ctx, all).await?;
    let seen = other.find(&resource).await?;
    let found = exists(seen.as_ref());
    ctx.run_ctx.judge(REPLICA, found.clone());
    if found.is_ok() {
        ctx.run_ctx
            .judge(REPLICA, worked(removed(&other, &mut resource).await));
    }
    ctx.remove(&resource).await
}

async fn on_next_build(ctx: &KindContext) -> Result<(), Stop> {
    ctx.run_ctx.process_control.can_upgrade()?;
    if ctx.run_ctx.has_failed(HANDLE_AFTER_KILL) {
        return Err(Stop::blocked(
            "a new process of the same build does not follow it either",
        ));
    }
    let mut all = begin(ctx).await?;
    let channel = ctx.run_ctx.client.channel();
    let is_due = all.iter().any(|begun| begun.handle().is_some());
    let plugin = ctx.run_ctx.for_plugin();
    let kinds = snapshot(&plugin).await;
    let upgraded = if is_due {
        ctx.run_ctx.process_control.upgrade(&channel).await
    } else {
        Ok(())
    };
    let followed = match upgraded {
        Ok(()) => follow_elsewhere(ctx, HANDLE_ON_NEXT, &mut all).await,
        Err(stop) => Err(stop),
    };
    if is_due {
        if let Ok(before) = &kinds {
            judge_elsewhere(&plugin, before, "the next build").await;
        }
        ctx.run_ctx.process_control.downgrade(&channel).await?;
    }
    followed?;
    let resource = created(ctx, all).await?;
    ctx.remove(&resource).await
}
