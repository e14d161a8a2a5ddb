//! The blow: who is killed or stopped, and when.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use fake_cloud::fault::{Fate, Fault, Rpc};
use tokio::time::{Instant, sleep};

use super::{ASK_AGAIN, Batch, Member};
use crate::{
    Trouble,
    case::{Case, Phase, Victim},
    points::Reached,
};

/// An object that has not halted by then does not come by its point.
const HALT_WITHIN: Duration = Duration::from_secs(45);
/// The plugin stays dead until all that halted have gone on, but not longer.
const DEAD_FOR: Duration = Duration::from_secs(1);
/// Milliseconds before the deadline of a call.
const GIVEN_UP_SOON: i64 = 300;

impl Batch<'_> {
    /// Waits until every object of this phase's cases has halted, and kills.
    pub(super) async fn strike(&mut self, phase: Phase, victim: Victim) -> Result<(), Trouble> {
        let awaited: BTreeSet<Reached> = self
            .members
            .iter()
            .filter_map(|member| {
                let case = member.case.as_ref().filter(|case| case.phase == phase)?;
                (case.amid().is_none()).then(|| (self.key(member), case.point.clone()))
            })
            .collect();
        if awaited.is_empty() {
            return Ok(());
        }
        let end = Instant::now() + HALT_WITHIN;
        let mut halted = BTreeSet::new();
        while halted.len() < awaited.len() && Instant::now() < end {
            sleep(ASK_AGAIN).await;
            halted = self
                .points
                .reached()
                .into_iter()
                .filter(|reached| awaited.contains(reached))
                .collect();
        }
        match victim {
            Victim::Bridge => {
                self.stage.kill_bridge().await;
                self.start_bridge(Some(phase))?;
            }
            Victim::Plugin => {
                let before = self.points.reached().len();
                self.stage.kill_plugin().await;
                self.points.go(phase)?;
                self.until_moved_on(before, &halted, DEAD_FOR).await;
                self.stage.start_plugin()?;
            }
            Victim::Both => {
                self.stage.kill_bridge().await;
                self.stage.kill_plugin().await;
                self.stage.start_plugin()?;
                self.start_bridge(Some(phase))?;
            }
            Victim::Leader => halted = self.outlive_the_lease(phase, &halted).await?,
        }
        for i in 0..self.members.len() {
            let hit = self.members[i]
                .case
                .as_ref()
                .is_some_and(|case| halted.contains(&(self.key(&self.members[i]), case.point.clone())));
            self.members[i].line.hit |= hit;
        }
        Ok(())
    }

    /// The calls of these cases hang in the cloud.
    pub(super) async fn prepare_amid(&self, phase: Phase) -> Result<(), Trouble> {
        for member in &self.members {
            let case = member.case.as_ref().filter(|case| case.phase == phase);
            if let Some((rpc, fate)) = case.and_then(Case::amid) {
                let fault = Fault {
                    owner: Some(member.name.clone()),
                    ..Fault::once(rpc, fate)
                };
                self.stage.cloud.inject(&fault).await.map_err(Trouble::from)?;
            }
        }
        Ok(())
    }

    /// Kills the plugin while the calls hang.
    pub(super) async fn strike_amid(&mut self, phase: Phase) -> Result<(), Trouble> {
        let amid = |member: &Member| {
            let case = member.case.as_ref().filter(|case| case.phase == phase)?;
            case.amid()
        };
        let mut awaited: BTreeMap<String, Rpc> = self
            .members
            .iter()
            .filter_map(|member| Some((member.name.clone(), amid(member)?.0)))
            .collect();
        // Polls come later than what they follow: they are hit by a blow of their own.
        let end = Instant::now() + HALT_WITHIN;
        while !awaited.is_empty() && Instant::now() < end {
            let hang = self.until_they_hang(&awaited, end).await?;
            self.stage.kill_plugin().await;
            let killed = now();
            self.stage.start_plugin()?;
            for member in &mut self.members {
                let in_time = hang.get(&member.name).is_some_and(|deadline| *deadline > killed);
                member.line.hit |= in_time;
            }
            awaited.retain(|name, _| !hang.contains_key(name));
        }
        Ok(())
    }

    /// Waits until all of these calls hang, or the first of them would soon be given up. Returns the deadlines of those that do.
    async fn until_they_hang(
        &self,
        awaited: &BTreeMap<String, Rpc>,
        end: Instant,
    ) -> Result<BTreeMap<String, i64>, Trouble> {
        loop {
            sleep(ASK_AGAIN / 5).await;
            let entries = self.stage.cloud.entries().await.map_err(Trouble::from)?;
            let hang: BTreeMap<String, i64> = entries
                .into_iter()
                .filter(|entry| entry.fate != Fate::Serve && awaited.get(&entry.owner) == Some(&entry.rpc))
                .map(|entry| (entry.owner, entry.deadline))
                .collect();
            let first = hang.values().min();
            let soon = first.is_some_and(|first| now() + GIVEN_UP_SOON > *first);
            if soon || hang.len() == awaited.len() || Instant::now() > end {
                return Ok(hang);
            }
        }
    }

    /// Waits until each of these objects has come by a later point, but not for longer.
    pub(super) async fn until_moved_on(&self, before: usize, halted: &BTreeSet<Reached>, longest: Duration) {
        let end = Instant::now() + longest;
        let moved = || {
            let later = self.points.reached();
            let moved: BTreeSet<&str> = later[before..]
                .iter()
                .map(|(object, _)| object.as_str())
                .collect();
            halted.iter().all(|(object, _)| moved.contains(object.as_str()))
        };
        while !moved() && Instant::now() < end {
            sleep(ASK_AGAIN / 5).await;
        }
    }
}

/// Unix milliseconds.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
