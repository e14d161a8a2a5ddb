//! Many who want the same at once: they queue, and an attempt that fails has failed for all who had queued before it was begun. Else the
//! last of a hundred would wait for a hundred time-outs.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Mutex, MutexGuard};

/// A queue for attempts that share `S`, and fail with `E`.
#[derive(Debug)]
pub(crate) struct SingleFlight<S, E> {
    /// How many were begun. Grows only within a turn.
    begun: AtomicU64,
    inner: Mutex<Inner<S, E>>,
}

#[derive(Debug)]
struct Inner<S, E> {
    shared: S,
    /// The last attempt, if it failed.
    failed: Option<(u64, E)>,
}

/// Nobody else attempts anything while it lives.
pub(crate) struct Attempt<'a, S, E> {
    begun: &'a AtomicU64,
    /// How many were begun when it queued.
    queued: u64,
    inner: MutexGuard<'a, Inner<S, E>>,
}

impl<S: Default, E> Default for SingleFlight<S, E> {
    fn default() -> Self {
        Self {
            begun: AtomicU64::new(0),
            inner: Mutex::new(Inner {
                shared: S::default(),
                failed: None,
            }),
        }
    }
}

impl<S, E> SingleFlight<S, E> {
    /// Waits until the others had their turn.
    pub(crate) async fn queue(&self) -> Attempt<'_, S, E> {
        let queued = self.begun.load(Ordering::SeqCst);
        Attempt {
            begun: &self.begun,
            queued,
            inner: self.inner.lock().await,
        }
    }
}

impl<S, E> Attempt<'_, S, E> {
    /// What is shared.
    pub(crate) fn shared(&mut self) -> &mut S {
        &mut self.inner.shared
    }

    /// The last attempt failed, and was begun only after this one had queued.
    pub(crate) fn failed_meanwhile(&self) -> Option<&E> {
        let (number, error) = self.inner.failed.as_ref()?;
        (*number > self.queued).then_some(error)
    }

    /// An attempt is begun.
    pub(crate) fn begin(&mut self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.inner.failed = None;
    }

    /// It failed.
    pub(crate) fn fail(&mut self, error: E) {
        self.inner.failed = Some((self.begun.load(Ordering::SeqCst), error));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::future::join_all;
    use tokio::time::{Instant, sleep};

    use super::*;

    const TAKES: Duration = Duration::from_secs(10);

    /// Fails, after a while, unless somebody else's failure counts.
    async fn attempt(attempts: &SingleFlight<u32, &'static str>) -> &'static str {
        let mut turn = attempts.queue().await;
        if let Some(error) = turn.failed_meanwhile() {
            return error;
        }
        turn.begin();
        *turn.shared() += 1;
        sleep(TAKES).await;
        turn.fail("late");
        "late"
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_shared_by_all_queued_callers() {
        let (attempts, begun) = (SingleFlight::default(), Instant::now());
        let all = join_all((0..100).map(|_| attempt(&attempts))).await;
        assert_eq!(all, ["late"; 100]);
        // The first is begun at once, before anybody queues.
        assert_eq!(
            (*attempts.queue().await.shared(), begun.elapsed()),
            (2, 2 * TAKES)
        );
        attempt(&attempts).await;
        assert_eq!(*attempts.queue().await.shared(), 3, "who comes later tries again");
    }
}
