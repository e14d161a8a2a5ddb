//! Killed while Create runs.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::KILLED;
use crate::{
    clock::pass,
    lab::Lab,
    stories::kind::repeat::recover,
    verdict::{Stop, Verdict},
};

/// How often it is killed inside a creation: each time at another moment of it.
const KILLS: u32 = 3;

/// How often that is tried. A creation that was done before is taken for one that takes half the time.
const TRIALS: usize = 8;

/// A call of a process that is gone ends at once.
const CALL_END: Duration = Duration::from_secs(5);

pub(super) async fn killed_inside(lab: &Lab) -> Result<(), Stop> {
    if lab.kind.capabilities.create_recovery.is_empty() {
        return Err(Stop::not_applicable(
            "the kind declares no recovery: a person is asked",
        ));
    }
    lab.bench.hands.can_restart()?;
    // A plugin that cannot even create is none that loses creations.
    let begun = Instant::now();
    let mut thing = lab.thing()?;
    let outcome = lab.create_once(&mut thing, false).await?;
    let mut takes = begun.elapsed();
    let trail = lab.follow(&mut thing, outcome, lab.kind.timeouts.create).await?;
    trail.completed("Create")?;
    lab.remove(&thing).await?;
    let mut verdict: Option<Verdict> = None;
    let mut kills = 0;
    for _ in 0..TRIALS {
        let (was_inside, came_of_it) = killed_after(lab, takes * (kills + 1) / (KILLS + 1)).await?;
        // What was answered in time tells nothing that others do not, unless it is wrong.
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
    let verdict =
        verdict.ok_or_else(|| Stop::not_applicable("a creation is done before the plugin can be killed"))?;
    lab.bench.note(KILLED, verdict);
    Ok(())
}

/// Whether the creation was not answered any more, and what came of it.
async fn killed_after(lab: &Lab, time: Duration) -> Result<(bool, Verdict), Stop> {
    let mut thing = lab.thing()?;
    lab.bench.registry.enter(&thing);
    let mut running = tokio::spawn({
        let client = lab.bench.client.clone();
        let request = thing.create(false);
        let terms = lab.terms().rough();
        // However it ends: the bridge that sent it has lost the answer.
        async move { client.create(request, terms).await.map(drop) }
    });
    pass(time).await;
    lab.bench.hands.restart(&lab.bench.client.channel()).await?;
    let answer = timeout(CALL_END, &mut running).await;
    running.abort();
    let was_inside = !matches!(answer, Ok(Ok(Ok(()))));
    Ok((was_inside, recover(lab, &mut thing).await?))
}
