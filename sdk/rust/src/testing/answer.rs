//! What came of a call, and what a test expects of it.

use std::{fmt, marker::PhantomData};

use crossbridge_types::{Completed, Failure, Observation, ObserveResult, Operation, Outcome, OutcomeResult};
use tonic::Status;

use crate::{Resource, document};

/// The answer to a call that changes something, or to a poll: the body, or the status of a call that was not processed.
#[derive(Debug, Clone)]
#[must_use]
pub struct Answer(pub Result<Outcome, Status>);

impl Answer {
    /// The body.
    ///
    /// # Panics
    /// With the status, if the call was not processed.
    #[track_caller]
    pub fn outcome(self) -> Outcome {
        match self.0 {
            Ok(outcome) => outcome,
            Err(status) => panic!("the call was not processed: {status}"),
        }
    }

    /// It is finished.
    ///
    /// # Panics
    /// With what was answered instead.
    #[track_caller]
    pub fn completed(self) -> Completed {
        match self.outcome().result {
            OutcomeResult::Completed(completed) => *completed,
            other => panic!("not completed: {other:?}"),
        }
    }

    /// The operation that was begun or goes on.
    ///
    /// # Panics
    /// With what was answered instead.
    #[track_caller]
    pub fn operation(self) -> Operation {
        match self.outcome().result {
            OutcomeResult::Operation(operation) => operation,
            other => panic!("no operation: {other:?}"),
        }
    }

    /// The upstream, or the plugin on its behalf, failed the call.
    ///
    /// # Panics
    /// With what was answered instead.
    #[track_caller]
    pub fn failure(self) -> Failure {
        match self.outcome().result {
            OutcomeResult::Failure(failure) => failure,
            other => panic!("no failure: {other:?}"),
        }
    }

    /// The call was not processed: a mistake of its caller's.
    ///
    /// # Panics
    /// With what was answered instead.
    #[track_caller]
    pub fn status(self) -> Status {
        match self.0 {
            Err(status) => status,
            Ok(outcome) => panic!("the call was processed: {outcome:?}"),
        }
    }
}

/// The answer to an Observe: the body, or the status of a call that was not processed.
#[must_use]
pub struct ObserveAnswer<R: Resource> {
    /// As it would have gone over the wire.
    pub answer: Result<ObserveResult, Status>,
    kind: PhantomData<fn() -> R>,
}

/// An external resource as the plugin observed it.
pub struct Found<R: Resource> {
    /// The observed parameters, as the author's type.
    pub parameters: R::Parameters,
    /// The observed status, where the kind has one.
    pub status: Option<R::Status>,
    /// All of it, with the same two as JSON.
    pub observation: Observation,
}

impl<R: Resource> ObserveAnswer<R> {
    pub(super) fn new(answer: Result<ObserveResult, Status>) -> Self {
        Self {
            answer,
            kind: PhantomData,
        }
    }

    /// It exists.
    ///
    /// # Panics
    /// With what was answered instead, or if what was observed cannot be read as the kind's types.
    #[track_caller]
    pub fn found(self) -> Found<R> {
        let observation = match self.look() {
            ObserveResult::Found(observation) => *observation,
            other => panic!("not found: {other:?}"),
        };
        let status = observation.status.as_ref();
        Found {
            parameters: read(&observation.parameters, "parameters"),
            status: status.map(|status| read(status, "status")),
            observation,
        }
    }

    /// The upstream reports that there is no such resource. The name that it would have, where names are derived.
    ///
    /// # Panics
    /// With what was answered instead.
    #[track_caller]
    pub fn absent(self) -> String {
        match self.look() {
            ObserveResult::Absent(absent) => absent.external_name,
            other => panic!("not absent: {other:?}"),
        }
    }

    /// The upstream could not be read.
    ///
    /// # Panics
    /// With what was answered instead.
    #[track_caller]
    pub fn failure(self) -> Failure {
        match self.look() {
            ObserveResult::Failed(failure) => failure,
            other => panic!("no failure: {other:?}"),
        }
    }

    /// The call was not processed: a mistake of its caller's.
    ///
    /// # Panics
    /// With what was answered instead.
    #[track_caller]
    pub fn status(self) -> Status {
        match self.answer {
            Err(status) => status,
            Ok(look) => panic!("the call was processed: {look:?}"),
        }
    }

    #[track_caller]
    pub(super) fn look(self) -> ObserveResult {
        match self.answer {
            Ok(look) => look,
            Err(status) => panic!("the call was not processed: {status}"),
        }
    }
}

#[track_caller]
fn read<T: serde::de::DeserializeOwned>(document: &crossbridge_types::Document, what: &str) -> T {
    match document::read(document) {
        Ok(read) => read,
        Err((path, problem)) => panic!("the observed {what} are not of the kind's type: {path:?}: {problem}"),
    }
}

impl<R: Resource> fmt::Debug for ObserveAnswer<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.answer.fmt(f)
    }
}

/// The documents as JSON: their types need no `Debug`.
impl<R: Resource> fmt::Debug for Found<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.observation.fmt(f)
    }
}
