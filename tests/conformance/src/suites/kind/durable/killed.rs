//! Killed while Create runs.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::KILLED;
use crate::{
    clock::sleep_exactly,
    kind_context::KindContext,
    suites::kind::repeat::recover,
    verdict::{Stop, Verdict},
};

/// How often it is killed inside a creation: each time at another moment of it.
const KILLS: u32 = 3;

/// How often that is tried. A creation that was done before is taken for one that takes half the time.
const TRIALS: usize = 8;

/// A call of a process that no longer exists ends at once.
const CALL_END: Duration = Duration::from_secs(5);

pub(super) async fn killed_inside(ctx: &KindContext) -> Result<(), Stop> {
    if ctx.kind.capabilities.create_recovery.is_empty() {
        return Err(Stop::not_applicable(
            "the kind declares no recovery: a person is asked",
        ));
    }
    ctx.run_ctx.process_control.can_restart()?;
    // A plugin that cannot even create is none that loses creations.
    let begun = Instant::now();
    let mut resource = ctx.resource()?;
    let outcome = ctx.create_once(&mut resource, false).await?;
    let mut takes = begun.elapsed();
    let trace = ctx
        .follow(&mut resource, outcome, ctx.kind.timeouts.create)
        .await?;
    ctx.created(&trace)?;
    ctx.remove(&resource).await?;
    let mut verdict: Option<Verdict> = None;
    let mut kills = 0;
    for _ in 0..TRIALS {
        let (was_inside, came_of_it) = killed_after(ctx, takes * (kills + 1) / (KILLS + 1)).await?;
        // What was answered in time shows nothing that others do not, unless it is wrong.
        if was_inside || matches!(came_of_it, Verdict::Failed(_)) {
            verdict = verdict.max(Some(came_of_it));
        }
        if was_inside {
            kills += 1;
        } else {
            takes /= 2;
        }
        if kills == KILLS {
            break;
        }
    }
    let verdict = verdict.ok_or_else(|| {
        Stop::not_applicable("cannot be seen: a creation is done before the plugin can be killed")
    })?;
    ctx.run_ctx.note(KILLED, verdict);
    Ok(())
}

/// Whether the creation was not answered any more, and what came of it.
async fn killed_after(ctx: &KindContext, time: Duration) -> Result<(bool, Verdict), Stop> {
    let mut resource = ctx.resource()?;
    ctx.run_ctx.registry.add(&resource);
    let mut running = tokio::spawn({
        let client = ctx.run_ctx.client.clone();
        let request = resource.create(false);
        let options = ctx.options().tolerant();
        // However it ends: the bridge that sent it has lost the answer.
        async move { client.create(request, options).await.map(drop) }
    });
    sleep_exactly(time).await;
    ctx.run_ctx
        .process_control
        .restart(&ctx.run_ctx.client.channel())
        .await?;
    let response = timeout(CALL_END, &mut running).await;
    running.abort();
    let was_inside = !matches!(response, Ok(Ok(Ok(()))));
    Ok((was_inside, recover(ctx, &mut resource).await?))
}
