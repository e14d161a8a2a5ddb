//! Until when a call may work.

use std::time::{Duration, Instant, SystemTime};

/// The moment after which a call begins nothing upstream any more. The SDK drops the call's future then; bound your
/// upstream client by [`remaining`](Self::remaining) too, its retries included.
///
/// It lies a little before the caller's own, so that the answer has time to travel.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    instant: Instant,
    time: SystemTime,
}

impl Deadline {
    /// A deadline that lies this far ahead.
    pub fn after(remaining: Duration) -> Self {
        Self {
            instant: Instant::now() + remaining,
            time: SystemTime::now() + remaining,
        }
    }

    /// What is left, by the monotonic clock or the wall clock, whichever is further; zero once it has passed.
    pub fn remaining(self) -> Duration {
        let by_wall_clock = self
            .time
            .duration_since(SystemTime::now())
            .unwrap_or(Duration::ZERO);
        self.instant
            .saturating_duration_since(Instant::now())
            .min(by_wall_clock)
    }

    /// True once it has passed.
    pub fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }

    /// On the monotonic clock, for `tokio::time::timeout_at`.
    pub fn instant(self) -> Instant {
        self.instant
    }

    /// On the wall clock.
    pub fn time(self) -> SystemTime {
        self.time
    }
}
