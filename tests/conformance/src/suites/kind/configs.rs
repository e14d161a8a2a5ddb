//! One resource seen through several configs.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{ConfigVerdict, FailureCode, ObserveResult, OutcomeResult};

use crate::{
    assertion::assertions,
    kind_context::{KindContext, TestResource, outcome_of},
    spelling::{any_of, spell},
    suite::Suite,
    suites::{
        kind::{absence, isolation},
        plugin::config::{EXPIRED, check},
    },
    verdict::{Judgement, Stop, holds},
};

assertions! {
    BAD_CREDENTIALS = "config/bad-credentials-never-absent", Core, "Absent",
        "With credentials that are rejected, what exists does not read as absent.",
        "Return Absent only when the upstream itself reports that there is no such resource; a 401 or 403 is a Failure.";
    BAD_CREDENTIALS_CODE = "config/bad-credentials-code", Core, "FailureCode.FAILURE_CODE_UNAUTHENTICATED",
        "Credentials that are rejected are UNAUTHENTICATED or PERMISSION_DENIED.",
        "Translate the upstream's 401 and 403.";
    CHECK_AGREES = "config/check-agrees-with-calls", Core, "PluginService.CheckConfig",
        "A config with which Observe is UNAUTHENTICATED or INVALID_CONFIG is rejected by CheckConfig too.",
        "Ask the upstream who you are, and use each setting, as a call would: users look at the config first, and the bridge goes on as soon as CheckConfig succeeds.";
    DEAD = "config/dead-upstream-never-absent", Core, "Absent",
        "With settings that reach no server, what exists does not read as absent.",
        "An upstream that does not answer, or a folder that is absent, is a Failure.";
    ISOLATED = "config/isolated", Core, "ConfigContext.config_id",
        "Calls with two configs, alternating and concurrent, each reach their own upstream.",
        "Cache clients by (config_id, revision), never one for the process.";
    REVISION = "config/new-revision-effective", Core, "ConfigContext.revision",
        "A new revision of a config is used by the next call.",
        "Cache clients by (config_id, revision), not by config_id alone.";
}

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| Box::pin(run(ctx)),
};

async fn run(ctx: &KindContext) -> Result<(), Stop> {
    if !ctx.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    let resource = ctx.create_new().await?;
    ctx.expect_exists(&resource).await?;
    expired(ctx, &resource).await?;
    let resource = bad_credentials(ctx, resource).await?;
    let resource = dead(ctx, resource).await?;
    let resource = isolation::run(ctx, resource).await?;
    revision(ctx, &resource).await?;
    poll_deletes(ctx, &resource).await?;
    ctx.remove(&resource).await
}

pub(super) async fn observe_with(
    ctx: &KindContext,
    resource: &TestResource,
    config: wire::ConfigContext,
) -> Result<ObserveResult, Stop> {
    ctx.observe(&resource.clone().with_config(config)).await
}

async fn expired(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    let mut config = ctx.run_ctx.fixtures.config.context("conformance-expired", "1");
    config.credentials_expire_time = Some(prost_types::Timestamp {
        seconds: 1_000_000_000,
        nanos: 0,
    });
    let observation = observe_with(ctx, resource, config).await?;
    ctx.run_ctx.judge(
        EXPIRED,
        failed_with(&observation, &[FailureCode::CredentialsExpired]),
    );
    Ok(())
}

/// Rejected credentials: the author's, or invented ones where some are required.
fn bad_config(ctx: &KindContext) -> Option<wire::ConfigContext> {
    let fixtures = &ctx.run_ctx.fixtures;
    let with_invalid_credentials = ctx.run_ctx.invalid_credentials_config.as_deref();
    let bad = fixtures.bad_config.as_ref().or(with_invalid_credentials)?;
    Some(bad.context("conformance-bad", "1"))
}

fn dead_config(ctx: &KindContext) -> Option<wire::ConfigContext> {
    let dead = ctx.run_ctx.fixtures.dead_config.as_ref()?;
    Some(dead.context("conformance-dead", "dead"))
}

async fn bad_credentials(ctx: &KindContext, resource: TestResource) -> Result<TestResource, Stop> {
    let run_ctx = &ctx.run_ctx;
    let is_given = run_ctx.fixtures.bad_config.is_some();
    let Some(bad) = bad_config(ctx) else {
        let why = "the plugin is given no credentials; --bad-credential names some that are rejected";
        for assertion in [BAD_CREDENTIALS, BAD_CREDENTIALS_CODE, CHECK_AGREES] {
            run_ctx.not_applicable(assertion, why);
        }
        return Ok(resource);
    };
    let report = absence::absence_report(ctx, &resource.clone().with_config(bad.clone())).await?;
    let codes = [FailureCode::Unauthenticated, FailureCode::PermissionDenied];
    match &report.observation {
        ObserveResult::Found(_) if !is_given => {
            run_ctx.not_applicable(
                BAD_CREDENTIALS_CODE,
                "the upstream accepts invented credentials; --bad-credential names rejected ones",
            );
        }
        // That is the other assertion's matter.
        ObserveResult::Absent(_) => {}
        observation => run_ctx.judge(BAD_CREDENTIALS_CODE, failed_with(observation, &codes)),
    }
    check_agrees(ctx, &report.observation, bad).await?;
    run_ctx.judge(BAD_CREDENTIALS, report.settled(ctx, &resource).await?);
    absence::ensure_exists(ctx, resource).await
}

/// What Observe rejects for its config, CheckConfig rejects too.
async fn check_agrees(
    ctx: &KindContext,
    observation: &ObserveResult,
    config: wire::ConfigContext,
) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    let of_config = [FailureCode::Unauthenticated, FailureCode::InvalidConfig];
    match observation {
        ObserveResult::Failed(failure) if of_config.contains(&failure.code) => {
            let verdict = check(run_ctx, config).await?;
            let is_rejected = matches!(verdict, ConfigVerdict::Unusable(_));
            run_ctx.judge(
                CHECK_AGREES,
                holds(is_rejected, || {
                    format!("Observe: {}: {}; CheckConfig finds the config usable", failure.reason, failure.message)
                }),
            );
        }
        _ => run_ctx.not_applicable(
            CHECK_AGREES,
            "Observe is neither UNAUTHENTICATED with rejected credentials nor INVALID_CONFIG with dead settings",
        ),
    }
    Ok(())
}

async fn dead(ctx: &KindContext, resource: TestResource) -> Result<TestResource, Stop> {
    let Some(dead) = dead_config(ctx) else {
        ctx.run_ctx
            .not_applicable(DEAD, "give --dead-setting: one that reaches no server");
        return Ok(resource);
    };
    let report = absence::absence_report(ctx, &resource.clone().with_config(dead.clone())).await?;
    check_agrees(ctx, &report.observation, dead).await?;
    ctx.run_ctx.judge(DEAD, not_found(&report.observation));
    ctx.run_ctx.judge(DEAD, report.settled(ctx, &resource).await?);
    absence::ensure_exists(ctx, resource).await
}

/// The end of a Delete, asked for with configs that cannot know it.
async fn poll_deletes(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    let asked = [(BAD_CREDENTIALS, bad_config(ctx)), (DEAD, dead_config(ctx))];
    if !ctx.kind.capabilities.can_delete || asked.iter().all(|(_, config)| config.is_none()) {
        return Ok(());
    }
    let begun = ctx.run_ctx.client.delete(resource.delete(), ctx.options()).await;
    if let OutcomeResult::Operation(operation) = outcome_of("Delete", begun)?.result {
        for (assertion, config) in asked {
            let Some(config) = config else { continue };
            let judgement = absence::poll_of_delete(ctx, resource, &operation.handle, config).await?;
            ctx.run_ctx.judge(assertion, judgement);
        }
    }
    Ok(())
}

async fn revision(ctx: &KindContext, resource: &TestResource) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    let fixtures = &run_ctx.fixtures;
    let changes = [fixtures.other_config.as_ref(), fixtures.bad_config.as_ref()];
    if changes.iter().all(Option::is_none) {
        run_ctx.not_applicable(REVISION, "give --other-setting or --bad-credential");
        return Ok(());
    }
    for (index, next) in changes.into_iter().flatten().enumerate() {
        // The same id: only the revision shows that it changed.
        let id = format!("conformance-changing-{index}");
        let own = |revision| observe_with(ctx, resource, fixtures.config.context(&id, revision));
        let first = own("1").await?;
        let changed = observe_with(ctx, resource, next.context(&id, "2")).await?;
        let back = own("3").await?;
        run_ctx.judge(REVISION, is_own(&first, resource));
        run_ctx.judge(REVISION, not_found(&changed));
        run_ctx.judge(REVISION, is_own(&back, resource));
    }
    Ok(())
}

fn failed_with(observation: &ObserveResult, codes: &[FailureCode]) -> Judgement {
    match observation {
        ObserveResult::Failed(failure) => holds(codes.contains(&failure.code), || {
            format!("expected {}, got {}", any_of(codes), spell(failure.code))
        }),
        ObserveResult::Found(_) => Err(format!("expected {}, got an observation", any_of(codes))),
        ObserveResult::Absent(_) => Err(format!("expected {}, got absence", any_of(codes))),
    }
}

fn not_found(observation: &ObserveResult) -> Judgement {
    holds(!matches!(observation, ObserveResult::Found(_)), || {
        "it is found all the same".to_owned()
    })
}

pub(super) fn is_own(observation: &ObserveResult, resource: &TestResource) -> Judgement {
    match observation {
        ObserveResult::Found(found) => holds(
            found.found_marker.is_empty() || found.found_marker == resource.marker(),
            || "the other config's resource is found".to_owned(),
        ),
        ObserveResult::Absent(_) => Err("it reads as absent through its own config".to_owned()),
        ObserveResult::Failed(failure) => Err(format!("the observation failed: {}", failure.message)),
    }
}
