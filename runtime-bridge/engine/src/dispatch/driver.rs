use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use bridge_core::{back_off::policies, queue::DispatchPermit, watch_plan::GroupKind};
use futures::FutureExt;
use jiff::{SignedDuration, Timestamp};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::sync::CancellationToken;

use super::{
    shared::{InFlight, Shared, seconds_since},
    steps::Steps,
};
use crate::{
    metrics::{KindLabel, OutcomeLabels},
    object::Key,
    random,
    reconcile::{Next, ReconcileRequest},
};

/// An object is held back no longer than this, whoever asks for it, and by whatever clock.
const LONGEST_BACK_OFF: Duration = Duration::from_hours(1);

/// The one task that takes from the queue.
pub(super) struct Driver {
    shared: Arc<Shared>,
    gate: watch::Receiver<bool>,
    drain: CancellationToken,
    passes: JoinSet<EndedReconcile>,
    steps: Steps,
    /// Passes could begin from the start.
    was_open: bool,
}

/// A pass that is over.
struct EndedReconcile {
    key: Key,
    outcome: ReconcileOutcome,
}

enum ReconcileOutcome {
    Done(Next),
    Panicked,
    TimedOut,
}

impl Driver {
    pub(super) fn new(shared: Arc<Shared>, gate: watch::Receiver<bool>, drain: CancellationToken) -> Self {
        let was_open = *gate.borrow();
        Self {
            steps: Steps::new(shared.clock.as_ref()),
            was_open,
            shared,
            gate,
            drain,
            passes: JoinSet::new(),
        }
    }

    /// Until it is drained.
    pub(super) async fn run(mut self) {
        let mut was_open = self.was_open;
        while !self.drain.is_cancelled() {
            if let Some(step) = self.steps.back(self.shared.clock.as_ref()) {
                tracing::warn!(step = %format!("{step:#}"), "the clock was set back");
                self.shared.queue.lock().shift(step);
            }
            let open = *self.gate.borrow_and_update();
            let opens = open && !was_open;
            was_open = open;
            if opens {
                self.shared.resume_all().await;
                // That took a while: it may have been closed again.
                continue;
            }
            if open {
                self.begin_passes();
            }
            let now = self.shared.clock.now();
            let due = if open {
                self.shared.queue.lock().next_due()
            } else {
                None
            };
            tokio::select! {
                // In a fixed order, so that a simulation repeats itself.
                biased;
                () = self.drain.cancelled() => {}
                Some(ended) = self.passes.join_next() => self.end(ended),
                () = self.shared.changed.notified() => {}
                () = until(now, due) => {}
                Ok(()) = self.gate.changed() => {}
            }
        }
        while let Some(ended) = self.passes.join_next().await {
            self.end(ended);
        }
    }

    fn begin_passes(&mut self) {
        loop {
            let now = self.shared.clock.now();
            let Some(taken) = self.shared.queue.lock().take(now) else {
                return;
            };
            self.begin(taken, now);
        }
    }

    fn begin(&mut self, taken: DispatchPermit<Key, GroupKind, String>, now: Timestamp) {
        let DispatchPermit {
            key,
            kind,
            priority,
            due,
            ..
        } = taken;
        let Some(reconciler) = self.shared.reconciler(&key) else {
            self.shared.queue.lock().finish(&key, None, None, None);
            return;
        };
        let limit = self.shared.options.pass_timeout.max(reconciler.longest_pass());
        let consecutive_failures = self
            .shared
            .consecutive_failures
            .lock()
            .get(&key)
            .copied()
            .unwrap_or(0);
        let pass = ReconcileRequest {
            priority,
            started: now,
            deadline: now.saturating_add(limit).unwrap_or(Timestamp::MAX),
            consecutive_failures,
        };
        let in_flight = InFlight {
            object: key.to_string(),
            priority,
            since: now,
        };
        self.shared.in_flight.lock().insert(key.clone(), in_flight);
        self.shared.scheduled.lock().insert(key.clone());
        let metrics = Arc::clone(&self.shared.metrics);
        let label = KindLabel {
            kind: kind.to_string(),
        };
        let delay = now.duration_since(due).as_secs_f64().max(0.0);
        metrics.pass_delay_seconds.get_or_create(&label).observe(delay);
        self.passes.spawn(async move {
            let started = Instant::now();
            let reconcile = AssertUnwindSafe(async { reconciler.reconcile(&key, pass).await }).catch_unwind();
            let outcome = match tokio::time::timeout(limit, reconcile).await {
                Ok(Ok(next)) => ReconcileOutcome::Done(next),
                Ok(Err(_panic)) => ReconcileOutcome::Panicked,
                Err(_elapsed) => ReconcileOutcome::TimedOut,
            };
            metrics
                .pass_seconds
                .get_or_create(&label)
                .observe(seconds_since(started));
            EndedReconcile { key, outcome }
        });
    }

    fn end(&self, ended: Result<EndedReconcile, tokio::task::JoinError>) {
        // Panics are caught within, and nothing aborts a single pass.
        let Ok(EndedReconcile { key, outcome }) = ended else {
            return;
        };
        self.shared.in_flight.lock().remove(&key);
        if self.shared.store.get(&key).is_none() {
            self.shared.scheduled.lock().remove(&key);
        }
        let word = match &outcome {
            ReconcileOutcome::Done(next) if next.busy => "busy",
            ReconcileOutcome::Done(_) => "done",
            ReconcileOutcome::Panicked => "panicked",
            ReconcileOutcome::TimedOut => "timed-out",
        };
        let labels = OutcomeLabels {
            kind: key.kind().to_string(),
            outcome: word,
        };
        self.shared.metrics.passes.get_or_create(&labels).inc();
        if let ReconcileOutcome::Done(Next {
            wake,
            not_before,
            flow,
            busy,
        }) = outcome
        {
            if busy {
                if let Some(wake) = wake {
                    self.shared.mark_lasting(&key, "", wake);
                }
            } else {
                self.shared.consecutive_failures.lock().remove(&key);
            }
            let longest = self.shared.clock.now().saturating_add(LONGEST_BACK_OFF);
            let not_before = not_before.map(|until| until.min(longest.unwrap_or(Timestamp::MAX)));
            self.shared.queue.lock().finish(&key, wake, flow, not_before);
            return;
        }
        let mut queue = self.shared.queue.lock();
        let consecutive_failures = if queue.is_of_former(&key) {
            // Whatever has its name by now has not failed.
            1
        } else {
            let mut consecutive_failures = self.shared.consecutive_failures.lock();
            let count = consecutive_failures.entry(key.clone()).or_insert(0);
            *count = count.saturating_add(1);
            *count
        };
        let now = self.shared.clock.now();
        let again = now
            .saturating_add(policies::RECONCILE.wait(consecutive_failures, random::fraction()))
            .unwrap_or(Timestamp::MAX);
        tracing::error!(object = %key, outcome = word, consecutive_failures, %again, "a pass did not end as it should");
        let wake = bridge_core::queue::Wake {
            at: again,
            priority: bridge_core::queue::Priority::OperationPoll,
        };
        queue.mark_lasting(&key, key.kind(), &String::new(), wake);
        queue.finish(&key, None, None, Some(again));
    }
}

/// At most a minute at a time, as the clock may be set.
async fn until(now: Timestamp, due: Option<Timestamp>) {
    const LONGEST: Duration = Duration::from_mins(1);
    let Some(due) = due else {
        return std::future::pending().await;
    };
    let delay = due.duration_since(now).max(SignedDuration::ZERO).unsigned_abs();
    tokio::time::sleep(delay.min(LONGEST)).await;
}
