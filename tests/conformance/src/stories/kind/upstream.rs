//! An upstream in trouble, by the author's hook.

use crossbridge_proto::checked::{FailureCode, Look};

use crate::{
    assertion::assertions,
    lab::{Lab, Thing},
    stories::kind::configs::not_absent,
    story::Story,
    verdict::{Judgement, Stop},
};

assertions! {
    DOWN = "upstream/down-never-absent", Durable, "Absent",
        "While the upstream is down, what exists does not read as absent.",
        "Answer Absent only for the upstream's own word that there is no such resource.";
    RECOVERED = "upstream/recovers", Durable, "FailureCode.FAILURE_CODE_UNAVAILABLE",
        "Once the upstream is back, the next call works.",
        "Let broken connections go, and keep no error.";
    THROTTLED = "upstream/throttled-is-a-failure", Durable, "FailureCode.FAILURE_CODE_THROTTLED",
        "While the upstream throttles, calls are Failure THROTTLED.",
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
    let thing = lab.made().await?;
    if let Some(look) = during(lab, &thing, ["upstream-down", "upstream-up"], DOWN).await? {
        lab.bench.judge(DOWN, not_absent(&look));
        let back = lab.look(&thing).await?;
        lab.bench.judge(RECOVERED, found(&back));
    }
    if let Some(look) = during(lab, &thing, ["throttle", "throttle-off"], THROTTLED).await? {
        lab.bench.judge(THROTTLED, throttled(&look));
    }
    lab.remove(&thing).await
}

/// A look between two of the hook's actions; `None`: the hook cannot do it.
async fn during(
    lab: &Lab,
    thing: &Thing,
    [on, off]: [&str; 2],
    assertion: &'static crate::assertion::Assertion,
) -> Result<Option<Look>, Stop> {
    let hands = &lab.bench.hands;
    if let Err(Stop::Blocked(why)) = hands.fault(on).await {
        lab.bench.not_applicable(assertion, &format!("{on}: {why}"));
        return Ok(None);
    }
    let look = lab.look(thing).await;
    // Whatever came of it, the upstream is put right.
    hands.fault(off).await?;
    look.map(Some)
}

fn found(look: &Look) -> Judgement {
    match look {
        Look::Found(_) => Ok(()),
        Look::Absent(_) => Err("it reads as absent".to_owned()),
        Look::Failed(failure) => Err(format!("the look failed: {}", failure.message)),
    }
}

fn throttled(look: &Look) -> Judgement {
    match look {
        Look::Failed(failure) if failure.code == FailureCode::Throttled => Ok(()),
        Look::Failed(failure) => Err(format!("THROTTLED is due; it says {:?}", failure.code)),
        Look::Found(_) | Look::Absent(_) => Err("THROTTLED is due; the look worked".to_owned()),
    }
}
