//! The same creation more than once.

mod interrupted;
mod judge;
mod recover;

use crossbridge_types::{CreateRecovery, Document, FailureCode, NameSource, Outcome, OutcomeResult};
use futures::future::join_all;
use uuid::Uuid;

use crate::{
    assertion::{Assertion, assertions},
    kind_context::{KindContext, TestResource},
    suite::Suite,
    suites::kind::lifecycle::rejected,
    verdict::{Judgement, Stop, Verdict},
};

pub(crate) use interrupted::check_late_effects;
pub(crate) use judge::token_honored;
pub(crate) use recover::recover;

/// How often the same is asked for.
const TIMES: usize = 10;

assertions! {
    REPEATED = "create/ten-times-one-resource", Core, "CreateRequest.client_request_token",
        "The same request ten times creates one resource, as far as the declared recovery promises it.",
        "CLIENT_TOKEN: look the token up first. DETERMINISTIC_NAME: never adopt. MARKER: search by marker when outcome_unknown is set.";
    CONCURRENT = "create/ten-concurrent-one-resource", Core, "CreateRequest.client_request_token",
        "The same request ten times concurrently creates one resource, where a token or the name promises it.",
        "Let the upstream decide who is first: its own token, or a create that fails if the name exists.";
    TOKEN_REUSED = "create/token-reuse-rejected", Core, "FailureCode.FAILURE_CODE_TOKEN_REUSED",
        "A token that created something else is TOKEN_REUSED with EFFECT_NONE.",
        "Keep a digest of the request beside the token.";
    TOKEN_OF_DELETED = "create/deleted-not-recreated", Core, "CreateRequest.client_request_token",
        "A token whose resource has been deleted is NOT_FOUND with its name, and creates nothing.",
        "Let the token outlive the resource for token_retention.";
    NAME_EXISTS = "create/existing-name-rejected", Core, "FailureCode.FAILURE_CODE_ALREADY_EXISTS",
        "A name that another resource has is ALREADY_EXISTS with EFFECT_NONE, and that resource is not changed.",
        "Create never adopts: check for existence first where the upstream's own create would adopt.";
    DEADLINE_CUT = "create/deadline-50ms-one-resource", Core, "CreateRequest.outcome_unknown",
        "A creation that its deadline, of at most 50 ms, interrupts and that is then repeated ends in one resource.",
        "Make each step findable by token, name or marker before it is begun.";
    NO_EFFECT_AFTER_DEADLINE = "create/no-effect-after-deadline", Core, "plugin_service.proto",
        "When a creation's deadline and late_margin have passed, no effect follows any more.",
        "Bound the upstream client by the deadline, retries included; declare late_margin where the upstream itself is late.";
    NO_EFFECT_AFTER_CANCELLATION = "create/no-effect-after-cancellation", Core, "plugin_service.proto",
        "Once a creation is cancelled, no effect follows any more.",
        "Let the end of the call end the work: no background task continues it.";
}

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| Box::pin(run(ctx)),
};

async fn run(ctx: &KindContext) -> Result<(), Stop> {
    if !ctx.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    repeated_creates(ctx).await?;
    concurrent_creates(ctx).await?;
    taken(ctx).await?;
    token(ctx).await?;
    Box::pin(interrupted::run(ctx)).await
}

/// Whether the declared recovery promises that a repeat creates no second resource.
fn promises(ctx: &KindContext) -> bool {
    !ctx.kind.capabilities.create_recovery.is_empty()
}

fn honors_token(ctx: &KindContext) -> bool {
    ctx.recovers_by(CreateRecovery::ClientToken)
}

/// Whether a repeat finds what an earlier one has created, and never reports it as another's: by its token, or by its marker alone.
fn finds_its_own(ctx: &KindContext) -> bool {
    let by_marker_alone =
        ctx.recovers_by(CreateRecovery::Marker) && !ctx.recovers_by(CreateRecovery::DeterministicName);
    honors_token(ctx) || by_marker_alone
}

async fn repeated_creates(ctx: &KindContext) -> Result<(), Stop> {
    if !promises(ctx) {
        ctx.run_ctx.not_applicable(
            REPEATED,
            "the kind declares no recovery: each Create creates a new one",
        );
        return Ok(());
    }
    let mut resource = ctx.resource()?;
    ctx.create_to_completion(&mut resource).await?;
    // Only then an earlier effect can be seen by its marker.
    ctx.wait_for_consistency().await;
    let mut responses = Vec::new();
    for _ in 1..TIMES {
        let mut repeat = resource.clone();
        let outcome = ctx.create_once(&mut repeat, true).await?;
        responses.push(ended(ctx, &mut repeat, outcome).await?);
    }
    let describe = judge::same_resource(&responses, resource.name(), finds_its_own(ctx));
    note(ctx, REPEATED, describe, ctx.count_and_delete(&resource).await?);
    Ok(())
}

/// What the answers reported, and how many there are. Answers that agree prove nothing where a second one could not be seen.
fn note(ctx: &KindContext, assertion: &'static Assertion, describe: Judgement, counted: Verdict) {
    let verdict = match describe {
        Ok(()) => counted,
        Err(seen) => Verdict::Failed(seen),
    };
    ctx.run_ctx.note(assertion, verdict);
}

/// The last answer of its course. One that names another resource has created a second one: that is not polled under this name, and removed
/// under its own.
async fn ended(ctx: &KindContext, resource: &mut TestResource, outcome: Outcome) -> Result<Outcome, Stop> {
    let is_other = !outcome.external_name.is_empty()
        && !resource.name().is_empty()
        && outcome.external_name != resource.name();
    if is_other {
        let mut second = resource.clone();
        second.target.external_name.clone_from(&outcome.external_name);
        second.token = Uuid::new_v4().to_string();
        ctx.run_ctx.registry.add(&second);
        return Ok(outcome);
    }
    let trace = ctx.follow(resource, outcome, ctx.kind.timeouts.create).await?;
    let mut last = trace
        .last()
        .cloned()
        .ok_or_else(|| Stop::blocked("Create was not answered"))?;
    if last.external_name.is_empty() {
        last.external_name.clone_from(&resource.target.external_name);
    }
    Ok(last)
}

async fn concurrent_creates(ctx: &KindContext) -> Result<(), Stop> {
    let promised =
        ctx.recovers_by(CreateRecovery::ClientToken) || ctx.recovers_by(CreateRecovery::DeterministicName);
    if !promised {
        ctx.run_ctx
            .not_applicable(CONCURRENT, "neither a token nor the name promises it");
        return Ok(());
    }
    let resource = ctx.resource()?;
    let mut resources = vec![resource.clone(); TIMES];
    let outcomes = join_all(
        resources
            .iter_mut()
            .map(|resource| ctx.create_once(resource, false)),
    )
    .await;
    let mut responses = Vec::new();
    for (resource, outcome) in resources.iter_mut().zip(outcomes) {
        let outcome = outcome?;
        responses.push(ended(ctx, resource, outcome).await?);
    }
    let created = resources
        .iter()
        .find(|resource| !resource.name().is_empty())
        .cloned()
        .unwrap_or(resource);
    ctx.run_ctx.registry.add(&created);
    let describe = judge::one_resource_created(&responses, honors_token(ctx));
    note(ctx, CONCURRENT, describe, ctx.count_and_delete(&created).await?);
    Ok(())
}

/// Another object wants the same name.
async fn taken(ctx: &KindContext) -> Result<(), Stop> {
    if ctx.kind.external_name.source == NameSource::Provider {
        ctx.run_ctx
            .not_applicable(NAME_EXISTS, "the upstream gives the names");
        return Ok(());
    }
    let resource = ctx.create_new().await?;
    let before = ctx.expect_exists(&resource).await?;
    let mut other = ctx.resource_named(&resource.given_name, resource.desired.clone());
    if let Some(desired) = &ctx.example.update_parameters
        && ctx.kind.external_name.source == NameSource::User
    {
        other = other.with_parameters(desired);
    }
    let outcome = ctx.create_once(&mut other, false).await?;
    // It is the first one's, whatever became of the second.
    ctx.run_ctx.registry.remove(&other);
    let after = ctx.expect_exists(&resource).await?;
    let judgement = rejected(&outcome, FailureCode::AlreadyExists).and(judge::untouched(&before, &after));
    ctx.run_ctx.judge(NAME_EXISTS, judgement);
    ctx.remove(&resource).await
}

/// The token of a resource, with another desired state.
async fn reused_token(ctx: &KindContext, resource: &TestResource, other: &Document) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    let request = resource.clone().with_parameters(other).create(false);
    let response = run_ctx.client.create(request, ctx.options()).await;
    let outcome = crate::kind_context::outcome_of("Create", response)?;
    run_ctx.judge(TOKEN_REUSED, rejected(&outcome, FailureCode::TokenReused));
    if let (false, OutcomeResult::Completed(_)) = (outcome.external_name == resource.name(), &outcome.result)
    {
        let mut second = ctx.resource()?;
        second.apply_outcome(&outcome);
        second
            .target
            .ownership_marker
            .clone_from(&resource.target.ownership_marker);
        run_ctx.registry.add(&second);
        ctx.remove(&second).await?;
    }
    Ok(())
}

/// What a token remembers.
async fn token(ctx: &KindContext) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    if !ctx.recovers_by(CreateRecovery::ClientToken) {
        for assertion in [TOKEN_REUSED, TOKEN_OF_DELETED] {
            run_ctx.not_applicable(assertion, "the kind has no CLIENT_TOKEN recovery");
        }
        return Ok(());
    }
    let mut resource = ctx.resource()?;
    ctx.create_to_completion(&mut resource).await?;
    match &ctx.example.update_parameters {
        None => run_ctx.not_applicable(
            TOKEN_REUSED,
            "the example has no update_parameters with another desired state",
        ),
        Some(other) => {
            reused_token(ctx, &resource, other).await?;
        }
    }
    // The token is looked up before anything is checked: what is rejected for its parameters may have had its effect.
    if let Some(invalid) = &ctx.example.invalid_parameters {
        reused_token(ctx, &resource, invalid).await?;
    }
    ctx.remove(&resource).await?;
    let mut repeat = resource.clone();
    repeat.target.external_name.clear();
    let outcome = ctx.create_once(&mut repeat, true).await?;
    let response = ended(ctx, &mut repeat, outcome).await?;
    run_ctx.judge(
        TOKEN_OF_DELETED,
        judge::token_of_deleted(&response, resource.name()),
    );
    if matches!(response.result, OutcomeResult::Failure(_)) {
        run_ctx.registry.remove(&repeat);
        return Ok(());
    }
    ctx.remove(&repeat).await
}
