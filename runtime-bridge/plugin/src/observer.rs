//! A hook for metrics and logs of calls.

use std::time::Duration;

use bridge_core::external::{CallError, Failure, ObserveResult, Outcome, OutcomeResult};

/// Receives each call when it has ended.
pub trait CallObserver: Send + Sync {
    /// Runs in the task of the call, after its answer: must not block.
    fn ended(&self, call: &CallRecord<'_>);
}

/// One call that has ended: what was called, how it ended, how long it took.
#[derive(Debug, Clone, Copy)]
pub struct CallRecord<'a> {
    /// Name of the plugin.
    pub plugin: &'a str,
    /// Method of the contract: `Observe`.
    pub method: &'static str,
    /// `Kind.group/version`; empty for calls that are about no kind.
    pub kind: &'a str,
    /// `metadata.uid` of the object on whose behalf it was; empty: none.
    pub owner: &'a str,
    /// `OK`, a gRPC status code, `NOT_SENT` or `INVALID_ANSWER`.
    pub code: &'a str,
    /// What was answered, in a few words without secrets.
    pub described: &'a str,
    /// From the call until its answer, waiting for a connection included.
    pub took: Duration,
}

/// An observer that drops every record.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl CallObserver for Unobserved {
    fn ended(&self, _: &CallRecord<'_>) {}
}

/// An answer in a few words: what it is, and of a failure its reason. Never values.
pub(crate) trait Describe {
    /// The description: a few words, without values.
    fn described(&self) -> String;
}

impl Describe for ObserveResult {
    fn described(&self) -> String {
        match self {
            Self::Found(found) if found.ready => "found, ready".to_owned(),
            Self::Found(_) => "found, not ready".to_owned(),
            Self::Absent(_) => "absent".to_owned(),
            Self::Failed(failure) => failure.described(),
        }
    }
}

impl Describe for Outcome {
    fn described(&self) -> String {
        match &self.result {
            OutcomeResult::Completed(completed) if completed.already_done => "already done".to_owned(),
            OutcomeResult::Completed(_) => "completed".to_owned(),
            OutcomeResult::Operation(operation) => {
                let percent = operation.progress_percent.map(|percent| format!(" {percent} %"));
                let described = format!("operation {}{}", operation.phase, percent.unwrap_or_default());
                described.trim_end().to_owned()
            }
            OutcomeResult::Failure(failure) => failure.described(),
        }
    }
}

impl Describe for Failure {
    fn described(&self) -> String {
        format!(
            "failure {:?} ({}), effect {:?}",
            self.code, self.reason, self.effect
        )
    }
}

impl Describe for Result<String, Failure> {
    fn described(&self) -> String {
        match self {
            Ok(_) => "usable".to_owned(),
            Err(failure) => failure.described(),
        }
    }
}

impl Describe for CallError {
    fn described(&self) -> String {
        match self {
            Self::Rejected { code, .. } => format!("rejected: {code}"),
            Self::Unreachable { .. } => "not sent: the plugin is not available".to_owned(),
            Self::Unknown { code, .. } => format!("outcome unknown: {code}"),
        }
    }
}
