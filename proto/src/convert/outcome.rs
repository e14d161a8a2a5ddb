//! How a call that changes something ended, or goes on.

use crossbridge_types::{Completed, Outcome, OutcomeResult, Rule, Secrets, Violation};

use super::nested;
use crate::v1alpha1::{self as wire, outcome};

impl TryFrom<wire::Outcome> for Outcome {
    type Error = Violation;

    fn try_from(wire: wire::Outcome) -> Result<Self, Violation> {
        let result = match wire.result {
            None => return Err(Violation::new("result", Rule::Required)),
            Some(outcome::Result::Completed(completed)) => {
                OutcomeResult::Completed(Box::new(nested::required(Some(completed), "completed")?))
            }
            Some(outcome::Result::Operation(operation)) => {
                OutcomeResult::Operation(nested::required(Some(operation), "operation")?)
            }
            Some(outcome::Result::Failure(failure)) => {
                OutcomeResult::Failure(nested::required(Some(failure), "failure")?)
            }
        };
        let outcome = Self {
            external_name: wire.external_name,
            canonical_id: wire.canonical_id,
            provider_state: wire.provider_state,
            connection_details: Secrets(wire.connection_details.into_iter().collect()),
            warnings: nested::each(wire.warnings, "warnings")?,
            result,
        };
        outcome.check()?;
        Ok(outcome)
    }
}

impl From<Outcome> for wire::Outcome {
    fn from(outcome: Outcome) -> Self {
        Self {
            external_name: outcome.external_name,
            canonical_id: outcome.canonical_id,
            provider_state: outcome.provider_state,
            connection_details: outcome.connection_details.0.into_iter().collect(),
            warnings: outcome.warnings.into_iter().map(Into::into).collect(),
            result: Some(match outcome.result {
                OutcomeResult::Completed(completed) => outcome::Result::Completed((*completed).into()),
                OutcomeResult::Operation(operation) => outcome::Result::Operation(operation.into()),
                OutcomeResult::Failure(failure) => outcome::Result::Failure(failure.into()),
            }),
        }
    }
}

impl TryFrom<wire::Completed> for Completed {
    type Error = Violation;

    fn try_from(wire: wire::Completed) -> Result<Self, Violation> {
        Ok(Self {
            observation: nested::optional(wire.observation, "observation")?,
            already_done: wire.already_done,
        })
    }
}

impl From<Completed> for wire::Completed {
    fn from(completed: Completed) -> Self {
        Self {
            observation: completed.observation.map(Into::into),
            already_done: completed.already_done,
        }
    }
}

/// The four responses that hold an outcome and nothing else.
macro_rules! responses {
    ($($response:ident),*) => {
        $(
            impl TryFrom<wire::$response> for Outcome {
                type Error = Violation;

                fn try_from(wire: wire::$response) -> Result<Self, Violation> {
                    nested::required(wire.outcome, "outcome")
                }
            }

            impl From<Outcome> for wire::$response {
                fn from(outcome: Outcome) -> Self {
                    Self {
                        outcome: Some(outcome.into()),
                    }
                }
            }
        )*
    };
}

responses!(
    CreateResponse,
    UpdateResponse,
    DeleteResponse,
    PollOperationResponse
);
