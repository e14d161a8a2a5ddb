//! Updates the resource: with effect, without, with a stale etag, as another owner.

use crossbridge_types::Observation;

use super::{
    assertions::{
        BIG_INTEGERS, FOREIGN_NOT_UPDATED, FORMER, NO_OP, READ_ONLY, STALE_DELETE, STALE_ETAG,
        UPDATE_MATCHES_DESIRED, UPDATED,
    },
    handles, judge,
};
use uuid::Uuid;

use crate::{
    fixtures::desired_state,
    kind_context::{KindContext, TestResource, new_marker, outcome_of},
    verdict::Stop,
};

/// Updates it: to what it is, to something else, and as another actor.
pub(super) async fn run(
    ctx: &KindContext,
    resource: &mut TestResource,
    before: Observation,
) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    if !ctx.kind.capabilities.can_update {
        for assertion in [
            FORMER,
            NO_OP,
            UPDATED,
            UPDATE_MATCHES_DESIRED,
            STALE_ETAG,
            STALE_DELETE,
            FOREIGN_NOT_UPDATED,
        ] {
            run_ctx.not_applicable(assertion, "the kind cannot be updated");
        }
        return Ok(());
    }
    let request = resource.update();
    let trace = ctx.update(resource, request).await?;
    let after = ctx.expect_exists(resource).await?;
    run_ctx.judge(NO_OP, judge::no_op(&trace, &before, &after));
    foreign_update(ctx, resource, &after).await?;
    former_marker(ctx, resource, &after).await?;
    let after = ctx.expect_exists(resource).await?;
    let Some(desired) = ctx.example.update_parameters.clone() else {
        for assertion in [UPDATED, UPDATE_MATCHES_DESIRED, STALE_ETAG, STALE_DELETE] {
            run_ctx.not_applicable(assertion, "the example has no update_parameters");
        }
        return Ok(());
    };
    let mut wanted = resource.clone().with_parameters(&desired);
    let mut request = wanted.update();
    request.etag.clone_from(&after.etag);
    let trace = ctx.update(&mut wanted, request).await?;
    run_ctx.judge(UPDATED, judge::completed(&trace, "Update"));
    trace.completed("Update")?;
    handles::course(ctx, &trace);
    let updated = ctx.expect_exists(&wanted).await?;
    run_ctx.judge(
        UPDATE_MATCHES_DESIRED,
        judge::matches_desired(&ctx.kind, &desired, &updated),
    );
    let former = ctx.example.create_parameters.clone().unwrap_or_default();
    let shows = judge::update_shows(&ctx.kind, (&former, &desired), (&after, &updated));
    run_ctx.judge(UPDATE_MATCHES_DESIRED, shows);
    if let Some(judgement) = judge::big_integers(&desired, &updated) {
        run_ctx.judge(BIG_INTEGERS, judgement);
    }
    // With the former desired state.
    let elsewhere = ctx.expect_exists(resource).await?;
    run_ctx.judge(
        READ_ONLY,
        judge::same_with_other_desired(&ctx.kind, &desired, &updated, &elsewhere),
    );
    handles::old(ctx, &wanted, &trace).await;
    stale_etag(ctx, resource, &after.etag, &updated.etag).await?;
    resource.desired = wanted.desired;
    run_ctx.registry.add(resource);
    if run_ctx.has_failed(STALE_DELETE) && ctx.find(resource).await?.is_none() {
        // That Delete has removed it: what comes next is judged of another one.
        return created_again(ctx, resource).await;
    }
    Ok(())
}

/// The same, once more.
async fn created_again(ctx: &KindContext, resource: &mut TestResource) -> Result<(), Stop> {
    ctx.run_ctx.registry.remove(resource);
    resource.token = Uuid::new_v4().to_string();
    resource.target.external_name.clone_from(&resource.given_name);
    resource.target.provider_state.clear();
    ctx.create_to_completion(resource).await.map(drop)
}

/// By an etag that an update has changed.
async fn stale_etag(
    ctx: &KindContext,
    resource: &TestResource,
    former: &str,
    current: &str,
) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    if former.is_empty() || former == current {
        for assertion in [STALE_ETAG, STALE_DELETE] {
            run_ctx.not_applicable(assertion, "the kind has no etag that an update changes");
        }
        return Ok(());
    }
    let mut stale = resource.update();
    former.clone_into(&mut stale.etag);
    let outcome = outcome_of("Update", run_ctx.client.update(stale, ctx.options()).await)?;
    run_ctx.judge(STALE_ETAG, judge::conflict(&outcome));
    if ctx.kind.capabilities.can_delete {
        let mut stale = resource.delete();
        former.clone_into(&mut stale.etag);
        let outcome = outcome_of("Delete", run_ctx.client.delete(stale, ctx.options()).await)?;
        let observation = ctx.observe(resource).await?;
        let kept = judge::found_as(&observation, resource.name());
        run_ctx.judge(STALE_DELETE, judge::conflict(&outcome).and(kept));
    }
    Ok(())
}

/// After a restore: another marker is ours, and a person has said that the one on it was.
async fn former_marker(
    ctx: &KindContext,
    resource: &mut TestResource,
    before: &Observation,
) -> Result<(), Stop> {
    if !ctx.kind.capabilities.holds_marker {
        ctx.run_ctx.not_applicable(FORMER, "the kind holds no marker");
        return Ok(());
    }
    if before.found_marker != resource.marker() {
        // That has an assertion of its own.
        return Ok(());
    }
    let mut with_restored_marker = resource.clone().with_restored_marker(&new_marker());
    let request = with_restored_marker.update();
    let trace = ctx.update(&mut with_restored_marker, request).await?;
    let after = ctx.expect_exists(&with_restored_marker).await?;
    let accepted = judge::completed(&trace, "Update");
    let judgement = accepted.and(judge::marker_kept(&after, with_restored_marker.marker()));
    if after.found_marker == with_restored_marker.marker() {
        with_restored_marker.target.former_marker.clear();
        *resource = with_restored_marker;
        ctx.run_ctx.registry.add(resource);
    }
    ctx.run_ctx.judge(FORMER, judgement);
    Ok(())
}

/// Under a marker that is not on it.
async fn foreign_update(
    ctx: &KindContext,
    resource: &TestResource,
    before: &Observation,
) -> Result<(), Stop> {
    if !ctx.kind.capabilities.holds_marker {
        ctx.run_ctx
            .not_applicable(FOREIGN_NOT_UPDATED, "the kind holds no marker");
        return Ok(());
    }
    let desired = ctx
        .example
        .update_parameters
        .clone()
        .or_else(|| ctx.example.create_parameters.clone())
        .unwrap_or_default();
    let mut stranger = resource.clone().with_marker(&new_marker());
    stranger.desired = desired_state(&desired, &ctx.sensitive_values());
    stranger = stranger.with_parameters(&desired);
    let outcome = outcome_of(
        "Update",
        ctx.run_ctx.client.update(stranger.update(), ctx.options()).await,
    )?;
    let after = ctx.expect_exists(resource).await?;
    ctx.run_ctx
        .judge(FOREIGN_NOT_UPDATED, judge::not_modified(&outcome, before, &after));
    Ok(())
}
