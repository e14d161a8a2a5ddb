//! Following an operation to its end.

use std::time::Duration;

use crossbridge_types::{Completed, Outcome, OutcomeResult};
use tokio::time::{Instant, sleep};

use super::{KindContext, PAUSE, TestResource, again, outcome_of};
use crate::verdict::Stop;

/// All answers of one course: of the call that began it, then of each poll, the last one ended.
#[derive(Debug, Clone)]
pub(crate) struct CallTrace {
    pub responses: Vec<Outcome>,
}

impl CallTrace {
    pub(crate) fn last(&self) -> Option<&Outcome> {
        self.responses.last()
    }

    /// The handles in their order.
    pub(crate) fn handles(&self) -> Vec<&str> {
        self.responses
            .iter()
            .filter_map(|response| match &response.result {
                OutcomeResult::Operation(operation) => Some(operation.handle.as_str()),
                _ => None,
            })
            .collect()
    }

    /// How it was completed; anything else ends the suite.
    pub(crate) fn completed(&self, method: &str) -> Result<&Completed, Stop> {
        match self.last().map(|outcome| &outcome.result) {
            Some(OutcomeResult::Completed(completed)) => Ok(completed),
            Some(OutcomeResult::Failure(failure)) => Err(Stop::blocked(format!(
                "{method} failed: {}: {}",
                failure.reason, failure.message
            ))),
            _ => Err(Stop::blocked(format!("{method} did not end"))),
        }
    }
}

impl KindContext {
    /// Polls until the operation ends, at most for `limit`.
    pub(crate) async fn follow(
        &self,
        resource: &mut TestResource,
        first: Outcome,
        limit: Option<Duration>,
    ) -> Result<CallTrace, Stop> {
        let until = Instant::now()
            + limit
                .unwrap_or(self.run_ctx.operation_timeout)
                .min(self.run_ctx.operation_timeout);
        let mut trace = CallTrace {
            responses: Vec::new(),
        };
        let mut outcome = first;
        loop {
            resource.apply_outcome(&outcome);
            let running = match &outcome.result {
                OutcomeResult::Operation(operation) => Some(operation.clone()),
                _ => None,
            };
            trace.responses.push(outcome);
            let Some(operation) = running else {
                return Ok(trace);
            };
            if Instant::now() >= until {
                return Err(Stop::blocked(
                    "the operation did not end in time; --operation-timeout gives it more",
                ));
            }
            sleep(
                operation
                    .poll_after
                    .unwrap_or(PAUSE)
                    .max(Duration::from_millis(10)),
            )
            .await;
            let poll = resource.poll(&operation.handle);
            let mut tries = 1;
            outcome = loop {
                let response = self.run_ctx.client.poll_operation(poll.clone(), self.options());
                let outcome = outcome_of("PollOperation", response.await)?;
                match again(&outcome, tries) {
                    Some(wait) => sleep(wait).await,
                    None => break outcome,
                }
                tries += 1;
            };
        }
    }
}
