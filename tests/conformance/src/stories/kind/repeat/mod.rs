//! The same creation more than once.

mod cut;
mod judge;
mod recover;

use crossbridge_types::{CreateRecovery, FailureCode, NameSource, Outcome, OutcomeResult};
use futures::future::join_all;

use crate::{
    assertion::{Assertion, assertions},
    lab::{Lab, Thing},
    stories::kind::life::refused,
    story::Story,
    verdict::{Judgement, Stop, Verdict},
};

pub(crate) use cut::came_late;
pub(crate) use judge::honoured;
pub(crate) use recover::recover;

/// How often the same is asked for.
const TIMES: usize = 10;

assertions! {
    TEN_TIMES = "create/ten-times-one-resource", Core, "CreateRequest.client_request_token",
        "The same request ten times makes one resource, as far as the declared recovery promises it.",
        "CLIENT_TOKEN: look the token up first. DETERMINISTIC_NAME: never take over. MARKER: search by marker when outcome_unknown is set.";
    AT_ONCE = "create/ten-at-once-one-resource", Core, "CreateRequest.client_request_token",
        "The same request ten times at once makes one resource, where a token or the name promises it.",
        "Let the upstream decide who is first: its own token, or a create that fails if the name is there.";
    TOKEN_REUSED = "create/token-of-another-wish-refused", Core, "FailureCode.FAILURE_CODE_TOKEN_REUSED",
        "A token that made something else is TOKEN_REUSED with EFFECT_NONE.",
        "Keep a digest of the request beside the token.";
    TOKEN_GONE = "create/gone-is-not-remade", Core, "CreateRequest.client_request_token",
        "A token whose resource is gone again is NOT_FOUND with its name, and makes nothing.",
        "Let the token outlive the resource for token_retention.";
    TAKEN = "create/taken-name-refused", Core, "FailureCode.FAILURE_CODE_ALREADY_EXISTS",
        "A name that another has is ALREADY_EXISTS with EFFECT_NONE, and the other stays as it is.",
        "Create never takes over: look first where the upstream's own create would.";
    CUT_SHORT = "create/cut-at-50ms-one-resource", Core, "CreateRequest.outcome_unknown",
        "A creation that is cut by its deadline, of at most 50 ms, and then repeated ends in one resource.",
        "Make each step findable by token, name or marker before it is begun.";
    NOTHING_LATE = "create/nothing-after-the-deadline", Core, "plugin_service.proto",
        "When a creation's deadline and late_margin have passed, nothing comes about any more.",
        "Bound the upstream client by the deadline, retries included; declare late_margin where the upstream itself is late.";
    NOTHING_CANCELLED = "create/nothing-after-cancelled", Core, "plugin_service.proto",
        "Once a creation is cancelled, nothing comes about any more.",
        "Let the end of the call end the work: no background task goes on with it.";
}

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    if !lab.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    ten_times(lab).await?;
    at_once(lab).await?;
    taken(lab).await?;
    token(lab).await?;
    Box::pin(cut::cut(lab)).await
}

/// Whether a repeat is promised to make no second one.
fn promises(lab: &Lab) -> bool {
    !lab.kind.capabilities.create_recovery.is_empty()
}

fn honours_token(lab: &Lab) -> bool {
    lab.recovers_by(CreateRecovery::ClientToken)
}

async fn ten_times(lab: &Lab) -> Result<(), Stop> {
    if !promises(lab) {
        lab.bench
            .not_applicable(TEN_TIMES, "the kind declares no recovery: each Create makes one");
        return Ok(());
    }
    let mut thing = lab.thing()?;
    lab.make(&mut thing).await?;
    // Only then an earlier effect can be seen by its marker.
    lab.wait_out_window().await;
    let mut answers = Vec::new();
    for _ in 1..TIMES {
        let mut repeat = thing.clone();
        let outcome = lab.create_once(&mut repeat, true).await?;
        answers.push(ended(lab, &mut repeat, outcome).await?);
    }
    let told = judge::same_resource(&answers, thing.name(), honours_token(lab));
    note(lab, TEN_TIMES, told, lab.one_and_gone(&thing).await?);
    Ok(())
}

/// What the answers told, and how many there are. Answers that agree prove nothing where nobody could see a second one.
fn note(lab: &Lab, assertion: &'static Assertion, told: Judgement, counted: Verdict) {
    let verdict = match told {
        Ok(()) => counted,
        Err(seen) => Verdict::Failed(seen),
    };
    lab.bench.note(assertion, verdict);
}

/// The last answer of its course.
async fn ended(lab: &Lab, thing: &mut Thing, outcome: Outcome) -> Result<Outcome, Stop> {
    let trail = lab.follow(thing, outcome, lab.kind.timeouts.create).await?;
    let mut last = trail
        .last()
        .cloned()
        .ok_or_else(|| Stop::blocked("Create was not answered"))?;
    if last.external_name.is_empty() {
        last.external_name.clone_from(&thing.target.external_name);
    }
    Ok(last)
}

async fn at_once(lab: &Lab) -> Result<(), Stop> {
    let promised =
        lab.recovers_by(CreateRecovery::ClientToken) || lab.recovers_by(CreateRecovery::DeterministicName);
    if !promised {
        lab.bench
            .not_applicable(AT_ONCE, "neither a token nor the name promises it");
        return Ok(());
    }
    let thing = lab.thing()?;
    let mut things = vec![thing.clone(); TIMES];
    let outcomes = join_all(things.iter_mut().map(|thing| lab.create_once(thing, false))).await;
    let mut answers = Vec::new();
    for (thing, outcome) in things.iter_mut().zip(outcomes) {
        let outcome = outcome?;
        answers.push(ended(lab, thing, outcome).await?);
    }
    let made = things
        .iter()
        .find(|thing| !thing.name().is_empty())
        .cloned()
        .unwrap_or(thing);
    lab.bench.registry.enter(&made);
    let told = judge::one_of_many(&answers, honours_token(lab));
    note(lab, AT_ONCE, told, lab.one_and_gone(&made).await?);
    Ok(())
}

/// Another object wants the same name.
async fn taken(lab: &Lab) -> Result<(), Stop> {
    if lab.kind.external_name.source == NameSource::Provider {
        lab.bench.not_applicable(TAKEN, "the upstream gives the names");
        return Ok(());
    }
    let thing = lab.made().await?;
    let before = lab.found(&thing).await?;
    let mut other = lab.thing_of(&thing.given_name, thing.desired.clone());
    if let Some(wish) = &lab.example.update_parameters
        && lab.kind.external_name.source == NameSource::User
    {
        other = other.with_parameters(wish);
    }
    let outcome = lab.create_once(&mut other, false).await?;
    // It is the first one's, whatever became of the second.
    lab.bench.registry.strike(&other);
    let after = lab.found(&thing).await?;
    let judgement = refused(&outcome, FailureCode::AlreadyExists).and(judge::untouched(&before, &after));
    lab.bench.judge(TAKEN, judgement);
    lab.remove(&thing).await
}

/// What a token remembers.
async fn token(lab: &Lab) -> Result<(), Stop> {
    let bench = &lab.bench;
    if !lab.recovers_by(CreateRecovery::ClientToken) {
        for assertion in [TOKEN_REUSED, TOKEN_GONE] {
            bench.not_applicable(assertion, "the kind has no CLIENT_TOKEN recovery");
        }
        return Ok(());
    }
    let mut thing = lab.thing()?;
    lab.make(&mut thing).await?;
    match &lab.example.update_parameters {
        None => bench.not_applicable(
            TOKEN_REUSED,
            "the example has no update_parameters to wish for instead",
        ),
        Some(other) => {
            let request = thing.clone().with_parameters(other).create(false);
            let answer = bench.client.create(request, lab.terms()).await;
            let outcome = crate::lab::outcome_of("Create", answer)?;
            bench.judge(TOKEN_REUSED, refused(&outcome, FailureCode::TokenReused));
            if let (false, OutcomeResult::Completed(_)) =
                (outcome.external_name == thing.name(), &outcome.result)
            {
                let mut second = lab.thing()?;
                second.learn(&outcome);
                second
                    .target
                    .ownership_marker
                    .clone_from(&thing.target.ownership_marker);
                bench.registry.enter(&second);
                lab.remove(&second).await?;
            }
        }
    }
    lab.remove(&thing).await?;
    let mut repeat = thing.clone();
    repeat.target.external_name.clear();
    let outcome = lab.create_once(&mut repeat, true).await?;
    let answer = ended(lab, &mut repeat, outcome).await?;
    bench.judge(TOKEN_GONE, judge::gone(&answer, thing.name()));
    if matches!(answer.result, OutcomeResult::Failure(_)) {
        bench.registry.strike(&repeat);
        return Ok(());
    }
    lab.remove(&repeat).await
}
