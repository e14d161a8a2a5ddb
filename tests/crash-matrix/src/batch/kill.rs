//! The kill: which process, and when.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, SystemTime},
};

use fake_cloud::fault::{Fault, FaultOutcome, Rpc};
use tokio::time::{Instant, sleep};

use super::{Batch, Member, POLL_INTERVAL};
use crate::{
    TestError,
    case::{Case, KillTarget, Phase},
    failpoints::Reached,
};

/// An object that has not halted by then does not come by its point.
const HALT_WITHIN: Duration = Duration::from_secs(45);
/// The plugin stays down until all halted objects have continued, at most this long.
const PLUGIN_DOWNTIME: Duration = Duration::from_secs(1);
/// Milliseconds before the deadline of a call.
const DEADLINE_MARGIN_MS: i64 = 300;

impl Batch<'_> {
    /// Waits until every object of this phase's cases has halted, and kills.
    pub(super) async fn kill_when_halted(
        &mut self,
        phase: Phase,
        target: KillTarget,
    ) -> Result<(), TestError> {
        let awaited: BTreeSet<Reached> = self
            .members
            .iter()
            .filter_map(|member| {
                let case = member.case.as_ref().filter(|case| case.phase == phase)?;
                (case.mid_call().is_none()).then(|| (self.key(member), case.point.clone()))
            })
            .collect();
        if awaited.is_empty() {
            return Ok(());
        }
        let end = Instant::now() + HALT_WITHIN;
        let mut halted = BTreeSet::new();
        while halted.len() < awaited.len() && Instant::now() < end {
            sleep(POLL_INTERVAL).await;
            halted = self
                .points
                .reached()
                .into_iter()
                .filter(|reached| awaited.contains(reached))
                .collect();
        }
        match target {
            KillTarget::Bridge => {
                self.testbed.kill_bridge().await;
                self.start_bridge(Some(phase))?;
            }
            KillTarget::Plugin => {
                let before = self.points.reached().len();
                self.testbed.kill_plugin().await;
                self.points.go(phase)?;
                self.wait_until_resumed(before, &halted, PLUGIN_DOWNTIME).await;
                self.testbed.start_plugin()?;
            }
            KillTarget::Both => {
                self.testbed.kill_bridge().await;
                self.testbed.kill_plugin().await;
                self.testbed.start_plugin()?;
                self.start_bridge(Some(phase))?;
            }
            KillTarget::Leader => halted = self.pause_until_standby_leads(phase, &halted).await?,
        }
        for i in 0..self.members.len() {
            let hit = self.members[i]
                .case
                .as_ref()
                .is_some_and(|case| halted.contains(&(self.key(&self.members[i]), case.point.clone())));
            self.members[i].result.hit |= hit;
        }
        Ok(())
    }

    /// The calls of these cases hang in the cloud.
    pub(super) async fn prepare_mid_call(&self, phase: Phase) -> Result<(), TestError> {
        for member in &self.members {
            let case = member.case.as_ref().filter(|case| case.phase == phase);
            if let Some((rpc, fate)) = case.and_then(Case::mid_call) {
                let fault = Fault {
                    owner: Some(member.name.clone()),
                    ..Fault::once(rpc, fate)
                };
                self.testbed.cloud.inject(&fault).await.map_err(TestError::from)?;
            }
        }
        Ok(())
    }

    /// Kills the plugin while the calls hang.
    pub(super) async fn kill_mid_call(&mut self, phase: Phase) -> Result<(), TestError> {
        let mid_call = |member: &Member| {
            let case = member.case.as_ref().filter(|case| case.phase == phase)?;
            case.mid_call()
        };
        let mut awaited: BTreeMap<String, Rpc> = self
            .members
            .iter()
            .filter_map(|member| Some((member.name.clone(), mid_call(member)?.0)))
            .collect();
        // Polls come later than what they follow: they are hit by a blow of their own.
        let end = Instant::now() + HALT_WITHIN;
        while !awaited.is_empty() && Instant::now() < end {
            let hang = self.wait_until_hanging(&awaited, end).await?;
            self.testbed.kill_plugin().await;
            let killed = now();
            self.testbed.start_plugin()?;
            for member in &mut self.members {
                let in_time = hang.get(&member.name).is_some_and(|deadline| *deadline > killed);
                member.result.hit |= in_time;
            }
            awaited.retain(|name, _| !hang.contains_key(name));
        }
        Ok(())
    }

    /// Waits until all of these calls hang, or the first of them would soon be given up. Returns the deadlines of those that do.
    async fn wait_until_hanging(
        &self,
        awaited: &BTreeMap<String, Rpc>,
        end: Instant,
    ) -> Result<BTreeMap<String, i64>, TestError> {
        loop {
            sleep(POLL_INTERVAL / 5).await;
            let entries = self.testbed.cloud.entries().await.map_err(TestError::from)?;
            let hang: BTreeMap<String, i64> = entries
                .into_iter()
                .filter(|entry| {
                    entry.fate != FaultOutcome::Serve && awaited.get(&entry.owner) == Some(&entry.rpc)
                })
                .map(|entry| (entry.owner, entry.deadline))
                .collect();
            let first = hang.values().min();
            let soon = first.is_some_and(|first| now() + DEADLINE_MARGIN_MS > *first);
            if soon || hang.len() == awaited.len() || Instant::now() > end {
                return Ok(hang);
            }
        }
    }

    /// Waits until each of these objects has come by a later point, but not for longer.
    pub(super) async fn wait_until_resumed(
        &self,
        before: usize,
        halted: &BTreeSet<Reached>,
        longest: Duration,
    ) {
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
            sleep(POLL_INTERVAL / 5).await;
        }
    }
}

/// Now, as Unix milliseconds.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
