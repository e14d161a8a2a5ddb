//! What the plugin prints, or the peer.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

use parking_lot::Mutex;

/// As of the last line.
#[derive(Default)]
pub(crate) struct Printed {
    observed: AtomicU64,
    /// When an Update of this external name reached it, in microseconds since 1970.
    updates: Mutex<HashMap<String, u64>>,
}

impl Printed {
    pub(crate) fn take_in(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["observed", count] => {
                self.observed
                    .store(count.parse().unwrap_or_default(), Ordering::Relaxed);
            }
            ["update", name, micros] => {
                let micros = micros.parse().unwrap_or_default();
                self.updates.lock().insert((*name).to_owned(), micros);
            }
            _ => eprintln!("printed: {line}"),
        }
    }

    /// As of the last second.
    pub(crate) fn observed(&self) -> u64 {
        self.observed.load(Ordering::Relaxed)
    }

    pub(crate) fn updates(&self) -> HashMap<String, u64> {
        self.updates.lock().clone()
    }
}

/// Microseconds since 1970, as they are printed.
pub(crate) fn now_micros() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or_default()
}
