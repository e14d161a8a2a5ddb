//! How a call that changes something ended, or goes on.

use super::{
    Failure, Observation, Operation, OperationVerb, Rule, Secrets, Violation, Warning, nested, observation,
    text,
};
use crate::v1alpha1::{self as wire, outcome};

/// How a call that changes something ended, or goes on. What stands beside the result counts whatever the result is.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Empty: not known yet.
    pub external_name: String,
    /// Globally unique id; empty: not told.
    pub canonical_id: String,
    /// At most 4 KiB; empty keeps the recorded one.
    pub provider_state: String,
    /// For the connection Secret.
    pub connection_details: Secrets,
    /// Worth an event.
    pub warnings: Vec<Warning>,
    /// Exactly one.
    pub result: OutcomeResult,
}

/// The three ways a call can have fared.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeResult {
    /// Finished and verified.
    Completed(Box<Completed>),
    /// Under way.
    Operation(Operation),
    /// Refused, or gone wrong.
    Failure(Failure),
}

/// Finished.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completed {
    /// Saves a read. Its name, id, state and connection details may be empty: the outcome's count.
    pub observation: Option<Observation>,
    /// Delete found nothing, or Create found its own earlier work.
    pub already_done: bool,
}

impl Outcome {
    /// Checks sizes and forms.
    pub fn check(&self) -> Result<(), Violation> {
        text::at_most(&self.provider_state, text::STATE_LIMIT, "provider_state")?;
        observation::check_connection_details(&self.connection_details)?;
        nested::check_each(&self.warnings, "warnings", Warning::check)?;
        match &self.result {
            OutcomeResult::Completed(completed) => {
                nested::check_optional(completed.observation.as_ref(), "observation", Observation::check)
                    .map_err(|violation| violation.within("completed"))
            }
            OutcomeResult::Operation(operation) => operation
                .check()
                .map_err(|violation| violation.within("operation")),
            OutcomeResult::Failure(failure) => {
                failure.check().map_err(|violation| violation.within("failure"))
            }
        }
    }

    /// Checks that this can be the answer to a call of this verb that was sent with this external name (perhaps none). Of a poll, the
    /// verb is that of the operation it follows; `None`: the caller does not know it.
    ///
    /// # Errors
    /// A name that changed, a creation that is complete and has none, a removed resource that was observed, an operation that does
    /// something else.
    pub fn check_answer(
        &self,
        verb: impl Into<Option<OperationVerb>>,
        sent_name: &str,
    ) -> Result<(), Violation> {
        let verb = verb.into();
        let not_allowed = |field: &str, why: String| Err(Violation::new(field, Rule::NotAllowed { why }));
        if !self.external_name.is_empty() && !sent_name.is_empty() && self.external_name != sent_name {
            return not_allowed(
                "external_name",
                format!("the resource is {sent_name:?}, and a name never changes"),
            );
        }
        match &self.result {
            OutcomeResult::Completed(completed) => match verb {
                Some(OperationVerb::Create) if self.external_name.is_empty() && sent_name.is_empty() => {
                    Err(Violation::new(
                        "external_name",
                        Rule::RequiredWhere {
                            when: "where a creation is complete",
                        },
                    ))
                }
                Some(OperationVerb::Delete) if completed.observation.is_some() => not_allowed(
                    "completed.observation",
                    "nothing is left to observe after Delete".to_owned(),
                ),
                _ => Ok(()),
            },
            OutcomeResult::Operation(operation) if verb.is_some_and(|verb| verb != operation.verb) => {
                not_allowed(
                    "operation.verb",
                    format!("another call began an operation that says {:?}", operation.verb),
                )
            }
            OutcomeResult::Operation(_) | OutcomeResult::Failure(_) => Ok(()),
        }
    }
}

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
            connection_details: wire.connection_details.into(),
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
            connection_details: outcome.connection_details.into(),
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
