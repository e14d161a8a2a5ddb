//! Deletes the resource, as its owner and as another one, and creates it again.

use crossbridge_types::{DiffMode, NameSource, ObserveResult, OutcomeResult};

use super::{
    assertions::{
        ABSENT_AFTER_DELETE, DELETE_IDEMPOTENT, DELETED, FOREIGN_NOT_DELETED, FORMER_DELETED, NO_OBSERVATION,
        OLD_HANDLES, RECREATED, TERMINAL_RESPONSE_STABLE, UPDATE_CREATES_NONE,
    },
    handles, judge,
};
use crate::{
    client::describe,
    kind_context::{KindContext, TestResource, new_marker, outcome_of},
    suites::kind::observe::is_absent,
    verdict::Stop,
};

/// How often nothing is deleted.
const DELETIONS: usize = 10;

/// Removes it, more than once, and creates it again.
pub(super) async fn run(ctx: &KindContext, resource: &mut TestResource) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    if !ctx.kind.capabilities.can_delete {
        return Err(Stop::not_applicable("the kind cannot be deleted"));
    }
    foreign_delete(ctx, resource).await?;
    let request = resource.delete();
    let trace = ctx.delete(resource, request).await?;
    run_ctx.judge(DELETED, judge::completed(&trace, "Delete"));
    trace.completed("Delete")?;
    handles::course(ctx, &trace);
    run_ctx.judge(NO_OBSERVATION, judge::has_no_observation(&trace));
    let is_absent = ctx.is_eventually_absent(resource).await?;
    run_ctx.judge(ABSENT_AFTER_DELETE, judge::is_absent_after_delete(is_absent));
    if !is_absent {
        return Err(Stop::blocked("it still exists after Delete"));
    }
    run_ctx.registry.remove(resource);
    for handle in trace.handles() {
        let response = run_ctx
            .client
            .poll_operation(resource.poll(handle), ctx.options())
            .await;
        // What it answers is the next one's.
        let known = response.as_ref().map(drop);
        run_ctx.judge(
            OLD_HANDLES,
            known.map_err(|status| format!("the poll ended in {}", describe(status))),
        );
        run_ctx.judge(
            TERMINAL_RESPONSE_STABLE,
            judge::same_terminal_response(&trace, response),
        );
    }
    for _ in 0..DELETIONS {
        let mut request = resource.delete();
        request.desired = None;
        let trace = ctx.delete(resource, request).await?;
        run_ctx.judge(DELETE_IDEMPOTENT, judge::delete_was_idempotent(&trace));
    }
    if ctx.kind.capabilities.can_update {
        let response = run_ctx.client.update(resource.update(), ctx.options()).await;
        let outcome = outcome_of("Update", response)?;
        let observation = ctx.observe(resource).await?;
        run_ctx.judge(
            UPDATE_CREATES_NONE,
            judge::update_created_none(&outcome, &observation),
        );
    } else {
        run_ctx.not_applicable(UPDATE_CREATES_NONE, "the kind cannot be updated");
    }
    recreate(ctx, resource).await
}

async fn foreign_delete(ctx: &KindContext, resource: &mut TestResource) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    if !ctx.kind.capabilities.holds_marker {
        run_ctx.not_applicable(FOREIGN_NOT_DELETED, "the kind holds no marker");
        return Ok(());
    }
    let before = ctx.expect_exists(resource).await?;
    let stranger = resource.clone().with_marker(&new_marker());
    let outcome = outcome_of(
        "Delete",
        run_ctx.client.delete(stranger.delete(), ctx.options()).await,
    )?;
    let observation = ctx.observe(resource).await?;
    let judgement = match observation {
        ObserveResult::Found(after) => judge::not_modified(&outcome, &before, &after),
        other => is_absent(&other).and(Err("another's resource was deleted".to_owned())),
    };
    run_ctx.judge(FOREIGN_NOT_DELETED, judgement);
    Ok(())
}

/// The same name, another creation.
async fn recreate(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    let mut again = ctx.resource()?;
    if ctx.kind.external_name.source == NameSource::User {
        again = again.with_name(resource.name());
    }
    let outcome = ctx.create_once(&mut again, false).await?;
    let trace = ctx.follow(&mut again, outcome, ctx.kind.timeouts.create).await?;
    let created = judge::completed(&trace, "Create");
    ctx.run_ctx.judge(RECREATED, created.clone());
    if created.is_ok() && ctx.kind.capabilities.diff_mode == DiffMode::Bridge {
        ctx.expect_exists(&again).await?;
    }
    if let Some(OutcomeResult::Failure(failure)) = trace.last().map(|outcome| &outcome.result) {
        return Err(Stop::blocked(failure.message.clone()));
    }
    former_marker(ctx, &again).await?;
    ctx.remove(&again).await
}

/// After a restore: the marker on it was ours.
async fn former_marker(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    if !ctx.kind.capabilities.holds_marker {
        ctx.run_ctx
            .not_applicable(FORMER_DELETED, "the kind holds no marker");
        return Ok(());
    }
    let with_restored_marker = resource.clone().with_restored_marker(&new_marker());
    let response = ctx
        .run_ctx
        .client
        .delete(with_restored_marker.delete(), ctx.options())
        .await;
    let outcome = outcome_of("Delete", response)?;
    let accepted = match &outcome.result {
        OutcomeResult::Failure(failure) => Err(format!(
            "Delete failed: {:?} {}: {}",
            failure.code, failure.reason, failure.message
        )),
        _ => Ok(()),
    };
    ctx.run_ctx.judge(FORMER_DELETED, accepted);
    ctx.follow(&mut resource.clone(), outcome, ctx.kind.timeouts.delete)
        .await
        .map(drop)
}
