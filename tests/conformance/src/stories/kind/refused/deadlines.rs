//! Calls without a deadline, with too long a one, and too late.

use std::time::Duration;

use tonic::{Code, Status};

use super::{LATE, LONG_DEADLINE, NO_DEADLINE, nothing_made};
use crate::{
    assertion::Assertion,
    client::{Terms, told},
    lab::Lab,
    verdict::{Judgement, Stop},
};

pub(super) async fn run(lab: &Lab) -> Result<(), Stop> {
    let cases: [(&'static Assertion, Terms); 3] = [
        (NO_DEADLINE, Terms::without_deadline()),
        (LONG_DEADLINE, Terms::within(Duration::from_secs(75))),
        (LATE, lab.terms().expired()),
    ];
    for (assertion, terms) in cases {
        refused_create(lab, assertion, terms).await?;
        refused_change(lab, assertion, terms).await?;
    }
    Ok(())
}

async fn refused_create(lab: &Lab, assertion: &'static Assertion, terms: Terms) -> Result<(), Stop> {
    let mut thing = lab.thing()?;
    let answer = lab.create_under(&mut thing, false, terms).await;
    let judgement = not_begun("Create", answer.map(drop));
    if judgement.is_ok() {
        thing.refused = true;
        lab.bench.registry.enter(&thing);
    }
    let made = nothing_made(lab, &thing).await?;
    lab.bench.judge(assertion, judgement.and(made));
    lab.remove(&thing).await
}

/// Update and Delete of what is not there: nothing comes of them in any case.
async fn refused_change(lab: &Lab, assertion: &'static Assertion, terms: Terms) -> Result<(), Stop> {
    let mut thing = lab.thing()?;
    if thing.name().is_empty() {
        thing = thing.named(&lab.fresh_name("")?);
    }
    if lab.kind.capabilities.can_update {
        let answer = lab.bench.client.update(thing.update(), terms).await;
        lab.bench.judge(assertion, not_begun("Update", answer.map(drop)));
    }
    if lab.kind.capabilities.can_delete {
        let answer = lab.bench.client.delete(thing.delete(), terms).await;
        lab.bench.judge(assertion, not_begun("Delete", answer.map(drop)));
    }
    Ok(())
}

fn not_begun(method: &str, answer: Result<(), Status>) -> Judgement {
    match answer {
        Err(status) if status.code() == Code::FailedPrecondition => Ok(()),
        Err(status) => Err(format!(
            "{method}: FAILED_PRECONDITION is due; it ended in {}",
            told(&status)
        )),
        Ok(()) => Err(format!("{method}: FAILED_PRECONDITION is due; it was answered")),
    }
}
