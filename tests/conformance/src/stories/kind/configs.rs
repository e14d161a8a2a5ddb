//! One resource seen through several configs.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{ConfigVerdict, FailureCode, Look, OutcomeResult};
use tonic::Status;

use crate::{
    assertion::assertions,
    lab::{Lab, Thing, look_of, outcome_of},
    stories::{
        kind::{absence, cross},
        plugin::config::{EXPIRED, check},
    },
    story::Story,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    BAD = "config/bad-credentials-never-absent", Core, "Absent",
        "With credentials that are refused, what exists does not read as absent.",
        "Answer Absent only for the upstream's own word that there is no such resource; a 401 or 403 is a Failure.";
    BAD_CODE = "config/bad-credentials-code", Core, "FailureCode.FAILURE_CODE_UNAUTHENTICATED",
        "Credentials that are refused are UNAUTHENTICATED or PERMISSION_DENIED.",
        "Translate the upstream's 401 and 403.";
    CHECK_AGREES = "config/check-refuses-what-calls-refuse", Core, "PluginService.CheckConfig",
        "Credentials that a look calls UNAUTHENTICATED are refused by CheckConfig too.",
        "Ask the upstream who you are, as a call would: after a refusal the bridge goes on as soon as CheckConfig succeeds.";
    DEAD = "config/dead-upstream-never-absent", Core, "Absent",
        "With settings that lead to nobody, what exists does not read as absent.",
        "An upstream that does not answer, or a folder that is not there, is a Failure.";
    NEVER_CROSS = "config/two-never-cross", Core, "ConfigContext.config_id",
        "Calls with two configs, in turn and at once, each reach their own side.",
        "Cache clients by (config_id, revision), never one for the process.";
    REVISION = "config/new-revision-at-once", Core, "ConfigContext.revision",
        "A new revision of a config is used by the next call.",
        "Cache clients by (config_id, revision), not by config_id alone.";
}

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    if !lab.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    let thing = lab.made().await?;
    lab.found(&thing).await?;
    expired(lab, &thing).await?;
    let thing = bad_credentials(lab, thing).await?;
    let thing = dead(lab, thing).await?;
    let thing = cross::run(lab, thing).await?;
    revision(lab, &thing).await?;
    polls(lab, &thing).await?;
    lab.remove(&thing).await
}

pub(super) async fn look_with(
    lab: &Lab,
    thing: &Thing,
    config: wire::ConfigContext,
) -> Result<wire::ObserveResponse, Status> {
    let request = thing.clone().with_config(config).observe();
    lab.bench.client.observe(request, lab.terms()).await
}

async fn expired(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    let mut config = lab.bench.fixtures.config.context("conformance-expired", "1");
    config.credentials_expire_time = Some(prost_types::Timestamp {
        seconds: 1_000_000_000,
        nanos: 0,
    });
    let look = look_of(look_with(lab, thing, config).await)?;
    lab.bench
        .judge(EXPIRED, failed_with(&look, &[FailureCode::CredentialsExpired]));
    Ok(())
}

/// The author's bad ones; else made-up ones, where some are required.
fn bad_config(lab: &Lab) -> Option<wire::ConfigContext> {
    let fixtures = &lab.bench.fixtures;
    let made_up = lab.bench.made_up_config.as_deref();
    let bad = fixtures.bad_config.as_ref().or(made_up)?;
    Some(bad.context("conformance-bad", "1"))
}

fn dead_config(lab: &Lab) -> Option<wire::ConfigContext> {
    let dead = lab.bench.fixtures.dead_config.as_ref()?;
    Some(dead.context("conformance-dead", "dead"))
}

async fn bad_credentials(lab: &Lab, thing: Thing) -> Result<Thing, Stop> {
    let bench = &lab.bench;
    let is_told = bench.fixtures.bad_config.is_some();
    let Some(bad) = bad_config(lab) else {
        let why = "the plugin is given no credentials; --bad-credential names some that are refused";
        for assertion in [BAD, BAD_CODE, CHECK_AGREES] {
            bench.not_applicable(assertion, why);
        }
        return Ok(thing);
    };
    let words = absence::words(lab, &thing.clone().with_config(bad.clone())).await?;
    let codes = [FailureCode::Unauthenticated, FailureCode::PermissionDenied];
    match &words.look {
        Look::Found(_) if !is_told => {
            bench.not_applicable(
                BAD_CODE,
                "the upstream takes made-up credentials; --bad-credential names worse ones",
            );
        }
        // That is the other assertion's matter.
        Look::Absent(_) => {}
        look => bench.judge(BAD_CODE, failed_with(look, &codes)),
    }
    match &words.look {
        Look::Failed(failure) if failure.code == FailureCode::Unauthenticated => {
            let verdict = check(bench, bad).await?;
            let is_refused = matches!(verdict, ConfigVerdict::Unusable(_));
            bench.judge(
                CHECK_AGREES,
                holds(is_refused, || "CheckConfig finds them usable".to_owned()),
            );
        }
        _ => bench.not_applicable(
            CHECK_AGREES,
            "a look does not call these credentials UNAUTHENTICATED",
        ),
    }
    bench.judge(BAD, words.settled(lab, &thing).await?);
    absence::there(lab, thing).await
}

async fn dead(lab: &Lab, thing: Thing) -> Result<Thing, Stop> {
    let Some(dead) = dead_config(lab) else {
        lab.bench
            .not_applicable(DEAD, "give --dead-setting: one that leads to nobody");
        return Ok(thing);
    };
    let words = absence::words(lab, &thing.clone().with_config(dead)).await?;
    lab.bench.judge(DEAD, not_found(&words.look));
    lab.bench.judge(DEAD, words.settled(lab, &thing).await?);
    absence::there(lab, thing).await
}

/// The end of a Delete, asked for with configs that cannot know it.
async fn polls(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    let asked = [(BAD, bad_config(lab)), (DEAD, dead_config(lab))];
    if !lab.kind.capabilities.can_delete || asked.iter().all(|(_, config)| config.is_none()) {
        return Ok(());
    }
    let begun = lab.bench.client.delete(thing.delete(), lab.terms()).await;
    if let OutcomeResult::Operation(operation) = outcome_of("Delete", begun)?.result {
        for (assertion, config) in asked {
            let Some(config) = config else { continue };
            let judgement = absence::polled(lab, thing, &operation.handle, config).await?;
            lab.bench.judge(assertion, judgement);
        }
    }
    Ok(())
}

async fn revision(lab: &Lab, thing: &Thing) -> Result<(), Stop> {
    let bench = &lab.bench;
    let fixtures = &bench.fixtures;
    let changes = [fixtures.other_config.as_ref(), fixtures.bad_config.as_ref()];
    if changes.iter().all(Option::is_none) {
        bench.not_applicable(REVISION, "give --other-setting or --bad-credential");
        return Ok(());
    }
    for (index, next) in changes.into_iter().flatten().enumerate() {
        // The same id: only the revision tells that it changed.
        let id = format!("conformance-changing-{index}");
        let own = |revision| look_with(lab, thing, fixtures.config.context(&id, revision));
        let first = look_of(own("1").await)?;
        let changed = look_of(look_with(lab, thing, next.context(&id, "2")).await)?;
        let back = look_of(own("3").await)?;
        bench.judge(REVISION, is_own(&first, thing));
        bench.judge(REVISION, not_found(&changed));
        bench.judge(REVISION, is_own(&back, thing));
    }
    Ok(())
}

fn failed_with(look: &Look, codes: &[FailureCode]) -> Judgement {
    match look {
        Look::Failed(failure) => holds(codes.contains(&failure.code), || {
            format!("{codes:?} is due; it says {:?}", failure.code)
        }),
        Look::Found(_) => Err(format!("{codes:?} is due; it was found")),
        Look::Absent(_) => Err(format!("{codes:?} is due; it reads as absent")),
    }
}

fn not_found(look: &Look) -> Judgement {
    holds(!matches!(look, Look::Found(_)), || {
        "it is found all the same".to_owned()
    })
}

pub(super) fn is_own(look: &Look, thing: &Thing) -> Judgement {
    match look {
        Look::Found(found) => holds(
            found.found_marker.is_empty() || found.found_marker == thing.marker(),
            || "the other config's resource is found".to_owned(),
        ),
        Look::Absent(_) => Err("it reads as absent through its own config".to_owned()),
        Look::Failed(failure) => Err(format!("the look failed: {}", failure.message)),
    }
}
