//! An upstream in trouble, by the author's hook.

use crossbridge_types::{FailureCode, Look, Outcome, OutcomeResult};

use crate::{
    assertion::assertions,
    lab::{Lab, Thing, outcome_of},
    stories::kind::absence,
    story::Story,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    DOWN = "upstream/down-never-absent", Durable, "Absent",
        "While the upstream is down, what exists does not read as absent.",
        "Answer Absent only for the upstream's own word that there is no such resource.";
    RECOVERED = "upstream/recovers", Durable, "FailureCode.FAILURE_CODE_UNAVAILABLE",
        "Once the upstream is back, the next call works.",
        "Let broken connections go, and keep no error.";
    THROTTLED = "upstream/throttled-is-a-failure", Durable, "FailureCode.FAILURE_CODE_THROTTLED",
        "While the upstream throttles, Observe, Update and Create are Failure THROTTLED.",
        "Translate the upstream's 429 into THROTTLED with retry_after; never a gRPC status.";
}

pub(crate) const STORY: Story<Lab> = Story {
    assertions: ALL,
    run: |lab| Box::pin(run(lab)),
};

async fn run(lab: &Lab) -> Result<(), Stop> {
    if !lab.bench.hands.can_fault() {
        return Err(Stop::not_applicable("give --fault-cmd"));
    }
    if !lab.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    let mut thing = lab.made().await?;
    let words = during(lab, ["upstream-down", "upstream-up"], DOWN, async || {
        absence::words(lab, &thing).await
    });
    if let Some(words) = words.await? {
        let back = lab.look(&thing).await?;
        let is_gone = words.may_be_gone && matches!(back, Look::Absent(_));
        lab.bench
            .judge(RECOVERED, if is_gone { Ok(()) } else { found(&back) });
        lab.bench.judge(DOWN, words.settled(lab, &thing).await?);
        thing = absence::there(lab, thing).await?;
    }
    let calls = during(lab, ["throttle", "throttle-off"], THROTTLED, async || {
        calls(lab, &thing).await
    });
    for judgement in calls.await?.into_iter().flatten() {
        lab.bench.judge(THROTTLED, judgement);
    }
    lab.remove(&thing).await
}

/// What comes of it between two of the hook's actions; `None`: the hook cannot do it. A hook that fails has perhaps done a part of it, and
/// is told to put it right all the same.
async fn during<T>(
    lab: &Lab,
    [on, off]: [&str; 2],
    assertion: &'static crate::assertion::Assertion,
    work: impl AsyncFnOnce() -> Result<T, Stop>,
) -> Result<Option<T>, Stop> {
    let hands = &lab.bench.hands;
    let came = match hands.fault(on).await {
        Ok(false) => {
            let why = format!("the hook ended with 2: it cannot do {on}");
            lab.bench.not_applicable(assertion, &why);
            return Ok(None);
        }
        Ok(true) => work().await,
        Err(stop) => Err(stop),
    };
    // Whatever came of it, the upstream is put right.
    let off_again = hands.fault(off).await;
    let came = came?;
    if off_again? {
        return Ok(Some(came));
    }
    Err(Stop::blocked(format!(
        "the hook cannot do {off}, though it did {on}"
    )))
}

/// A look, an Update and a Create while the upstream throttles.
async fn calls(lab: &Lab, thing: &Thing) -> Result<Vec<Judgement>, Stop> {
    let mut judgements = vec![match lab.look(thing).await? {
        Look::Failed(failure) => throttled("Observe", failure.code),
        Look::Found(_) | Look::Absent(_) => Err("THROTTLED is due; the look worked".to_owned()),
    }];
    if lab.kind.capabilities.can_update {
        let answer = lab.bench.client.update(thing.update(), lab.terms()).await;
        judgements.push(not_done("Update", &outcome_of("Update", answer)?));
    }
    let mut other = lab.thing()?;
    let outcome = lab.create_once(&mut other, false).await?;
    judgements.push(not_done("Create", &outcome));
    Ok(judgements)
}

fn not_done(method: &str, outcome: &Outcome) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => throttled(method, failure.code),
        _ => Err(format!("THROTTLED is due; {method} worked")),
    }
}

fn throttled(method: &str, code: FailureCode) -> Judgement {
    holds(code == FailureCode::Throttled, || {
        format!("THROTTLED is due; {method} says {code:?}")
    })
}

fn found(look: &Look) -> Judgement {
    match look {
        Look::Found(_) => Ok(()),
        Look::Absent(_) => Err("it reads as absent".to_owned()),
        Look::Failed(failure) => Err(format!("the look failed: {}", failure.message)),
    }
}
