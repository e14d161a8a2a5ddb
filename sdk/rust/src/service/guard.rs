//! Author's code under guard: a permit, a deadline, and panics kept to the call.

use std::{
    future::{Future, poll_fn},
    panic::AssertUnwindSafe,
    pin::pin,
    task::Poll,
};

use futures::FutureExt;
use tokio::time::{Instant, timeout_at};
use tonic::Status;

use super::Service;
use crate::{Deadline, Failure};

impl Service {
    /// Waits for a permit, then works until the deadline. At the deadline the work is dropped; a panic ends this call only. `source`: the
    /// kind's, for the log.
    pub(super) async fn guarded<T>(
        &self,
        deadline: Deadline,
        source: Option<&str>,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let _running = self.running.token();
        let until = Instant::from_std(deadline.instant());
        let Ok(Ok(_turn)) = timeout_at(until, self.permits.acquire()).await else {
            return Err(not_begun());
        };
        // A process that was stopped meanwhile finds the timer late: check again.
        if deadline.has_passed() {
            return Err(not_begun());
        }
        match in_time(deadline, AssertUnwindSafe(work).catch_unwind()).await {
            Some(Ok(result)) => result.inspect_err(|failure| failure.report(source)),
            Some(Err(_panic)) => {
                // The panic hook has logged where and why.
                tracing::error!(source, "the plugin panicked in this call");
                Err(
                    Failure::internal("internal error in the plugin (a panic); see its log")
                        .reason("PluginPanicked"),
                )
            }
            None => Err(
                Failure::timeout("the call's deadline passed before the work was done")
                    .reason("DeadlineExceeded"),
            ),
        }
    }
}

/// What the work returns, unless the deadline passes before. That is asked before each step of it: the timer alone, which is asked after the work, would let
/// a process that was stopped go on with what it finds ready.
async fn in_time<T>(deadline: Deadline, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let work = poll_fn(|cx| {
        if deadline.has_passed() {
            return Poll::Ready(None);
        }
        work.as_mut().poll(cx).map(Some)
    });
    let until = Instant::from_std(deadline.instant());
    timeout_at(until, work).await.ok().flatten()
}

fn not_begun() -> Failure {
    Failure::status(Status::failed_precondition(
        "the deadline passed before the call could begin: nothing was done",
    ))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn what_a_stopped_process_finds_ready_is_not_gone_on_with() {
        let deadline = Deadline::after(Duration::from_millis(50));
        let mut went_on = false;
        let work = async {
            // As if the process had been stopped.
            std::thread::sleep(Duration::from_millis(100));
            tokio::task::yield_now().await;
            went_on = true;
        };
        assert_eq!(in_time(deadline, work).await, None);
        assert!(!went_on);
    }

    #[tokio::test]
    async fn what_is_done_in_time_is_returned_and_what_hangs_is_not() {
        let soon = Deadline::after(Duration::from_mins(1));
        assert_eq!(in_time(soon, async { 1 }).await, Some(1));
        let at_once = Deadline::after(Duration::from_millis(20));
        assert_eq!(in_time(at_once, std::future::pending::<()>()).await, None);
    }
}
