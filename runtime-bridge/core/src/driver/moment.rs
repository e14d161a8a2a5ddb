//! What changes by itself between an effect and its result.

use jiff::Timestamp;

/// What this process knows of its right to act, right now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leadership {
    /// The lease is held, by the clock.
    pub leads: bool,
    /// How many times this process has begun to lead.
    pub term: u64,
    /// Shutting down: nothing new is begun.
    pub draining: bool,
}

/// Read afresh for each [`super::Driver::resume`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// Wall clock of this process.
    pub now: Timestamp,
    /// Its right to act.
    pub leadership: Leadership,
    /// From 0 to 1, drawn anew: keeps objects that failed together apart.
    pub jitter: f64,
}
