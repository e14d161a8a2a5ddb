//! Whether any call reports an existing resource as absent while the plugin cannot reach it.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{Effect, FailureCode, ObserveResult, Outcome, OutcomeResult};
use tonic::Status;

use crate::{
    kind_context::{KindContext, TestResource, outcome_of},
    verdict::{Judgement, Stop, holds},
};

/// What the plugin reports about an existing resource while it cannot reach it.
#[derive(Debug)]
pub(super) struct AbsenceReport {
    /// The observation by its name.
    pub observation: ObserveResult,
    /// Whether one of them calls it absent.
    pub judgement: Judgement,
    /// Delete, or a poll of it, reports that it no longer exists.
    reports_deleted: bool,
    /// A Delete may have had its effect.
    pub may_be_deleted: bool,
    /// An observation found the resource, or an Update was done: it can be reached after all.
    pub reaches_upstream: bool,
}

/// Sends each call that could report the resource as absent, with the faulty config that it carries.
pub(super) async fn absence_report(
    ctx: &KindContext,
    resource: &TestResource,
) -> Result<AbsenceReport, Stop> {
    let observation = ctx.observe_once(resource).await?;
    let mut judgement = not_absent(&observation);
    if ctx.observes_without_name() {
        let without_name = ctx.observe_once(&resource.clone().without_name()).await?;
        judgement = judgement
            .and(not_absent(&without_name).map_err(|seen| format!("observed without a name, {seen}")));
    }
    let client = &ctx.run_ctx.client;
    let mut reaches_upstream = matches!(observation, ObserveResult::Found(_));
    if ctx.kind.capabilities.can_update {
        let response = client.update(resource.update(), ctx.options()).await;
        let outcome = outcome_of("Update", response)?;
        reaches_upstream |= matches!(outcome.result, OutcomeResult::Completed(_));
        judgement = judgement.and(not_called_absent("Update", &outcome));
    }
    let mut report = AbsenceReport {
        observation,
        judgement,
        reaches_upstream,
        reports_deleted: false,
        may_be_deleted: false,
    };
    // Whoever can see it may list it, and remove it.
    if !matches!(report.observation, ObserveResult::Found(_)) {
        if ctx.run_ctx.info()?.lists_external {
            let response = client.list_external(list(ctx, resource), ctx.options()).await;
            report.judgement = report.judgement.and(list_not_empty(&response));
        }
        if ctx.kind.capabilities.can_delete {
            removed(ctx, resource, &mut report).await?;
        }
    }
    Ok(report)
}

async fn removed(ctx: &KindContext, resource: &TestResource, report: &mut AbsenceReport) -> Result<(), Stop> {
    let client = &ctx.run_ctx.client;
    let mut method = "Delete";
    let mut outcome = outcome_of(method, client.delete(resource.delete(), ctx.options()).await)?;
    report.may_be_deleted = !is_without_effect(&outcome);
    if let OutcomeResult::Operation(operation) = &outcome.result {
        // Once: it need not end before the times are better.
        method = "PollOperation";
        let poll = client.poll_operation(resource.poll(&operation.handle), ctx.options());
        outcome = outcome_of(method, poll.await)?;
    }
    report.reports_deleted = matches!(outcome.result, OutcomeResult::Completed(_));
    let judgement = std::mem::replace(&mut report.judgement, Ok(()));
    report.judgement = judgement.and(not_called_absent(method, &outcome));
    Ok(())
}

impl AbsenceReport {
    /// The final judgement, with the valid config again: whether a reported deletion took place.
    pub(super) async fn settled(self, ctx: &KindContext, resource: &TestResource) -> Result<Judgement, Stop> {
        let is_true = !self.reports_deleted || ctx.is_eventually_absent(resource).await?;
        Ok(self.judgement.and(holds(is_true, || {
            "Delete reports that it is done, and it still exists".to_owned()
        })))
    }
}

/// A poll, with another config, of the Delete that was begun with the good one.
pub(super) async fn poll_of_delete(
    ctx: &KindContext,
    resource: &TestResource,
    handle: &str,
    config: wire::ConfigContext,
) -> Result<Judgement, Stop> {
    let poll = resource.clone().with_config(config).poll(handle);
    let response = ctx.run_ctx.client.poll_operation(poll, ctx.options()).await;
    let outcome = outcome_of("PollOperation", response)?;
    let reports_deleted = matches!(outcome.result, OutcomeResult::Completed(_))
        || not_called_absent("PollOperation", &outcome).is_err();
    // It may have ended by now.
    let exists = reports_deleted && matches!(ctx.observe(resource).await?, ObserveResult::Found(_));
    Ok(holds(!exists, || {
        "PollOperation of a Delete reports that it no longer exists, and it still exists".to_owned()
    }))
}

/// The resource, or another one like it, if it no longer exists.
pub(super) async fn ensure_exists(ctx: &KindContext, resource: TestResource) -> Result<TestResource, Stop> {
    if ctx.find(&resource).await?.is_some() {
        return Ok(resource);
    }
    ctx.remove(&resource).await?;
    ctx.create_new().await
}

fn list(ctx: &KindContext, resource: &TestResource) -> wire::ListExternalRequest {
    wire::ListExternalRequest {
        resource_type: Some(ctx.kind.resource_type.clone().into()),
        config: resource.target.config.clone(),
        ..Default::default()
    }
}

fn is_without_effect(outcome: &Outcome) -> bool {
    matches!(&outcome.result, OutcomeResult::Failure(failure) if failure.effect == Effect::None)
}

fn not_absent(observation: &ObserveResult) -> Judgement {
    holds(!matches!(observation, ObserveResult::Absent(_)), || {
        "what exists reads as absent".to_owned()
    })
}

fn not_called_absent(method: &str, outcome: &Outcome) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => holds(failure.code != FailureCode::NotFound, || {
            format!("{method} reports NOT_FOUND of what exists")
        }),
        _ => Ok(()),
    }
}

/// A list that could not be read is not an empty one.
fn list_not_empty(response: &Result<wire::ListExternalResponse, Status>) -> Judgement {
    match response {
        Ok(page) => holds(
            page.failure.is_some()
                || !page.unreachable.is_empty()
                || !page.items.is_empty()
                || !page.next_page_token.is_empty(),
            || "ListExternal lists nothing, and names no failure".to_owned(),
        ),
        // Either it does not list this kind, or another assertion judges the status.
        Err(_) => Ok(()),
    }
}
