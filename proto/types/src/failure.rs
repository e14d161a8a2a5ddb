//! Why something did not work.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{Violation, check, limits};

/// Why a call did not work. Each code has exactly one reaction of the bridge, which `failure.proto` documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)] // The contract documents each.
pub enum FailureCode {
    InvalidSpec,
    ImmutableField,
    Unsupported,
    AlreadyExists,
    NotFound,
    Conflict,
    DependencyNotReady,
    InvalidConfig,
    Unauthenticated,
    CredentialsExpired,
    PermissionDenied,
    Throttled,
    QuotaExceeded,
    Unavailable,
    Timeout,
    OperationFailed,
    OperationExpired,
    TokenReused,
    Internal,
}

/// What a failed call left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Effect {
    /// This call changed nothing and will change nothing. Implies nothing about earlier ones.
    None,
    /// The call left something behind: an external name is set if a resource may exist.
    Partial,
    /// The plugin does not know what the call left behind.
    Unknown,
}

/// A field at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldViolation {
    /// JSON Pointer into the parameters; empty: the external name.
    pub path: String,
    /// What is wrong with the field, for people.
    pub message: String,
}

/// The external system, or the plugin, said no.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Decides the bridge's reaction, and how many objects it reaches.
    pub code: FailureCode,
    /// Decides whether a creation needs recovery.
    pub effect: Effect,
    /// `PascalCase`, stable within the plugin, at most 63 bytes.
    pub reason: String,
    /// A sentence that a user can act on. No secrets.
    pub message: String,
    /// No retry sooner than this; at most an hour.
    pub retry_after: Option<Duration>,
    /// The fields at fault; may be empty.
    pub violations: Vec<FieldViolation>,
    /// The upstream's own code; empty: none.
    pub upstream_code: String,
    /// The upstream's request id; empty: none.
    pub upstream_request_id: String,
    /// What is in the way, for `AlreadyExists`; empty: not reported.
    pub existing_external_name: String,
}

impl Failure {
    /// Checks the forms of its texts.
    ///
    /// # Errors
    /// The first that is missing or out of form.
    pub fn check(&self) -> Result<(), Violation> {
        check::pascal_case(&self.reason, "reason")?;
        check::required(&self.message, "message")?;
        check::name(&self.existing_external_name, "existing_external_name")?;
        check::count(&self.violations, limits::VIOLATIONS, "violations")?;
        check::each(&self.violations, "violations", |violation| {
            if !violation.path.is_empty() {
                check::name(&violation.path, "path")?;
                check::pointer(&violation.path, "path")?;
            }
            check::required(&violation.message, "message")
        })
    }
}

/// A call that returned no answer of the external system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// Nothing was done, and the bridge or the plugin has a bug: `INVALID_ARGUMENT`, `FAILED_PRECONDITION`, `NOT_FOUND`,
    /// `UNIMPLEMENTED`, or the call was never sent (its deadline had passed).
    #[error("the plugin rejected the call ({code}): {message}")]
    Rejected {
        /// The gRPC status code, in the contract's spelling: `INVALID_ARGUMENT`.
        code: String,
        /// What the plugin said.
        message: String,
    },
    /// Nothing was done: the plugin cannot be reached, and the call was never sent.
    #[error("the plugin is not available: {message}")]
    Unreachable {
        /// The error of the connection and its causes.
        message: String,
    },
    /// Whether it had an effect is unknown: every other status, a broken connection, an answer that breaks the contract.
    #[error("the outcome of the call is not known ({code}): {message}")]
    Unknown {
        /// `UNAVAILABLE`, `DEADLINE_EXCEEDED`, …, or `INVALID_ANSWER` for an answer that breaks the contract.
        code: String,
        /// The status' message, or what broke the contract.
        message: String,
    },
}
