//! Author's code under guard: a permit, a deadline, and panics kept to the call.

use std::{future::Future, panic::AssertUnwindSafe};

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
        match timeout_at(until, AssertUnwindSafe(work).catch_unwind()).await {
            Ok(Ok(result)) => result.inspect_err(|failure| failure.report(source)),
            Ok(Err(_panic)) => {
                // The panic hook has logged where and why.
                tracing::error!(source, "the plugin panicked in this call");
                Err(
                    Failure::internal("internal error in the plugin (a panic); see its log")
                        .reason("PluginPanicked"),
                )
            }
            Err(_elapsed) => Err(
                Failure::timeout("the call's deadline passed before the work was done")
                    .reason("DeadlineExceeded"),
            ),
        }
    }
}

fn not_begun() -> Failure {
    Failure::status(Status::failed_precondition(
        "the deadline passed before the call could begin: nothing was done",
    ))
}
