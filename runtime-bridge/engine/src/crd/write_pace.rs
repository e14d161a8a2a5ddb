//! How often one definition is written.

use std::time::Duration;

use bridge_core::back_off::policies;
use tokio::time::Instant;

/// Writes that are further apart have nothing to do with each other.
pub(crate) const IN_A_ROW: Duration = Duration::from_mins(10);

/// The writes of one definition: another writer may want it otherwise, and each write makes the API server build its schemas anew.
#[derive(Debug, Default)]
pub(crate) struct WritePace {
    in_a_row: u32,
    last: Option<Instant>,
}

impl WritePace {
    /// When it may be written next: there is a pause after each write.
    pub fn may_write_at(&self, now: Instant) -> Instant {
        let pause = match self.in_a_row {
            0 => Duration::ZERO,
            writes => policies::DEFINITION.wait(writes, 0.0),
        };
        self.last.map_or(now, |last| now.max(last + pause))
    }

    /// It was written now, or may have been.
    pub fn written(&mut self, now: Instant) {
        let follows = self.last.is_some_and(|last| now < last + IN_A_ROW);
        self.in_a_row = if follows {
            self.in_a_row.saturating_add(1)
        } else {
            1
        };
        self.last = Some(now);
    }
}
