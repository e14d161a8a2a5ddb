//! A leader that is paused beyond its lease: when it resumes, it begins nothing that needs the lease.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::{Instant, sleep};

use super::{Batch, POLL_INTERVAL};
use crate::{TestError, case::Phase, failpoints::Reached};

/// A resumed process has continued by then, or its case shows nothing.
const RESUME_LIMIT: Duration = Duration::from_secs(10);
/// Its next step comes at once, if there is one.
const STEP_LIMIT: Duration = Duration::from_secs(1);

/// What only a leader does.
const LEASE_STEPS: [&str; 6] = ["intent", "create", "update", "delete", "poll", "finalizer"];

/// The leader sleeps, and another one leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LeaderPause {
    /// Failpoints that it had reached.
    reached: usize,
    /// How often the lease had changed hands when the other one had it.
    transitions: u64,
}

impl Batch<'_> {
    /// Stops the leader until its standby leads, and wakes it. Returns which of `halted` went on: only they were put to the test.
    pub(super) async fn pause_until_standby_leads(
        &mut self,
        phase: Phase,
        halted: &BTreeSet<Reached>,
    ) -> Result<BTreeSet<Reached>, TestError> {
        self.testbed.stall_leader().await?;
        let before = self.points.reached().len();
        self.sleep = Some(LeaderPause {
            reached: before,
            transitions: self.testbed.lease_transitions().await?,
        });
        self.points.go(phase)?;
        self.testbed.resume_former_leader();
        let end = Instant::now() + RESUME_LIMIT;
        let resumed = loop {
            let resumed: BTreeSet<Reached> = self.points.resumed().into_iter().collect();
            if halted.is_subset(&resumed) || Instant::now() > end {
                break resumed;
            }
            sleep(POLL_INTERVAL / 5).await;
        };
        self.wait_until_resumed(before, halted, STEP_LIMIT).await;
        Ok(halted.intersection(&resumed).cloned().collect())
    }

    /// Judges what the old leader did since it woke. It has ended, and `transitions` is how often the lease had changed hands until then: if it
    /// did so again, the old leader may have led again, and nothing is shown.
    pub(super) fn judge_former_leader(&mut self, phase: Phase, transitions: u64) {
        let Some(sleep) = self.sleep.take() else { return };
        let reached = self.points.reached();
        let later = &reached[sleep.reached.min(reached.len())..];
        for i in 0..self.members.len() {
            let of_this_phase =
                |member: &super::Member| member.case.as_ref().is_some_and(|case| case.phase == phase);
            if !of_this_phase(&self.members[i]) || !self.members[i].result.hit {
                continue;
            }
            if transitions != sleep.transitions {
                self.members[i].result.hit = false;
                continue;
            }
            let key = self.key(&self.members[i]);
            if let Some(point) = first_step_without_lease(later, &key) {
                let what = format!("the old leader went on without the lease: {point}");
                self.members[i].result.wrong(phase, what);
            }
        }
    }
}

/// The first step that needs the lease, of what was done to this object. It had halted, so that nothing was under way when the lease went.
fn first_step_without_lease<'r>(later: &'r [Reached], object: &str) -> Option<&'r str> {
    let mut points = later
        .iter()
        .filter(|(of, _)| of == object)
        .map(|(_, point)| point.as_str());
    points.find(|point| {
        let done = point
            .split_once("/after ")
            .and_then(|(_, what)| what.split_once('#'));
        done.is_some_and(|(what, _)| LEASE_STEPS.contains(&what))
    })
}

#[cfg(test)]
mod tests {
    use super::{Reached, first_step_without_lease};

    fn log(results: &[(&str, &str)]) -> Vec<Reached> {
        let results = results.iter();
        results
            .map(|(object, point)| ((*object).to_owned(), (*point).to_owned()))
            .collect()
    }

    /// Trace 1: it slept after its intent.
    #[test]
    fn any_leader_step_after_resuming_is_a_violation() {
        let later = log(&[
            ("n/other", "create/after create#1"),
            ("n/one", "create/before create#1"),
            ("n/one", "create/after create#1"),
        ]);
        assert_eq!(
            first_step_without_lease(&later, "n/one"),
            Some("create/after create#1")
        );
        for point in [
            "create/after intent#2",
            "delete/after finalizer#1",
            "update/after poll#3",
        ] {
            assert_eq!(
                first_step_without_lease(&log(&[("n/one", point)]), "n/one"),
                Some(point)
            );
        }
    }

    /// It may write what it knew, and it may observe; a step that it rejects was not done.
    #[test]
    fn steps_without_lease_are_no_violation() {
        let later = log(&[
            ("n/one", "create/before create#1"),
            ("n/one", "create/after persist#1"),
            ("n/one", "create/after observe#1"),
            ("n/one", "create/after status#1"),
        ]);
        assert_eq!(first_step_without_lease(&later, "n/one"), None);
    }
}
