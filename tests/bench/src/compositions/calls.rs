//! Calls that the function has printed.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// When each call came, in microseconds since 1970.
#[derive(Default)]
pub(crate) struct Calls(Mutex<Vec<u64>>);

impl Calls {
    pub(crate) fn take_in(&self, line: &str) {
        let micros: Option<u64> = line
            .strip_prefix("called ")
            .and_then(|micros| micros.parse().ok());
        self.0.lock().extend(micros);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// The first one that came at or after this moment.
    ///
    /// # Panics
    /// If none comes within a minute.
    pub(crate) async fn until_after(&self, micros: u64) -> u64 {
        let begun = Instant::now();
        loop {
            let first = self.0.lock().iter().copied().filter(|at| *at >= micros).min();
            if let Some(first) = first {
                return first;
            }
            assert!(begun.elapsed() < Duration::from_mins(1), "no run has begun");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}
