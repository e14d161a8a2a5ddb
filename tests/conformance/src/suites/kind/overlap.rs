//! A call while an operation runs, where the kind reports that it takes one.

use crossbridge_types::{Outcome, OutcomeResult};

use crate::{
    assertion::{Assertion, assertions},
    kind_context::{KindContext, TestResource, outcome_of},
    suite::Suite,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    DELETED = "delete/during-create-accepted", Core, "KindCapabilities.delete_during_create",
        "Where the kind declares it, Delete is accepted while Create runs, and leaves nothing.",
        "Cancel the creation or let it end and remove what it created; else leave delete_during_create out.";
    UPDATED = "update/during-operation-accepted", Core, "KindCapabilities.concurrent_update",
        "Where the kind declares it, Update is accepted while another operation runs.",
        "Begin it, or return an operation that waits; else leave concurrent_update out.";
}

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| Box::pin(run(ctx)),
};

async fn run(ctx: &KindContext) -> Result<(), Stop> {
    let can = &ctx.kind.capabilities;
    if !can.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    if can.can_delete && can.delete_during_create {
        delete(ctx).await?;
    } else {
        let why = "the kind does not declare delete_during_create";
        ctx.run_ctx.not_applicable(DELETED, why);
    }
    if can.can_update && can.concurrent_update {
        update(ctx).await
    } else {
        let why = "the kind does not declare concurrent_update";
        ctx.run_ctx.not_applicable(UPDATED, why);
        Ok(())
    }
}

async fn delete(ctx: &KindContext) -> Result<(), Stop> {
    let Some((mut resource, _)) = begun(ctx, DELETED).await? else {
        return Ok(());
    };
    let response = ctx.run_ctx.client.delete(resource.delete(), ctx.options()).await;
    let outcome = outcome_of("Delete", response)?;
    let taken = accepted(&outcome);
    ctx.run_ctx.judge(DELETED, taken.clone());
    if taken.is_ok() {
        ctx.follow(&mut resource, outcome, ctx.kind.timeouts.delete)
            .await?;
        let is_absent = ctx.is_eventually_absent(&resource).await?;
        ctx.run_ctx
            .judge(DELETED, holds(is_absent, || "it is still found".to_owned()));
    }
    ctx.remove(&resource).await
}

async fn update(ctx: &KindContext) -> Result<(), Stop> {
    let Some((mut resource, creation)) = begun(ctx, UPDATED).await? else {
        return Ok(());
    };
    let mut wanted = resource.clone();
    if let Some(desired) = &ctx.example.update_parameters {
        wanted = wanted.with_parameters(desired);
    }
    let response = ctx.run_ctx.client.update(wanted.update(), ctx.options()).await;
    let outcome = outcome_of("Update", response)?;
    ctx.run_ctx.judge(UPDATED, accepted(&outcome));
    // Whether it ends well is no matter of this one.
    ctx.follow(&mut wanted, outcome, ctx.kind.timeouts.update).await?;
    if !ctx.kind.capabilities.delete_during_create {
        ctx.follow(&mut resource, creation, ctx.kind.timeouts.create)
            .await?;
    }
    ctx.remove(&resource).await
}

/// A creation that is an operation, and whose name is known; `None`: it is not, which is noted.
async fn begun(
    ctx: &KindContext,
    assertion: &'static Assertion,
) -> Result<Option<(TestResource, Outcome)>, Stop> {
    let mut resource = ctx.resource()?;
    let outcome = ctx.create_once(&mut resource, false).await?;
    let is_running = matches!(outcome.result, OutcomeResult::Operation(_));
    if is_running && !resource.name().is_empty() {
        return Ok(Some((resource, outcome)));
    }
    let why = if is_running {
        "its name is unknown while its creation runs"
    } else {
        "its creation is done at once"
    };
    ctx.run_ctx.not_applicable(assertion, why);
    ctx.follow(&mut resource, outcome, ctx.kind.timeouts.create)
        .await?;
    ctx.remove(&resource).await?;
    Ok(None)
}

fn accepted(outcome: &Outcome) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => Err(format!(
            "it is rejected: {:?} {}: {}",
            failure.code, failure.reason, failure.message
        )),
        OutcomeResult::Completed(_) | OutcomeResult::Operation(_) => Ok(()),
    }
}
