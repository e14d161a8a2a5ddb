//! How long a change takes to come through.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// How long AWS takes until a change has come through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Settle {
    /// It is there with the answer.
    AtOnce,
    /// The next so many reads still see it under way.
    Reads(u32),
    /// So long after the answer.
    After(Duration),
}

/// A change that has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pending {
    settle: Settle,
    since: Instant,
}

impl Pending {
    pub(crate) fn new(settle: Settle, now: Instant) -> Self {
        Self { settle, since: now }
    }

    /// Whether it is still under way, without counting as a read.
    pub(crate) fn peek(&self, now: Instant) -> bool {
        match self.settle {
            Settle::AtOnce => false,
            Settle::Reads(left) => left > 0,
            Settle::After(time) => now.saturating_duration_since(self.since) < time,
        }
    }

    /// Whether this read still sees it under way.
    pub(crate) fn read(&mut self, now: Instant) -> bool {
        let pending = self.peek(now);
        if let Settle::Reads(left) = &mut self.settle {
            *left = left.saturating_sub(1);
        }
        pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_count_and_peeks_do_not() {
        let now = Instant::now();
        let mut pending = Pending::new(Settle::Reads(2), now);
        assert!(pending.peek(now) && pending.peek(now) && pending.peek(now));
        assert_eq!([(); 4].map(|()| pending.read(now)), [true, true, false, false]);
    }

    #[test]
    fn changes_settle_after_their_time() {
        let now = Instant::now();
        let mut pending = Pending::new(Settle::After(Duration::from_secs(5)), now);
        assert!(pending.read(now + Duration::from_secs(4)));
        assert!(!pending.read(now + Duration::from_secs(5)));
    }
}
