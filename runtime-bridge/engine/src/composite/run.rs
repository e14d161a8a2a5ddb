//! One run of a pipeline, with real look-ups and calls.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bridge_core::{
    composite::{Limits, Next, Pipeline, PipelineSpec, RunFailure, RunInput, RunOutcome, RunStart},
    queue::{Priority, Wake},
};
use futures::FutureExt;
use parking_lot::Mutex;

use super::{find::Finder, reconciler::CompositeReconciler, step_calls::StepCalls};
use crate::{object::Key, run_metrics::RunCounts};

/// All calls of a run. How long one may take, from when it has its place, is the client's to say: it tells a function that hangs by that.
const RUN: Duration = Duration::from_mins(2);
/// Until another run, after one that panicked.
const AFTER_A_PANIC: Duration = Duration::from_mins(1);

impl CompositeReconciler {
    /// Begins a run, in place of the one that goes on. Its end is the composite resource's turn.
    pub(super) fn begin_run(self: &Arc<Self>, key: &Key, uid: &str, start: RunStart) {
        let (of, key, of_uid) = (Arc::clone(self), key.clone(), uid.to_owned());
        let basis = start.basis.clone();
        let term = self.right().term;
        let began = self.shared.clock.now();
        let news = self.shared.function_news.count();
        self.runs
            .begin(uid, (term, news), basis, began, move |number, calls| async move {
                let clock = Arc::clone(&of.shared.clock);
                let outcome = AssertUnwindSafe(of.run(&key, start, &calls)).catch_unwind().await;
                let mut at = clock.now();
                let took = at.duration_since(began).unsigned_abs();
                let mut run_counts = RunCounts::Failed;
                let counts = if let Ok(outcome) = outcome {
                    run_counts = RunCounts::of(&outcome);
                    let awaited = outcome.result.as_ref().err().and_then(RunFailure::awaits);
                    let awaited = awaited.map(ToOwned::to_owned);
                    let counts = of.runs.ended(&of_uid, number, outcome, took, at);
                    if counts {
                        of.shared.function_news.set(&key, awaited.as_deref());
                    }
                    counts
                } else {
                    tracing::error!(object = %key, "the run of the pipeline panicked; this is a bug");
                    of.runs.failed(&of_uid, number);
                    at += AFTER_A_PANIC;
                    true
                };
                if counts {
                    of.shared.metrics.runs.ended(&of.api.kind, run_counts);
                    let priority = Priority::Dependency;
                    of.shared.dispatcher.enqueue(&key, Wake { at, priority });
                }
            });
    }

    async fn run(&self, key: &Key, start: RunStart, calls: &Mutex<StepCalls>) -> RunOutcome {
        let shared = &self.shared;
        let end = shared.clock.now() + RUN;
        let finder = Finder::new(shared);
        let observed = match self.with_connection_details(start.observed).await {
            Ok(observed) => observed,
            Err(failure) => return RunOutcome::failed(failure, start.seeds),
        };
        let mut pipeline = Pipeline::begin(RunInput {
            observed,
            steps: PipelineSpec::clone(&start.pipeline),
            seeds: start.seeds,
            limits: Limits {
                composed: shared.settings.max_composed,
                ..Limits::default()
            },
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
                    tracing::debug!(object = %key, step, function, "calling");
                    calls.lock().begin(&step, &function, shared.clock.now());
                    let answer = shared.functions.run(&function, &request, end).await;
                    calls.lock().end(&answer, shared.clock.now());
                    pipeline.answered(answer);
                }
                Next::End(outcome) => {
                    if let Err(failure) = &outcome.result {
                        calls.lock().fail(failure);
                    }
                    return *outcome;
                }
            }
        }
    }
}
