//! Runs of pipelines: at most one for each composite resource, beside its reconciles, dropped when something else is desired.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bridge_core::{
    composite::{Basis, Next, Pipeline, PipelineSpec, RunInput, RunOutcome, RunStart, RunState},
    queue::{Priority, Wake},
};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::{find::Finder, reconciler::CompositeReconciler};
use crate::object::Key;

/// One call of a function, its wait for a place aside.
const CALL: Duration = Duration::from_mins(1);
/// All calls of a run.
const RUN: Duration = Duration::from_mins(2);

/// The last run of each composite resource, by uid.
#[derive(Default)]
pub(super) struct Runs(Mutex<HashMap<String, Run>>);

enum Run {
    Going {
        basis: Basis,
        /// Which run it is: one that was dropped may still end.
        number: u64,
        _task: AbortOnDropHandle<()>,
    },
    Ended {
        basis: Basis,
        outcome: Arc<RunOutcome>,
        took: Duration,
        at: Timestamp,
    },
}

impl Runs {
    pub(super) fn state(&self, uid: &str) -> RunState {
        match self.0.lock().get(uid) {
            None => RunState::None,
            Some(Run::Going { basis, .. }) => RunState::Going { basis: basis.clone() },
            Some(Run::Ended {
                basis,
                outcome,
                took,
                at,
            }) => RunState::Ended {
                basis: basis.clone(),
                outcome: Arc::clone(outcome),
                took: *took,
                at: *at,
            },
        }
    }

    /// Drops what is known of a run. A function that still works on it has no effect.
    pub(super) fn end(&self, uid: &str) {
        let ended = self.0.lock().remove(uid);
        drop(ended);
    }

    pub(super) fn end_all(&self) {
        let ended = std::mem::take(&mut *self.0.lock());
        drop(ended);
    }

    fn ended(&self, uid: &str, of: u64, outcome: RunOutcome, took: Duration, at: Timestamp) -> bool {
        let mut runs = self.0.lock();
        let Some(run) = runs.get_mut(uid) else {
            return false;
        };
        let basis = match run {
            Run::Going { basis, number, .. } if *number == of => Basis {
                required: outcome.looked.clone(),
                ..basis.clone()
            },
            _ => return false,
        };
        let former = std::mem::replace(
            run,
            Run::Ended {
                basis,
                outcome: Arc::new(outcome),
                took,
                at,
            },
        );
        drop(runs);
        drop(former);
        true
    }
}

impl CompositeReconciler {
    /// Begins a run, in place of the one that goes on. Its end is the composite resource's turn.
    pub(super) fn begin_run(self: &Arc<Self>, key: &Key, uid: &str, start: RunStart) {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let basis = start.basis.clone();
        let of = Arc::clone(self);
        let (of_key, of_uid) = (key.clone(), uid.to_owned());
        // Held until it is noted down: else it might end before it is known.
        let mut runs = self.runs.0.lock();
        let task = tokio::spawn(async move {
            let began = of.shared.clock.now();
            let outcome = of.run(&of_key, start).await;
            let at = of.shared.clock.now();
            let took = at.duration_since(began).unsigned_abs();
            if of.runs.ended(&of_uid, number, outcome, took, at) {
                let wake = Wake {
                    at,
                    priority: Priority::Dependency,
                };
                of.shared.dispatcher.enqueue(&of_key, wake);
            }
        });
        let going = Run::Going {
            basis,
            number,
            _task: AbortOnDropHandle::new(task),
        };
        let former = runs.insert(uid.to_owned(), going);
        drop(runs);
        drop(former);
    }

    async fn run(&self, key: &Key, start: RunStart) -> RunOutcome {
        let shared = &self.shared;
        let end = shared.clock.now() + RUN;
        let finder = Finder::new(shared);
        let mut pipeline = Pipeline::begin(RunInput {
            observed: start.observed,
            steps: PipelineSpec::clone(&start.pipeline),
            seeds: start.seeds,
            ..RunInput::default()
        });
        loop {
            match pipeline.next() {
                Next::Need(lookups) => pipeline.found(finder.find_all(lookups).await),
                Next::Call {
                    step,
                    function,
                    request,
                } => {
                    let deadline = end.min(shared.clock.now() + CALL);
                    tracing::debug!(object = %key, step, function, "calling");
                    let answer = shared.functions.run(&function, &request, deadline).await;
                    pipeline.answered(answer);
                }
                Next::End(outcome) => return *outcome,
            }
        }
    }
}
