//! Following an operation to its end.

use std::time::Duration;

use crossbridge_types::{Completed, Outcome, OutcomeResult};
use tokio::time::{Instant, sleep};

use super::{Lab, PAUSE, Thing, outcome_of};
use crate::verdict::Stop;

/// All answers of one course: of the call that began it, then of each poll, the last one ended.
#[derive(Debug, Clone)]
pub(crate) struct Trail {
    pub answers: Vec<Outcome>,
}

impl Trail {
    pub(crate) fn last(&self) -> Option<&Outcome> {
        self.answers.last()
    }

    /// The handles in their order.
    pub(crate) fn handles(&self) -> Vec<&str> {
        self.answers
            .iter()
            .filter_map(|answer| match &answer.result {
                OutcomeResult::Operation(operation) => Some(operation.handle.as_str()),
                _ => None,
            })
            .collect()
    }

    /// How it was completed; anything else ends the story.
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

impl Lab {
    /// Polls until the operation ends, at most for `limit`.
    pub(crate) async fn follow(
        &self,
        thing: &mut Thing,
        first: Outcome,
        limit: Option<Duration>,
    ) -> Result<Trail, Stop> {
        let until = Instant::now() + limit.unwrap_or(self.bench.patience).min(self.bench.patience);
        let mut trail = Trail { answers: Vec::new() };
        let mut outcome = first;
        loop {
            thing.learn(&outcome);
            let running = match &outcome.result {
                OutcomeResult::Operation(operation) => Some(operation.clone()),
                _ => None,
            };
            trail.answers.push(outcome);
            let Some(operation) = running else {
                return Ok(trail);
            };
            if Instant::now() >= until {
                return Err(Stop::blocked(
                    "the operation did not end in time; --patience gives it more",
                ));
            }
            sleep(
                operation
                    .poll_after
                    .unwrap_or(PAUSE)
                    .max(Duration::from_millis(10)),
            )
            .await;
            let poll = thing.poll(&operation.handle);
            outcome = outcome_of(
                "PollOperation",
                self.bench.client.poll_operation(poll, self.terms()).await,
            )?;
        }
    }
}
