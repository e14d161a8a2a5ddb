//! Why something did not work.

use std::time::Duration;

use super::{Violation, nested, text};
use crate::v1alpha1 as wire;

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

impl Failure {
    /// Checks the forms of its texts.
    pub fn check(&self) -> Result<(), Violation> {
        text::pascal_case(&self.reason, "reason")?;
        text::required(&self.message, "message")?;
        nested::check_each(&self.violations, "violations", |violation| {
            if !violation.path.is_empty() {
                text::pointer(&violation.path, "path")?;
            }
            text::required(&violation.message, "message")
        })
    }
}

impl TryFrom<wire::Failure> for Failure {
    type Error = Violation;

    fn try_from(wire: wire::Failure) -> Result<Self, Violation> {
        let failure = Self {
            code: wire.code().into(),
            effect: wire.effect().into(),
            reason: wire.reason,
            message: wire.message,
            retry_after: text::advice(wire.retry_after, "retry_after")?,
            violations: wire
                .violations
                .into_iter()
                .map(|violation| FieldViolation {
                    path: violation.path,
                    message: violation.message,
                })
                .collect(),
            upstream_code: wire.upstream_code,
            upstream_request_id: wire.upstream_request_id,
            existing_external_name: wire.existing_external_name,
        };
        failure.check()?;
        Ok(failure)
    }
}

impl From<Failure> for wire::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            code: wire::FailureCode::from(failure.code).into(),
            effect: wire::Effect::from(failure.effect).into(),
            reason: failure.reason,
            message: failure.message,
            retry_after: text::wire_duration(failure.retry_after),
            violations: failure
                .violations
                .into_iter()
                .map(|violation| wire::FieldViolation {
                    path: violation.path,
                    message: violation.message,
                })
                .collect(),
            upstream_code: failure.upstream_code,
            upstream_request_id: failure.upstream_request_id,
            existing_external_name: failure.existing_external_name,
        }
    }
}

/// Both directions of a failure code; prost reads a number that it does not know as unspecified.
macro_rules! codes {
    ($($code:ident),*) => {
        impl From<wire::FailureCode> for FailureCode {
            fn from(code: wire::FailureCode) -> Self {
                match code {
                    wire::FailureCode::Unspecified => Self::Internal,
                    $(wire::FailureCode::$code => Self::$code,)*
                }
            }
        }

        impl From<FailureCode> for wire::FailureCode {
            fn from(code: FailureCode) -> Self {
                match code {
                    $(FailureCode::$code => Self::$code,)*
                }
            }
        }
    };
}

codes!(
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
    Internal
);

impl From<wire::Effect> for Effect {
    fn from(effect: wire::Effect) -> Self {
        match effect {
            wire::Effect::None => Self::None,
            wire::Effect::Partial => Self::Partial,
            wire::Effect::Unspecified | wire::Effect::Unknown => Self::Unknown,
        }
    }
}

impl From<Effect> for wire::Effect {
    fn from(effect: Effect) -> Self {
        match effect {
            Effect::None => Self::None,
            Effect::Partial => Self::Partial,
            Effect::Unknown => Self::Unknown,
        }
    }
}
