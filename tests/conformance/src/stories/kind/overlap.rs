//! A call while an operation runs, where the kind says that it takes one.

use crossbridge_types::{Outcome, OutcomeResult};

use crate::{
    assertion::{Assertion, assertions},
    lab::{Lab, Thing, outcome_of},
    story::Story,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    DELETED = "delete/during-create-accepted", Core, "KindCapabilities.delete_during_create",
        "Where the kind says so, Delete is accepted while Create runs, and leaves nothing.",
        "Cancel the creation or let it end and remove what it made; else leave delete_during_create out.";
    UPDATED = "update/during-operation-accepted", Core, "KindCapabilities.concurrent_update",
        "Where the kind says so, Update is accepted while another operation runs.",
        "Begin it, or hand back an operation that waits; else leave concurrent_update out.";
}

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    let can = &lab.kind.capabilities;
    if !can.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    if can.can_delete && can.delete_during_create {
        delete(lab).await?;
    } else {
        let why = "the kind does not say delete_during_create";
        lab.bench.not_applicable(DELETED, why);
    }
    if can.can_update && can.concurrent_update {
        update(lab).await
    } else {
        let why = "the kind does not say concurrent_update";
        lab.bench.not_applicable(UPDATED, why);
        Ok(())
    }
}

async fn delete(lab: &Lab) -> Result<(), Stop> {
    let Some((mut thing, _)) = begun(lab, DELETED).await? else {
        return Ok(());
    };
    let answer = lab.bench.client.delete(thing.delete(), lab.terms()).await;
    let outcome = outcome_of("Delete", answer)?;
    let taken = accepted(&outcome);
    lab.bench.judge(DELETED, taken.clone());
    if taken.is_ok() {
        lab.follow(&mut thing, outcome, lab.kind.timeouts.delete).await?;
        let is_gone = lab.becomes_absent(&thing).await?;
        lab.bench
            .judge(DELETED, holds(is_gone, || "it is still found".to_owned()));
    }
    lab.remove(&thing).await
}

async fn update(lab: &Lab) -> Result<(), Stop> {
    let Some((mut thing, creation)) = begun(lab, UPDATED).await? else {
        return Ok(());
    };
    let mut wanted = thing.clone();
    if let Some(wish) = &lab.example.update_parameters {
        wanted = wanted.with_parameters(wish);
    }
    let answer = lab.bench.client.update(wanted.update(), lab.terms()).await;
    let outcome = outcome_of("Update", answer)?;
    lab.bench.judge(UPDATED, accepted(&outcome));
    // Whether it ends well is no matter of this one.
    lab.follow(&mut wanted, outcome, lab.kind.timeouts.update).await?;
    if !lab.kind.capabilities.delete_during_create {
        lab.follow(&mut thing, creation, lab.kind.timeouts.create).await?;
    }
    lab.remove(&thing).await
}

/// A creation that is an operation, and whose name is known; `None`: it is not, which is noted.
async fn begun(lab: &Lab, assertion: &'static Assertion) -> Result<Option<(Thing, Outcome)>, Stop> {
    let mut thing = lab.thing()?;
    let outcome = lab.create_once(&mut thing, false).await?;
    let is_running = matches!(outcome.result, OutcomeResult::Operation(_));
    if is_running && !thing.name().is_empty() {
        return Ok(Some((thing, outcome)));
    }
    let why = if is_running {
        "nobody knows its name while its creation runs"
    } else {
        "its creation is done at once"
    };
    lab.bench.not_applicable(assertion, why);
    lab.follow(&mut thing, outcome, lab.kind.timeouts.create).await?;
    lab.remove(&thing).await?;
    Ok(None)
}

fn accepted(outcome: &Outcome) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => Err(format!(
            "it is refused: {:?} {}: {}",
            failure.code, failure.reason, failure.message
        )),
        OutcomeResult::Completed(_) | OutcomeResult::Operation(_) => Ok(()),
    }
}
