//! Virtual time: tokio's paused clock, carried on from one runtime to the next.

use std::sync::Arc;

use bridge_engine::clock::Clock;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use tokio::time::Instant;

/// When every simulation begins: 2026-01-01T00:00:00Z.
const BEGINNING: i64 = 1_767_225_600;

/// The time of one simulation.
#[derive(Clone, Default)]
pub(crate) struct Time(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// Virtual time before the runtime that runs now.
    before: SignedDuration,
    /// Where its clock stood when it began.
    origin: Option<Instant>,
}

impl Time {
    /// A runtime begins: to be called within it.
    pub(crate) fn begin(&self) {
        self.0.lock().origin = Some(Instant::now());
    }

    /// It ends: to be called within it.
    pub(crate) fn end(&self) {
        let before = self.since_start();
        let mut inner = self.0.lock();
        inner.before = before;
        inner.origin = None;
    }

    /// Since the simulation began.
    pub(crate) fn since_start(&self) -> SignedDuration {
        let inner = self.0.lock();
        let running = inner.origin.map_or(SignedDuration::ZERO, |origin| {
            SignedDuration::try_from(origin.elapsed()).unwrap_or(SignedDuration::MAX)
        });
        inner.before + running
    }
}

impl Clock for Time {
    fn now(&self) -> Timestamp {
        let beginning = Timestamp::from_second(BEGINNING).unwrap_or(Timestamp::UNIX_EPOCH);
        beginning + self.since_start()
    }
}
