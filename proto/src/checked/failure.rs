//! Why something did not work.

use std::time::Duration;

/// Why a call did not work. Each code has exactly one reaction of the bridge, which `failure.proto` documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// This call changed nothing and will change nothing. Says nothing of earlier ones.
    None,
    /// Something changed.
    Partial,
    /// The plugin cannot tell.
    Unknown,
}

/// A field at fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldViolation {
    /// JSON Pointer into the parameters; empty: the external name.
    pub path: String,
    /// For people.
    pub message: String,
}

/// The external system, or the plugin, said no. No text in it holds a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Decides the bridge's reaction.
    pub code: FailureCode,
    /// Decides recovery.
    pub effect: Effect,
    /// `PascalCase`, stable within the plugin, at most 63 bytes.
    pub reason: String,
    /// One or two sentences that a user can act on.
    pub message: String,
    /// No retry sooner than this.
    pub retry_after: Option<Duration>,
    /// Which fields.
    pub violations: Vec<FieldViolation>,
    /// The upstream's own code; empty: none.
    pub upstream_code: String,
    /// The upstream's request id; empty: none.
    pub upstream_request_id: String,
    /// What is in the way, for `AlreadyExists`; empty: not told.
    pub existing_external_name: String,
}
