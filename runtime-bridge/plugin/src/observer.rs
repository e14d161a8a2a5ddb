//! A hook for whoever counts and times calls.

use std::time::Duration;

/// Told of each call when it has ended.
pub trait CallObserver: Send + Sync {
    /// One call, ended.
    fn ended(&self, call: &CallRecord<'_>);
}

/// One call, ended.
#[derive(Debug, Clone, Copy)]
pub struct CallRecord<'a> {
    /// Name of the plugin.
    pub plugin: &'a str,
    /// Method of the contract: `Observe`.
    pub method: &'static str,
    /// `Kind.group/version`; empty for calls that are about no kind.
    pub kind: &'a str,
    /// `OK`, a gRPC status code, `NOT_SENT` or `INVALID_ANSWER`.
    pub code: &'a str,
    /// From the wish to call until the answer, waiting for a free place included.
    pub took: Duration,
}

/// Counts nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl CallObserver for Unobserved {
    fn ended(&self, _: &CallRecord<'_>) {}
}
