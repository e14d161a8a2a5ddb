//! How a call that changes something ended, or goes on.

use crate::{
    CallError, Failure, Observation, Operation, OperationVerb, Rule, Secrets, Violation, Warning, check,
};

/// The answer to a call that changes something, or to a poll.
pub type Answer = Result<Outcome, CallError>;

/// How a call that changes something ended, or goes on. The name counts whatever the result is.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Empty: not known yet.
    pub external_name: String,
    /// Globally unique id; empty: not reported.
    pub canonical_id: String,
    /// At most 4 KiB; empty keeps the recorded one.
    pub provider_state: String,
    /// Keys and values for the connection Secret.
    pub connection_details: Secrets,
    /// What is worth an event without being an error.
    pub warnings: Vec<Warning>,
    /// How the call itself fared.
    pub result: OutcomeResult,
}

/// The three ways a call can have fared.
#[derive(Debug, Clone, PartialEq)]
pub enum OutcomeResult {
    /// The call's whole effect is in place and was verified upstream.
    Completed(Box<Completed>),
    /// Accepted upstream, and to be polled until it ends.
    Operation(Operation),
    /// Rejected, or failed midway; its effect tells which.
    Failure(Failure),
}

/// What a call that has ended knows of its resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completed {
    /// Saves a read. Its name, id, state and connection details may be empty: the outcome's count.
    pub observation: Option<Observation>,
    /// Delete found nothing, or Create found its own earlier work.
    pub already_done: bool,
}

impl Outcome {
    /// Checks sizes and forms.
    ///
    /// # Errors
    /// The first field that breaks a rule.
    pub fn check(&self) -> Result<(), Violation> {
        check::name(&self.external_name, "external_name")?;
        check::name(&self.canonical_id, "canonical_id")?;
        check::at_most(&self.provider_state, check::STATE_LIMIT, "provider_state")?;
        self.connection_details.check_connection_details()?;
        Warning::check_all(&self.warnings)?;
        match &self.result {
            OutcomeResult::Completed(completed) => {
                check::optional(completed.observation.as_ref(), "observation", Observation::check)
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
        check::same_name(&self.external_name, sent_name)?;
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
                    format!(
                        "the operation was begun by another call: it reports {:?}",
                        operation.verb
                    ),
                )
            }
            OutcomeResult::Operation(_) | OutcomeResult::Failure(_) => Ok(()),
        }
    }
}
