//! How a call that changes something ended, or goes on.

use std::fmt;

use crossbridge_types::{Secrets, Warning};

use super::{Observation, Operation};
use crate::{Failure, document::Documents};

/// How a call that changes something ended, or goes on: completed, an operation, or a failure. Whichever it is, it can carry
/// the name, the id, the state and connection details, and does so as soon as they are known.
#[must_use]
pub struct Outcome<R: Documents> {
    pub(crate) external_name: String,
    pub(crate) canonical_id: String,
    pub(crate) provider_state: String,
    pub(crate) connection_details: Secrets,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) result: OutcomeResult<R>,
}

pub(crate) enum OutcomeResult<R: Documents> {
    Completed {
        observation: Option<Box<Observation<R>>>,
        already_done: bool,
    },
    Operation(Operation),
    Failure(Failure),
}

impl<R: Documents> Outcome<R> {
    /// The call's whole effect is in place and was verified upstream.
    pub fn completed() -> Self {
        Self::new(OutcomeResult::Completed {
            observation: None,
            already_done: false,
        })
    }

    /// Finished, with the observation after it, which saves the bridge an Observe. Not after a delete. Name, id, state and connection
    /// details are taken from the observation where the outcome has none of its own.
    pub fn observed(observation: Observation<R>) -> Self {
        Self::new(OutcomeResult::Completed {
            observation: Some(Box::new(observation)),
            already_done: false,
        })
    }

    /// Delete found nothing, or create found its own earlier work.
    pub fn already_done() -> Self {
        Self::new(OutcomeResult::Completed {
            observation: None,
            already_done: true,
        })
    }

    /// Under way: the bridge stores the operation, then polls.
    pub fn operation(operation: Operation) -> Self {
        Self::new(OutcomeResult::Operation(operation))
    }

    /// Rejected, or failed half-way. Where nothing else is to be reported, `Err(failure)` does the same.
    pub fn failure(failure: impl Into<Failure>) -> Self {
        Self::new(OutcomeResult::Failure(failure.into()))
    }

    fn new(result: OutcomeResult<R>) -> Self {
        Self {
            external_name: String::new(),
            canonical_id: String::new(),
            provider_state: String::new(),
            connection_details: Secrets::default(),
            warnings: Vec::new(),
            result,
        }
    }

    /// The name, as soon as it is known. Never changes.
    pub fn external_name(mut self, name: impl Into<String>) -> Self {
        self.external_name = name.into();
        self
    }

    /// Globally unique id (ARN, self link), to catch two owners of one thing.
    pub fn canonical_id(mut self, id: impl Into<String>) -> Self {
        self.canonical_id = id.into();
        self
    }

    /// To be handed back on every later call. At most 4 KiB, no secrets. Unset keeps the former one.
    pub fn provider_state(mut self, state: impl Into<String>) -> Self {
        self.provider_state = state.into();
        self
    }

    /// A key for the connection Secret, perhaps one that the upstream gives only now.
    pub fn connection(mut self, key: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.connection_details.0.insert(key.into(), value.into());
        self
    }

    /// Worth an event: a stable reason in `PascalCase`, and a sentence.
    pub fn warning(mut self, reason: impl Into<String>, message: impl Into<String>) -> Self {
        self.warnings.push(Warning {
            reason: reason.into(),
            message: message.into(),
        });
        self
    }
}

impl<R: Documents> From<Operation> for Outcome<R> {
    fn from(operation: Operation) -> Self {
        Self::operation(operation)
    }
}

impl<R: Documents> From<Failure> for Outcome<R> {
    fn from(failure: Failure) -> Self {
        Self::failure(failure)
    }
}

impl<R: Documents> fmt::Debug for Outcome<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outcome")
            .field("external_name", &self.external_name)
            .field("canonical_id", &self.canonical_id)
            .field("connection_details", &self.connection_details)
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}

impl<R: Documents> fmt::Debug for OutcomeResult<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Completed {
                observation,
                already_done,
            } => f
                .debug_struct("Completed")
                .field("observation", observation)
                .field("already_done", already_done)
                .finish(),
            Self::Operation(operation) => operation.fmt(f),
            Self::Failure(failure) => failure.fmt(f),
        }
    }
}
