//! One batch: stories side by side, one kill, and what came of each.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use tokio::time::{Instant, sleep};

use super::{
    processes::Processes,
    record::Record,
    stage::Stage,
    story::{EndingCase, Story, Target},
    story_name,
    verdict::{Faults, is_over, judge},
};
use crate::{
    TestError,
    failpoints::{Failpoints, Reached},
};

const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Stories that are set up at the same time.
const SIDE_BY_SIDE: usize = 16;
const READY_WITHIN: Duration = Duration::from_mins(4);
/// A story that has not halted by then does not come by its point, nor does one once nothing has been reached for a while.
const HALT_WITHIN: Duration = Duration::from_mins(1);
const STILL_FOR: Duration = Duration::from_secs(12);
/// Two minutes after its start a bridge believes that nothing of a former one can land any more.
const OVER_WITHIN: Duration = Duration::from_mins(5);
/// Nothing that is recorded changes for so long before users act.
const QUIET_FOR: Duration = Duration::from_secs(2);

const TERM_IS_OLDER: Duration = Duration::from_millis(1_500);

/// What came of a case.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EndingResult {
    /// The case's name.
    pub case: String,
    /// What ended.
    pub story: Story,
    /// Where the bridge halted.
    pub point: String,
    /// What was done to it there.
    pub target: Target,
    /// The point was reached, and the kill came there.
    pub hit: bool,
    /// What went wrong; empty: nothing.
    pub faults: Faults,
}

struct Member {
    name: String,
    story: Story,
    case: Option<EndingCase>,
}

/// Runs one story of each kind undisturbed; the points that it came by.
///
/// # Errors
/// Something cannot be started, or one does not end as it should.
pub async fn record_points(stage: &mut Stage) -> Result<BTreeMap<Story, Vec<String>>, TestError> {
    let members: Vec<Member> = Story::ALL
        .into_iter()
        .map(|story| member(stage, story, None))
        .collect();
    let points = failpoints(stage, &members)?;
    stage.processes.start_bridge(Some(points.folder())).await?;
    set_up(stage, &members).await?;
    points.begin_endings()?;
    let acts = act(stage, &members);
    wait_until_over(&stage.record, &members).await;
    stage.processes.stop_bridges().await?;
    drop(acts);
    let mut recorded: BTreeMap<Story, Vec<String>> = BTreeMap::new();
    for member in &members {
        let faults = judge(member.story, &stage.record.of(&member.name));
        if !faults.is_empty() {
            let faults: Vec<&str> = faults.all().map(String::as_str).collect();
            let what = faults.join("; ");
            let lives = stage.record.of(&member.name);
            return Err(TestError(format!(
                "{} undisturbed: {what}\n{lives:#?}",
                member.story.name()
            )));
        }
        let reached = points.reached().into_iter();
        let of_it = reached.filter(|(story, _)| *story == member.name);
        recorded.insert(member.story, of_it.map(|(_, point)| point).collect());
    }
    Ok(recorded)
}

/// Runs these cases, which have one target.
///
/// # Errors
/// Something cannot be started, or does not become ready.
pub async fn run(
    stage: &mut Stage,
    target: Target,
    cases: Vec<EndingCase>,
) -> Result<Vec<EndingResult>, TestError> {
    let members: Vec<Member> = cases
        .into_iter()
        .map(|case| member(stage, case.story, Some(case)))
        .collect();
    let points = failpoints(stage, &members)?;
    match target {
        Target::Bridge => stage.processes.start_bridge(Some(points.folder())).await?,
        Target::Leader => stage.processes.start_pair(points.folder()).await?,
    }
    set_up(stage, &members).await?;
    points.begin_endings()?;
    let acts = act(stage, &members);
    let halted = wait_until_halted(&points, &members).await;
    let hit = match target {
        Target::Bridge => {
            stage.processes.replace_bridge().await?;
            halted
        }
        Target::Leader => pause(&mut stage.processes, &points, &halted).await?,
    };
    wait_until_over(&stage.record, &members).await;
    stage.processes.stop_bridges().await?;
    drop(acts);
    let results = members.iter().filter_map(|member| {
        let case = member.case.as_ref()?;
        Some(EndingResult {
            case: case.to_string(),
            story: case.story,
            point: case.point.clone(),
            target,
            hit: hit.contains(&(member.name.clone(), case.point.clone())),
            faults: judge(case.story, &stage.record.of(&member.name)),
        })
    });
    Ok(results.collect())
}

fn member(stage: &mut Stage, story: Story, case: Option<EndingCase>) -> Member {
    stage.stories += 1;
    Member {
        name: story_name(stage.stories),
        story,
        case,
    }
}

fn failpoints(stage: &Stage, members: &[Member]) -> Result<Failpoints, TestError> {
    let halts = members.iter().filter_map(|member| {
        let case = member.case.as_ref()?;
        Some((member.name.clone(), case.point.clone()))
    });
    let folder = stage.processes.folder().join(format!("points-{}", stage.stories));
    Failpoints::new(folder, &halts.collect())
}

async fn set_up(stage: &Stage, members: &[Member]) -> Result<(), TestError> {
    // What is created in the second in which a bridge began to lead may have been created before: its end would wait for two minutes.
    sleep(TERM_IS_OLDER).await;
    stream::iter(members)
        .map(|member| stage.create(member.story, &member.name))
        .buffer_unordered(SIDE_BY_SIDE)
        .try_collect::<()>()
        .await?;
    let end = Instant::now() + READY_WITHIN;
    for member in members {
        while !stage.is_whole(member.story, &member.name) {
            if Instant::now() > end {
                let lives = stage.record.of(&member.name);
                let what = member.story.name();
                return Err(TestError(format!("{what} is not ready: {lives:#?}")));
            }
            sleep(POLL_INTERVAL).await;
        }
    }
    let mut quiet = (stage.record.latest(), Instant::now());
    while quiet.1.elapsed() < QUIET_FOR {
        sleep(POLL_INTERVAL).await;
        let latest = stage.record.latest();
        if latest != quiet.0 {
            quiet = (latest, Instant::now());
        }
    }
    Ok(())
}

/// Each user acts for itself: one that applies a successor tries until the API server takes it.
fn act(stage: &Stage, members: &[Member]) -> tokio::task::JoinSet<()> {
    let mut acts = tokio::task::JoinSet::new();
    for member in members {
        let (user, story, name) = (stage.user(), member.story, member.name.clone());
        acts.spawn(async move { user.act(story, &name).await });
    }
    acts
}

async fn wait_until_halted(points: &Failpoints, members: &[Member]) -> BTreeSet<Reached> {
    let awaited: BTreeSet<Reached> = members
        .iter()
        .filter_map(|member| Some((member.name.clone(), member.case.as_ref()?.point.clone())))
        .collect();
    let end = Instant::now() + HALT_WITHIN;
    let mut last = (0, Instant::now());
    loop {
        let reached = points.reached();
        if reached.len() != last.0 {
            last = (reached.len(), Instant::now());
        }
        let halted: BTreeSet<Reached> = reached.into_iter().filter(|one| awaited.contains(one)).collect();
        if halted.len() == awaited.len() || Instant::now() > end || last.1.elapsed() > STILL_FOR {
            return halted;
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Stops the leader until its standby leads, and wakes it: what it was about to write is written then. Returns who went on.
async fn pause(
    processes: &mut Processes,
    points: &Failpoints,
    halted: &BTreeSet<Reached>,
) -> Result<BTreeSet<Reached>, TestError> {
    processes.stall_leader().await?;
    points.go_on_with_endings()?;
    processes.resume_former_leader();
    let end = Instant::now() + HALT_WITHIN;
    loop {
        let resumed: BTreeSet<Reached> = points.resumed().into_iter().collect();
        if halted.is_subset(&resumed) || Instant::now() > end {
            return Ok(halted.intersection(&resumed).cloned().collect());
        }
        sleep(POLL_INTERVAL).await;
    }
}

async fn wait_until_over(record: &Record, members: &[Member]) {
    let end = Instant::now() + OVER_WITHIN;
    for member in members {
        while !is_over(member.story, &record.of(&member.name)) && Instant::now() < end {
            sleep(POLL_INTERVAL).await;
        }
    }
}
