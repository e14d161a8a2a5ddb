//! Creations that are cut: by their deadline, or by a caller that goes away.

use std::{collections::BTreeSet, time::Duration};

use crossbridge_types::{NameSource, ObserveResult, Outcome, OutcomeResult};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::{DEADLINE_CUT, NO_EFFECT_AFTER_CANCELLATION, NO_EFFECT_AFTER_DEADLINE, judge, promises, recover};
use crate::{
    assertion::Assertion,
    client::CallOptions,
    clock::sleep_exactly,
    kind_context::{KindContext, TestResource},
    suites::kind::lifecycle::EXISTS,
    verdict::{Judgement, Stop, Verdict},
};

/// How long a creation may run, in microseconds, the longest first: what is not cut by one is tried with the next.
const CUTS: [u64; 9] = [50_000, 20_000, 10_000, 5_000, 2_000, 1_000, 500, 200, 100];

/// A caller that goes away may have waited for longer: a creation that takes so long has surely reached the plugin, also on a busy machine.
const LONGEST_CUT: u64 = 200_000;

/// A step that was under way at the deadline may still end on a busy machine: the bridge grants much more, for clocks that differ.
const GRACE: Duration = Duration::from_millis(500);

/// How long nothing may come about after that, at least and at most.
const QUIET_PERIOD: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// Work that goes on without its call takes as long as a creation does, and longer where it is tried again: so many creations are waited for.
const CREATIONS: u32 = 3;

const UNSEEN: &str =
    "cannot be seen: the kind cannot be observed without a name, and does not list what has its marker";

const TOO_FAST: &str = "cannot be seen: a creation is done before it can be cut";

/// In both ways, and at the same time where two resources have two names: most of it is waiting.
pub(super) async fn run(ctx: &KindContext) -> Result<(), Stop> {
    let quiet_period = quiet_period(ctx).await?;
    if ctx.kind.external_name.source == NameSource::Derived {
        by_deadline(ctx, quiet_period).await?;
        return by_cancellation(ctx, quiet_period).await;
    }
    let (by_deadline, by_cancellation) =
        tokio::join!(by_deadline(ctx, quiet_period), by_cancellation(ctx, quiet_period));
    by_deadline.and(by_cancellation)
}

/// By a creation that no one cuts.
async fn quiet_period(ctx: &KindContext) -> Result<Duration, Stop> {
    let begun = Instant::now();
    let mut resource = ctx.resource()?;
    let outcome = ctx.create_once(&mut resource, false).await?;
    let takes = begun.elapsed();
    finish(ctx, &mut resource, outcome).await?;
    Ok((takes * CREATIONS).clamp(QUIET_PERIOD.0, QUIET_PERIOD.1))
}

/// Cut by its deadline, watched, then repeated.
async fn by_deadline(ctx: &KindContext, quiet_period: Duration) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    if !can_observe(ctx) {
        run_ctx.not_applicable(NO_EFFECT_AFTER_DEADLINE, UNSEEN);
        if !promises(ctx) {
            run_ctx.not_applicable(DEADLINE_CUT, "the kind declares no recovery: a person is asked");
            return Ok(());
        }
    }
    for limit in CUTS.map(Duration::from_micros) {
        let mut resource = ctx.resource()?;
        // Its result does not matter.
        let options = CallOptions::within(limit).tolerant();
        if let Some(outcome) = created_within(ctx, &mut resource, options, limit).await {
            finish(ctx, &mut resource, outcome).await?;
            continue;
        }
        let cut = resource.clone();
        if can_observe(ctx) {
            run_ctx.note(
                NO_EFFECT_AFTER_DEADLINE,
                no_effect_follows(ctx, &resource, quiet_period).await,
            );
        }
        let verdict = recover(ctx, &mut resource).await?;
        run_ctx.note(DEADLINE_CUT, verdict);
        watch(ctx, cut, NO_EFFECT_AFTER_DEADLINE);
        return Ok(());
    }
    for assertion in [NO_EFFECT_AFTER_DEADLINE, DEADLINE_CUT] {
        run_ctx.not_applicable(assertion, TOO_FAST);
    }
    Ok(())
}

/// The caller goes away, and watches from afar.
async fn by_cancellation(ctx: &KindContext, quiet_period: Duration) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    if !can_observe(ctx) {
        run_ctx.not_applicable(NO_EFFECT_AFTER_CANCELLATION, UNSEEN);
        return Ok(());
    }
    for limit in [LONGEST_CUT].into_iter().chain(CUTS).map(Duration::from_micros) {
        let mut resource = ctx.resource()?;
        let options = ctx.options().tolerant();
        if let Some(outcome) = created_within(ctx, &mut resource, options, limit).await {
            finish(ctx, &mut resource, outcome).await?;
            continue;
        }
        run_ctx.note(
            NO_EFFECT_AFTER_CANCELLATION,
            no_effect_follows(ctx, &resource, quiet_period).await,
        );
        ctx.remove(&resource).await?;
        watch(ctx, resource, NO_EFFECT_AFTER_CANCELLATION);
        return Ok(());
    }
    run_ctx.not_applicable(NO_EFFECT_AFTER_CANCELLATION, TOO_FAST);
    Ok(())
}

fn can_observe(ctx: &KindContext) -> bool {
    let lists = ctx.run_ctx.info().is_ok_and(|info| info.lists_external);
    is_observable(ctx) || lists && ctx.kind.capabilities.holds_marker
}

/// Whether an observation finds it, though no one was reported its name.
fn is_observable(ctx: &KindContext) -> bool {
    ctx.kind.external_name.source == NameSource::User || ctx.observes_without_name()
}

/// Creates it, and waits no longer than this; what was created in time, where a failure is nothing.
async fn created_within(
    ctx: &KindContext,
    resource: &mut TestResource,
    options: CallOptions,
    limit: Duration,
) -> Option<Outcome> {
    let response = tokio::select! {
        response = ctx.create_under(resource, false, options) => response,
        () = sleep_exactly(limit) => return None,
    };
    let outcome = response.ok()?.ok()?;
    (!matches!(outcome.result, OutcomeResult::Failure(_))).then_some(outcome)
}

/// Removes what was not cut.
async fn finish(ctx: &KindContext, resource: &mut TestResource, outcome: Outcome) -> Result<(), Stop> {
    if !ctx.kind.capabilities.delete_during_create {
        ctx.follow(resource, outcome, ctx.kind.timeouts.create).await?;
    }
    ctx.remove(resource).await
}

async fn no_effect_follows(ctx: &KindContext, resource: &TestResource, quiet_period: Duration) -> Verdict {
    if ctx.run_ctx.has_failed(EXISTS) {
        let why = "what was created is found late even where its creation is not interrupted";
        return Verdict::Blocked(why.to_owned());
    }
    sleep(GRACE).await;
    ctx.wait_for_consistency().await;
    match watched(ctx, resource, quiet_period).await {
        Ok(judged) => judged.map_or_else(Verdict::Failed, |()| Verdict::Passed),
        Err(stop) => stop.into(),
    }
}

async fn watched(
    ctx: &KindContext,
    resource: &TestResource,
    quiet_period: Duration,
) -> Result<Judgement, Stop> {
    if !existing_names(ctx, resource).await?.is_empty() {
        // In time: nothing is left to come.
        return Ok(Ok(()));
    }
    sleep(quiet_period).await;
    Ok(judge::no_late_effect(&existing_names(ctx, resource).await?))
}

/// The names of what came of it.
async fn existing_names(ctx: &KindContext, resource: &TestResource) -> Result<BTreeSet<String>, Stop> {
    if !is_observable(ctx) {
        let found = ctx.matching_names(resource).await?;
        return found.ok_or_else(|| Stop::not_applicable(UNSEEN));
    }
    match ctx.observe(resource).await? {
        ObserveResult::Found(found) => Ok(BTreeSet::from([found.external_name])),
        ObserveResult::Absent(_) => Ok(BTreeSet::new()),
        ObserveResult::Failed(failure) => Err(Stop::blocked(format!("Observe failed: {}", failure.message))),
    }
}

/// Has it searched for once more in the end. One desired state is one derived name: that would find another's.
fn watch(ctx: &KindContext, resource: TestResource, assertion: &'static Assertion) {
    let can_tell = can_observe(ctx) && ctx.kind.external_name.source != NameSource::Derived;
    if can_tell && !ctx.run_ctx.has_failed(EXISTS) {
        ctx.run_ctx.registry.watch(resource, assertion);
    }
}

/// Searches once more for interrupted creations that were cleaned up: some work continues for long without its call.
pub(crate) async fn check_late_effects(ctx: &KindContext) {
    for (resource, assertion) in ctx.run_ctx.registry.watched(&ctx.kind.resource_type.kind) {
        // A failed Observe shows nothing.
        let names = existing_names(ctx, &resource).await.unwrap_or_default();
        if !names.is_empty() {
            ctx.run_ctx.judge(assertion, judge::no_late_effect(&names));
        }
        for name in names {
            let mut late = resource.clone().with_name(&name);
            late.token = Uuid::new_v4().to_string();
            ctx.run_ctx.registry.add(&late);
            // What cannot be deleted is reported at the end.
            let _ = ctx.remove(&late).await;
        }
    }
}
