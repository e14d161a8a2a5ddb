use std::{collections::HashMap, time::Duration};

use parking_lot::Mutex;

/// So many requests are remembered; a bridge that has more without an answer has no API server.
const MOST: usize = 10_000;

/// How long an answer is waited for, where one did not come in time: twice as long each time, up to the longest. The API server takes seconds for a
/// write of an object with ten thousands of list items, and begins anew with each request: who always gives up too early never succeeds.
#[derive(Debug, Default)]
pub(super) struct Deadlines(Mutex<HashMap<String, Duration>>);

impl Deadlines {
    /// For the next request of this method and path.
    pub(super) fn of(&self, request: &str, first: Duration) -> Duration {
        self.0.lock().get(request).copied().unwrap_or(first)
    }

    /// No answer came in this time.
    pub(super) fn missed(&self, request: &str, waited: Duration, longest: Duration) {
        let mut missed = self.0.lock();
        if missed.len() >= MOST {
            missed.clear();
        }
        missed.insert(request.to_owned(), (waited * 2).min(longest));
    }

    /// It was done in time.
    pub(super) fn answered(&self, request: &str) {
        self.0.lock().remove(request);
    }
}
