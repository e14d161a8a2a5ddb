//! An upstream that is down or throttles, by the author's hook.

use crossbridge_types::{FailureCode, ObserveResult, Outcome, OutcomeResult};

use tonic::Status;

use crate::{
    assertion::assertions,
    client::describe,
    kind_context::{KindContext, TestResource, observation_of, outcome_of},
    spelling::spell,
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
        if report.reaches_upstream {
            return Err(Stop::blocked(
                "the hook did upstream-down, and the upstream still answers: it is to end with 0 once nothing reaches it",
            ));
        }
        let back = ctx.observe_once(&resource).await?;
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
    let client = &ctx.run_ctx.client;
    let mut judgements = Vec::new();
    judgements.push(match client.observe(resource.observe(), ctx.options()).await {
        Err(status) => bare("Observe", &status),
        Ok(response) => match observation_of(Ok(response))? {
            ObserveResult::Failed(failure) => throttled("Observe", failure.code),
            ObserveResult::Found(_) => Err("expected THROTTLED, got an observation".to_owned()),
            ObserveResult::Absent(_) => Err("expected THROTTLED, got absence".to_owned()),
        },
    });
    if ctx.kind.capabilities.can_update {
        judgements.push(match client.update(resource.update(), ctx.options()).await {
            Err(status) => bare("Update", &status),
            Ok(response) => not_done("Update", &outcome_of("Update", Ok(response))?),
        });
    }
    let mut other = ctx.resource()?;
    judgements.push(match ctx.create_under(&mut other, false, ctx.options()).await {
        Err(status) => bare("Create", &status),
        Ok(outcome) => not_done("Create", &outcome?),
    });
    Ok(judgements)
}

/// The upstream's 429 as a gRPC status: the very error that this is about.
fn bare(method: &str, status: &Status) -> Judgement {
    Err(format!(
        "expected Failure THROTTLED, {method} ended in {}",
        describe(status)
    ))
}

fn not_done(method: &str, outcome: &Outcome) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => throttled(method, failure.code),
        _ => Err(format!("expected THROTTLED, {method} succeeded")),
    }
}

fn throttled(method: &str, code: FailureCode) -> Judgement {
    holds(code == FailureCode::Throttled, || {
        format!("expected THROTTLED, {method} reports {}", spell(code))
    })
}

fn found(observation: &ObserveResult) -> Judgement {
    match observation {
        ObserveResult::Found(_) => Ok(()),
        ObserveResult::Absent(_) => Err("it reads as absent".to_owned()),
        ObserveResult::Failed(failure) => Err(format!("the observation failed: {}", failure.message)),
    }
}
