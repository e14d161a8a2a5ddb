//! Judges settings and credentials with CheckConfig.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{ConfigVerdict, FailureCode};
use tonic::Code;

use super::kinds::rejected_as;
use crate::{
    assertion::assertions,
    client::{CallOptions, describe},
    run_context::RunContext,
    spelling::{any_of, spell},
    suite::Suite,
    verdict::{Judgement, Stop, holds},
};

/// Longest wait for a response to CheckConfig.
const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);

assertions! {
    VALID = "config/valid-accepted", Core, "PluginService.CheckConfig",
        "CheckConfig accepts the config that the kit was given.",
        "Give the kit working settings and credentials (--setting, --credential or --fixtures); with those, respond without a failure.";
    MISSING = "config/missing-rejected", Core, "CheckConfigRequest.config",
        "CheckConfig without a config is INVALID_ARGUMENT that names config.",
        "Check REQUIRED fields first, and name the field in the status.";
    EXPIRED = "config/expired-credentials", Core, "ConfigContext.credentials_expire_time",
        "Credentials past their time are CREDENTIALS_EXPIRED.",
        "Compare credentials_expire_time with the clock before any call upstream.";
    INCOMPLETE = "config/missing-credential-unauthenticated", Core, "CredentialKey.required",
        "Credentials without a required key are UNAUTHENTICATED.",
        "Check required keys unless the whole map is empty, which means ambient identity.";
}

pub(crate) const SUITE: Suite<RunContext> = Suite {
    assertions: ALL,
    run: |run_ctx| Box::pin(run(run_ctx)),
};

async fn run(run_ctx: &RunContext) -> Result<(), Stop> {
    run_ctx.judge(
        VALID,
        match check(run_ctx, run_ctx.config()).await? {
            ConfigVerdict::Usable { .. } => Ok(()),
            ConfigVerdict::Unusable(failure) => Err(format!("{}: {}", failure.reason, failure.message)),
        },
    );
    let nothing = wire::CheckConfigRequest { config: None };
    let response = run_ctx.client.check_config(nothing, options()).await;
    run_ctx.judge(MISSING, rejected_as(Code::InvalidArgument, response.map(drop)));

    let mut expired = run_ctx.fixtures.config.context("conformance-expired", "1");
    expired.credentials_expire_time = Some(prost_types::Timestamp {
        seconds: 1_000_000_000,
        nanos: 0,
    });
    let verdict = check(run_ctx, expired).await?;
    run_ctx.judge(EXPIRED, unusable(&verdict, &[FailureCode::CredentialsExpired]));

    // Judged by the rules of every answer: errors like to quote what they reject.
    let with_invalid_credentials = run_ctx.invalid_credentials_config.as_deref();
    if let Some(bad) = run_ctx.fixtures.bad_config.as_ref().or(with_invalid_credentials) {
        let request = wire::CheckConfigRequest {
            config: Some(bad.context("conformance-bad", "1")),
        };
        // Whether it is rejected is the upstream's matter.
        let _ = run_ctx.client.check_config(request, options()).await;
    }
    let required = run_ctx.info()?.credential_keys.iter().find(|key| key.required);
    match required {
        None => run_ctx.not_applicable(INCOMPLETE, "no credential is required"),
        Some(key) => {
            let mut config = run_ctx.fixtures.config.context("conformance-incomplete", "1");
            config.credentials.remove(&key.name);
            // An empty map would mean ambient identity.
            config
                .credentials
                .insert("conformance-other".to_owned(), b"made up".to_vec());
            let verdict = check(run_ctx, config).await?;
            run_ctx.judge(INCOMPLETE, unusable(&verdict, &[FailureCode::Unauthenticated]));
        }
    }
    Ok(())
}

/// What CheckConfig reports of it.
pub(crate) async fn check(run_ctx: &RunContext, config: wire::ConfigContext) -> Result<ConfigVerdict, Stop> {
    let request = wire::CheckConfigRequest { config: Some(config) };
    let response = run_ctx
        .client
        .check_config(request, options())
        .await
        .map_err(|status| Stop::blocked(format!("CheckConfig was not processed: {}", describe(&status))))?;
    ConfigVerdict::try_from(response)
        .map_err(|violation| Stop::blocked(format!("the answer to CheckConfig: {violation}")))
}

fn options() -> CallOptions {
    CallOptions::within(ANSWER_WITHIN)
}

fn unusable(verdict: &ConfigVerdict, codes: &[FailureCode]) -> Judgement {
    match verdict {
        ConfigVerdict::Unusable(failure) => holds(codes.contains(&failure.code), || {
            format!("expected {}, got {}", any_of(codes), spell(failure.code))
        }),
        ConfigVerdict::Usable { .. } => Err(format!("expected {}, got a usable config", any_of(codes))),
    }
}
