//! The leader that slept through its lease: when it wakes, it begins nothing that needs one.

use std::{collections::BTreeSet, time::Duration};

use tokio::time::{Instant, sleep};

use super::{ASK_AGAIN, Batch};
use crate::{Trouble, case::Phase, points::Reached};

/// A woken process has gone on by then, or is no witness.
const AWAKE_WITHIN: Duration = Duration::from_secs(10);
/// Its next step comes at once, if there is one.
const STEPS_WITHIN: Duration = Duration::from_secs(1);

/// What only a leader does.
const NEEDS_THE_LEASE: [&str; 6] = ["intent", "create", "update", "delete", "poll", "finalizer"];

/// The leader sleeps, and another one leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sleep {
    /// Points that it had reached.
    reached: usize,
    /// How often the lease had changed hands when the other one had it.
    transitions: u64,
}

impl Batch<'_> {
    /// Stops the leader until its standby leads, and wakes it. Returns which of `halted` went on: only they were put to the test.
    pub(super) async fn outlive_the_lease(
        &mut self,
        phase: Phase,
        halted: &BTreeSet<Reached>,
    ) -> Result<BTreeSet<Reached>, Trouble> {
        self.stage.stall_leader().await?;
        let before = self.points.reached().len();
        self.sleep = Some(Sleep {
            reached: before,
            transitions: self.stage.lease_transitions().await?,
        });
        self.points.go(phase)?;
        self.stage.wake_old_leader();
        let end = Instant::now() + AWAKE_WITHIN;
        let went_on = loop {
            let went_on: BTreeSet<Reached> = self.points.went_on().into_iter().collect();
            if halted.is_subset(&went_on) || Instant::now() > end {
                break went_on;
            }
            sleep(ASK_AGAIN / 5).await;
        };
        self.until_moved_on(before, halted, STEPS_WITHIN).await;
        Ok(halted.intersection(&went_on).cloned().collect())
    }

    /// Judges what the old leader did since it woke. It has ended, and `transitions` is how often the lease had changed hands until then: if it
    /// did so again, the old leader may have led again, and nothing is shown.
    pub(super) fn judge_the_old_leader(&mut self, phase: Phase, transitions: u64) {
        let Some(sleep) = self.sleep.take() else { return };
        let reached = self.points.reached();
        let later = &reached[sleep.reached.min(reached.len())..];
        for i in 0..self.members.len() {
            let of_this_phase =
                |member: &super::Member| member.case.as_ref().is_some_and(|case| case.phase == phase);
            if !of_this_phase(&self.members[i]) || !self.members[i].line.hit {
                continue;
            }
            if transitions != sleep.transitions {
                self.members[i].line.hit = false;
                continue;
            }
            let key = self.key(&self.members[i]);
            if let Some(point) = did_without_the_lease(later, &key) {
                let what = format!("the old leader went on without the lease: {point}");
                self.members[i].line.wrong(phase, what);
            }
        }
    }
}

/// The first thing that needs the lease, of what was done to this object. It had halted, so that nothing was under way when the lease went.
fn did_without_the_lease<'r>(later: &'r [Reached], object: &str) -> Option<&'r str> {
    let mut points = later
        .iter()
        .filter(|(of, _)| of == object)
        .map(|(_, point)| point.as_str());
    points.find(|point| {
        let done = point
            .split_once("/after ")
            .and_then(|(_, what)| what.split_once('#'));
        done.is_some_and(|(what, _)| NEEDS_THE_LEASE.contains(&what))
    })
}

#[cfg(test)]
mod tests {
    use super::{Reached, did_without_the_lease};

    fn log(lines: &[(&str, &str)]) -> Vec<Reached> {
        let lines = lines.iter();
        lines
            .map(|(object, point)| ((*object).to_owned(), (*point).to_owned()))
            .collect()
    }

    /// Trace 1: it slept after its intent.
    #[test]
    fn whatever_it_did_after_it_woke_is_wrong_wherever_it_slept() {
        let later = log(&[
            ("n/other", "create/after create#1"),
            ("n/one", "create/before create#1"),
            ("n/one", "create/after create#1"),
        ]);
        assert_eq!(
            did_without_the_lease(&later, "n/one"),
            Some("create/after create#1")
        );
        for point in [
            "create/after intent#2",
            "delete/after finalizer#1",
            "update/after poll#3",
        ] {
            assert_eq!(
                did_without_the_lease(&log(&[("n/one", point)]), "n/one"),
                Some(point)
            );
        }
    }

    /// What it knew it may write, and it may look; what it shrinks back from was not done.
    #[test]
    fn what_needs_no_lease_is_not_wrong() {
        let later = log(&[
            ("n/one", "create/before create#1"),
            ("n/one", "create/after persist#1"),
            ("n/one", "create/after observe#1"),
            ("n/one", "create/after status#1"),
        ]);
        assert_eq!(did_without_the_lease(&later, "n/one"), None);
    }
}
