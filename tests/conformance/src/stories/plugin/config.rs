//! Settings and credentials.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{ConfigVerdict, FailureCode};
use tonic::Code;

use super::kinds::refused_as;
use crate::{
    assertion::assertions,
    bench::Bench,
    client::{Terms, told},
    story::Story,
    verdict::{Judgement, Stop, holds},
};

/// By then a config is tried.
const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);

assertions! {
    GOOD = "config/good-accepted", Core, "PluginService.CheckConfig",
        "CheckConfig finds the config that the kit was given usable.",
        "Give the kit working settings and credentials (--setting, --credential or --fixtures); with those, answer without a failure.";
    MISSING = "config/missing-refused", Core, "CheckConfigRequest.config",
        "CheckConfig without a config is INVALID_ARGUMENT that names config.",
        "Check REQUIRED fields first, and name the field in the status.";
    EXPIRED = "config/expired-credentials", Core, "ConfigContext.credentials_expire_time",
        "Credentials past their time are CREDENTIALS_EXPIRED.",
        "Compare credentials_expire_time with the clock before any call upstream.";
    INCOMPLETE = "config/missing-credential-unauthenticated", Core, "CredentialKey.required",
        "Credentials without a required key are UNAUTHENTICATED.",
        "Check required keys unless the whole map is empty, which means ambient identity.";
}

pub(crate) const STORY: Story<Bench> = Story {
    assertions: ALL,
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: &Bench) -> Result<(), Stop> {
    bench.judge(
        GOOD,
        match check(bench, bench.config()).await? {
            ConfigVerdict::Usable { .. } => Ok(()),
            ConfigVerdict::Unusable(failure) => Err(format!("{}: {}", failure.reason, failure.message)),
        },
    );
    let nothing = wire::CheckConfigRequest { config: None };
    let answer = bench.client.check_config(nothing, terms()).await;
    bench.judge(MISSING, refused_as(Code::InvalidArgument, answer.map(drop)));

    let mut expired = bench.fixtures.config.context("conformance-expired", "1");
    expired.credentials_expire_time = Some(prost_types::Timestamp {
        seconds: 1_000_000_000,
        nanos: 0,
    });
    let verdict = check(bench, expired).await?;
    bench.judge(EXPIRED, unusable(&verdict, &[FailureCode::CredentialsExpired]));

    // Judged by the rules of every answer: errors like to quote what they refuse.
    let made_up = bench.made_up_config.as_deref();
    if let Some(bad) = bench.fixtures.bad_config.as_ref().or(made_up) {
        let request = wire::CheckConfigRequest {
            config: Some(bad.context("conformance-bad", "1")),
        };
        // Whether it is refused is the upstream's matter.
        let _ = bench.client.check_config(request, terms()).await;
    }
    let required = bench.info()?.credential_keys.iter().find(|key| key.required);
    match required {
        None => bench.not_applicable(INCOMPLETE, "no credential is required"),
        Some(key) => {
            let mut config = bench.fixtures.config.context("conformance-incomplete", "1");
            config.credentials.remove(&key.name);
            // An empty map would mean ambient identity.
            config
                .credentials
                .insert("conformance-other".to_owned(), b"made up".to_vec());
            let verdict = check(bench, config).await?;
            bench.judge(INCOMPLETE, unusable(&verdict, &[FailureCode::Unauthenticated]));
        }
    }
    Ok(())
}

/// What CheckConfig says of it.
pub(crate) async fn check(bench: &Bench, config: wire::ConfigContext) -> Result<ConfigVerdict, Stop> {
    let request = wire::CheckConfigRequest { config: Some(config) };
    let answer = bench
        .client
        .check_config(request, terms())
        .await
        .map_err(|status| Stop::blocked(format!("CheckConfig was not processed: {}", told(&status))))?;
    ConfigVerdict::try_from(answer)
        .map_err(|violation| Stop::blocked(format!("the answer to CheckConfig: {violation}")))
}

fn terms() -> Terms {
    Terms::within(ANSWER_WITHIN)
}

fn unusable(verdict: &ConfigVerdict, codes: &[FailureCode]) -> Judgement {
    match verdict {
        ConfigVerdict::Unusable(failure) => holds(codes.contains(&failure.code), || {
            format!("{codes:?} is due; it says {:?}", failure.code)
        }),
        ConfigVerdict::Usable { .. } => Err(format!("{codes:?} is due; it finds the config usable")),
    }
}
