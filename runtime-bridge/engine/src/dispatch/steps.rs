//! Notices that the wall clock was set: due times are wall-clock times, and a step back would delay each of them by as much.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::clock::Clock;

/// What a clock that is only kept in step may be off.
const SLACK: SignedDuration = SignedDuration::from_secs(1);

/// Compares the wall clock with the steady one.
pub(super) struct Steps {
    wall: Timestamp,
    steady: Duration,
}

impl Steps {
    pub(super) fn new(clock: &dyn Clock) -> Self {
        Self {
            wall: clock.now(),
            steady: clock.ticks(),
        }
    }

    /// How far the wall clock was set since this was asked last, if it was set back: negative. A step forward makes turns come early, which
    /// does no harm.
    pub(super) fn back(&mut self, clock: &dyn Clock) -> Option<SignedDuration> {
        let (wall, steady) = (clock.now(), clock.ticks());
        let passed = SignedDuration::try_from(steady.saturating_sub(self.steady)).unwrap_or_default();
        let step = wall.duration_since(self.wall) - passed;
        if step > -SLACK && step < SLACK {
            return None;
        }
        (self.wall, self.steady) = (wall, steady);
        (step < SignedDuration::ZERO).then_some(step)
    }
}
