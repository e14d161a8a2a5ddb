//! An upstream that is down or throttles, by the author's hook.

use crossbridge_types::{FailureCode, ObserveResult, Outcome, OutcomeResult};

use crate::{
    assertion::assertions,
    kind_context::{KindContext, TestResource, outcome_of},
    suite::Suite,
    suites::kind::absence,
    verdict::{Judgement, Stop, holds},
};

assertions! {
    DOWN = "upstream/down-never-absent", Durable, "Absent",
        "While the upstream is down, what exists does not read as absent.",
        "Return Absent only when the upstream itself reports that there is no such resource.";
    RECOVERED = "upstream/recovers", Durable, "FailureCode.FAILURE_CODE_UNAVAILABLE",
        "Once the upstream is available again, the next call succeeds.",
        "Drop broken connections, and cache no error.";
    THROTTLED = "upstream/throttled-is-failure", Durable, "FailureCode.FAILURE_CODE_THROTTLED",
        "While the upstream throttles, Observe, Update and Create are Failure THROTTLED.",
        "Translate the upstream's 429 into THROTTLED with retry_after; never a gRPC status.";
}

pub(crate) const SUITE: Suite<KindContext> = Suite {
    assertions: ALL,
    run: |ctx| Box::pin(run(ctx)),
};

async fn run(ctx: &KindContext) -> Result<(), Stop> {
    if !ctx.run_ctx.process_control.can_fault() {
        return Err(Stop::not_applicable("give --fault-cmd"));
    }
    if !ctx.kind.capabilities.can_create {
        return Err(Stop::not_applicable("the kind cannot be created"));
    }
    let mut resource = ctx.create_new().await?;
    let report = during(ctx, ["upstream-down", "upstream-up"], DOWN, async || {
        absence::absence_report(ctx, &resource).await
    });
    if let Some(report) = report.await? {
        let back = ctx.observe(&resource).await?;
        let is_absent = report.may_be_deleted && matches!(back, ObserveResult::Absent(_));
        ctx.run_ctx
            .judge(RECOVERED, if is_absent { Ok(()) } else { found(&back) });
        ctx.run_ctx.judge(DOWN, report.settled(ctx, &resource).await?);
        resource = absence::ensure_exists(ctx, resource).await?;
    }
    let calls = during(ctx, ["throttle", "throttle-off"], THROTTLED, async || {
        calls(ctx, &resource).await
    });
    for judgement in calls.await?.into_iter().flatten() {
        ctx.run_ctx.judge(THROTTLED, judgement);
    }
    ctx.remove(&resource).await
}

/// What comes of it between two of the hook's actions; `None`: the hook cannot do it. A hook that fails has perhaps done a part of it, and
/// is instructed to put it right all the same.
async fn during<T>(
    ctx: &KindContext,
    [on, off]: [&str; 2],
    assertion: &'static crate::assertion::Assertion,
    work: impl AsyncFnOnce() -> Result<T, Stop>,
) -> Result<Option<T>, Stop> {
    let process_control = &ctx.run_ctx.process_control;
    let came = match process_control.fault(on).await {
        Ok(false) => {
            let why = format!("the hook ended with 2: it cannot do {on}");
            ctx.run_ctx.not_applicable(assertion, &why);
            return Ok(None);
        }
        Ok(true) => work().await,
        Err(stop) => Err(stop),
    };
    // Whatever came of it, the upstream is put right.
    let off_again = process_control.fault(off).await;
    let came = came?;
    if off_again? {
        return Ok(Some(came));
    }
    Err(Stop::blocked(format!(
        "the hook cannot do {off}, though it did {on}"
    )))
}

/// An observation, an Update and a Create while the upstream throttles.
async fn calls(ctx: &KindContext, resource: &TestResource) -> Result<Vec<Judgement>, Stop> {
    let mut judgements = vec![match ctx.observe(resource).await? {
        ObserveResult::Failed(failure) => throttled("Observe", failure.code),
        ObserveResult::Found(_) | ObserveResult::Absent(_) => {
            Err("THROTTLED is due; the observation worked".to_owned())
        }
    }];
    if ctx.kind.capabilities.can_update {
        let response = ctx.run_ctx.client.update(resource.update(), ctx.options()).await;
        judgements.push(not_done("Update", &outcome_of("Update", response)?));
    }
    let mut other = ctx.resource()?;
    let outcome = ctx.create_once(&mut other, false).await?;
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
        format!("THROTTLED is due; {method} reports {code:?}")
    })
}

fn found(observation: &ObserveResult) -> Judgement {
    match observation {
        ObserveResult::Found(_) => Ok(()),
        ObserveResult::Absent(_) => Err("it reads as absent".to_owned()),
        ObserveResult::Failed(failure) => Err(format!("the observation failed: {}", failure.message)),
    }
}
