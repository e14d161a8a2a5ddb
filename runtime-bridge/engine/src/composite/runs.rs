//! Runs of pipelines: at most one for each composite resource, beside its reconciles, dropped when something else is desired.

use std::{
    collections::HashMap,
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bridge_core::composite::{Basis, RunOutcome, RunState};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::{step_calls::StepCalls, stored_outcome::StoredOutcome};

/// The last run of each composite resource, by uid.
#[derive(Default)]
pub(super) struct Runs {
    by_uid: Mutex<HashMap<String, KnownRun>>,
    next: AtomicU64,
}

struct KnownRun {
    /// The term of leading in which it was begun: later another leader may have composed something else.
    term: u64,
    /// How much news of functions there was when it began.
    news: u64,
    calls: Arc<Mutex<StepCalls>>,
    run: Run,
}

enum Run {
    Going {
        basis: Basis,
        since: Timestamp,
        /// Which run it is: one that was dropped may still end.
        number: u64,
        _task: AbortOnDropHandle<()>,
    },
    Ended {
        basis: Basis,
        outcome: Arc<StoredOutcome>,
        took: Duration,
        at: Timestamp,
    },
}

impl Runs {
    pub(super) fn state(&self, uid: &str, term: u64) -> RunState {
        self.state_and_calls(uid, term).0
    }

    /// With what the functions of this run were asked.
    pub(super) fn state_and_calls(&self, uid: &str, term: u64) -> (RunState, Arc<Mutex<StepCalls>>) {
        let runs = self.by_uid.lock();
        let Some(known) = runs.get(uid).filter(|known| known.term == term) else {
            return (RunState::None, Arc::default());
        };
        let calls = Arc::clone(&known.calls);
        let (stored, basis, took, at) = match &known.run {
            Run::Going { basis, since, .. } => {
                let going = RunState::Going {
                    basis: basis.clone(),
                    since: *since,
                };
                return (going, calls);
            }
            Run::Ended {
                outcome,
                basis,
                took,
                at,
            } => (Arc::clone(outcome), basis.clone(), *took, *at),
        };
        // What is parsed, is parsed while others go on.
        drop(runs);
        let ended = RunState::Ended {
            basis,
            outcome: stored.whole(),
            took,
            at,
        };
        (ended, calls)
    }

    /// The function that an ended run waits for, and how much news of functions there was when it began.
    pub(super) fn awaits(&self, uid: &str) -> Option<(String, u64)> {
        let runs = self.by_uid.lock();
        let known = runs.get(uid)?;
        let Run::Ended { outcome, .. } = &known.run else {
            return None;
        };
        Some((outcome.failure()?.awaits()?.to_owned(), known.news))
    }

    /// Drops what is known of a run. A function that still works on it has no effect.
    pub(super) fn end(&self, uid: &str) {
        let ended = self.by_uid.lock().remove(uid);
        drop(ended);
    }

    pub(super) fn end_all(&self) {
        let ended = std::mem::take(&mut *self.by_uid.lock());
        drop(ended);
    }

    /// Begins a run, in place of the one that goes on: in this term of leading, after so much news of functions. `run` gets its number, which
    /// [`Runs::ended`] takes, and notes down its calls.
    pub(super) fn begin<R>(
        &self,
        uid: &str,
        (term, news): (u64, u64),
        basis: Basis,
        since: Timestamp,
        run: impl FnOnce(u64, Arc<Mutex<StepCalls>>) -> R,
    ) where
        R: Future<Output = ()> + Send + 'static,
    {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let calls = Arc::default();
        // Held until it is noted down: else it might end before it is known.
        let mut runs = self.by_uid.lock();
        let going = Run::Going {
            basis,
            since,
            number,
            _task: AbortOnDropHandle::new(tokio::spawn(run(number, Arc::clone(&calls)))),
        };
        let known = KnownRun {
            term,
            news,
            calls,
            run: going,
        };
        let former = runs.insert(uid.to_owned(), known);
        drop(runs);
        drop(former);
    }

    /// This run came to nothing: nothing is known of any.
    pub(super) fn failed(&self, uid: &str, of: u64) {
        let mut runs = self.by_uid.lock();
        if matches!(runs.get(uid).map(|known| &known.run), Some(Run::Going { number, .. }) if *number == of) {
            let failed = runs.remove(uid);
            drop(runs);
            drop(failed);
        }
    }

    /// Notes down what came of a run; false: another one took its place, or nobody wants it any more.
    pub(super) fn ended(
        &self,
        uid: &str,
        of: u64,
        outcome: RunOutcome,
        took: Duration,
        at: Timestamp,
    ) -> bool {
        let looked = outcome.looked.clone();
        let outcome = Arc::new(StoredOutcome::new(outcome));
        let mut runs = self.by_uid.lock();
        let Some(KnownRun { run, .. }) = runs.get_mut(uid) else {
            return false;
        };
        let basis = match run {
            Run::Going { basis, number, .. } if *number == of => Basis {
                required: looked,
                ..basis.clone()
            },
            _ => return false,
        };
        let former = std::mem::replace(
            run,
            Run::Ended {
                basis,
                outcome,
                took,
                at,
            },
        );
        drop(runs);
        drop(former);
        true
    }
}
