//! One call as its function's availability sees it.

use std::sync::atomic::{AtomicBool, Ordering};

use bridge_core::function::{Attempt, Availability, FunctionFailure, Signal, Transition};
use bridge_transport::Now;
use parking_lot::Mutex;

use crate::random;

/// Availability of one function at one endpoint.
pub(crate) struct Watched {
    state: Mutex<Availability>,
    has_answered: AtomicBool,
    now: Now,
}

/// A call that may be made. Dropped without an end, it says nothing of the function, and gives a probe back.
pub(crate) struct Admitted<'a> {
    of: &'a Watched,
    attempt: Attempt,
    is_ended: bool,
}

impl Watched {
    pub(crate) fn new(now: Now) -> Self {
        Self {
            state: Mutex::default(),
            has_answered: AtomicBool::new(false),
            now,
        }
    }

    /// It has ever answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.has_answered.load(Ordering::Relaxed)
    }

    /// What whoever calls now gets instead.
    pub(crate) fn rejection(&self) -> Option<FunctionFailure> {
        self.state.lock().rejection((self.now)())
    }

    /// What all calls get that were not answered, so that a probe says the same as those that wait for it.
    pub(crate) fn held(&self) -> Option<FunctionFailure> {
        self.state.lock().held()
    }

    pub(crate) fn admit(&self) -> Result<Admitted<'_>, FunctionFailure> {
        Ok(Admitted {
            of: self,
            attempt: self.state.lock().admit((self.now)())?,
            is_ended: false,
        })
    }
}

impl Admitted<'_> {
    pub(crate) fn end(mut self, signal: Signal) -> Transition {
        self.is_ended = true;
        self.record(signal)
    }

    fn record(&self, signal: Signal) -> Transition {
        let now = (self.of.now)();
        if signal == Signal::Answered {
            self.of.has_answered.store(true, Ordering::Relaxed);
        }
        self.of
            .state
            .lock()
            .end(self.attempt, signal, now, random::fraction())
    }
}

impl Drop for Admitted<'_> {
    fn drop(&mut self) {
        if !self.is_ended {
            self.record(Signal::None);
        }
    }
}
