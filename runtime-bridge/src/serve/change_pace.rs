//! How often what a plugin publishes is taken up: each change stops its kinds and starts them anew.

use std::{collections::VecDeque, time::Duration};

use bridge_core::back_off::policies;
use tokio::time::Instant;

/// So many changes within [`WINDOW`] are an upgrade; more are a plugin that cannot make up its mind.
const FREE: usize = 3;

/// Changes that are further apart have nothing to do with each other.
const WINDOW: Duration = Duration::from_mins(10);

/// The changes of one plugin.
#[derive(Debug, Default)]
pub(super) struct ChangePace {
    /// The last ones, at most [`FREE`].
    recent: VecDeque<Instant>,
    /// Changes in a row that came too soon.
    hasty: u32,
    not_before: Option<Instant>,
}

impl ChangePace {
    /// The next change is not taken up before; `None`: at once.
    pub(super) fn may_change_at(&self) -> Option<Instant> {
        self.not_before
    }

    /// A change was taken up now. How long the next one has to wait, if it has.
    pub(super) fn changed(&mut self, now: Instant) -> Option<Duration> {
        self.recent.push_back(now);
        if self.recent.len() > FREE {
            self.recent.pop_front();
        }
        let first = self.recent.front().filter(|_| self.recent.len() == FREE);
        let is_hasty = self.hasty > 0 && self.not_before.is_some_and(|at| now < at + WINDOW)
            || first.is_some_and(|first| now < *first + WINDOW);
        self.hasty = if is_hasty { self.hasty.saturating_add(1) } else { 0 };
        let wait = is_hasty.then(|| policies::PUBLICATION.wait(self.hasty, 0.0));
        self.not_before = wait.map(|wait| now + wait);
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(gaps: &[u64]) -> Vec<u64> {
        let (mut pace, mut now) = (ChangePace::default(), Instant::now());
        gaps.iter()
            .map(|gap| {
                now += Duration::from_secs(*gap);
                pace.changed(now).map_or(0, |wait| wait.as_secs())
            })
            .collect()
    }

    #[test]
    fn the_third_change_in_ten_minutes_and_those_after_it_wait_longer_and_longer() {
        assert_eq!(waits(&[0, 10, 10, 60, 120, 240]), [0, 0, 60, 120, 240, 480]);
        assert_eq!(
            waits(&[0, 10, 10, 60, 120, 240, 480, 900]).last(),
            Some(&900),
            "the longest"
        );
    }

    #[test]
    fn changes_that_are_far_apart_are_taken_up_at_once() {
        assert_eq!(waits(&[0, 400, 400, 400, 400]), [0; 5]);
        assert_eq!(
            waits(&[0, 10, 10, 60, 800, 900]),
            [0, 0, 60, 120, 0, 0],
            "after a rest"
        );
    }
}
