//! Why something did not work.

use crossbridge_types::{Effect, Failure, FailureCode, FieldViolation, Violation, limits};

use super::scalar;
use crate::v1alpha1 as wire;

impl TryFrom<wire::Failure> for Failure {
    type Error = Violation;

    fn try_from(wire: wire::Failure) -> Result<Self, Violation> {
        let failure = Self {
            code: wire.code().into(),
            effect: wire.effect().into(),
            reason: wire.reason,
            message: limits::cut(wire.message),
            retry_after: scalar::advice(wire.retry_after, "retry_after")?,
            violations: wire
                .violations
                .into_iter()
                .map(|violation| FieldViolation {
                    path: violation.path,
                    message: limits::cut(violation.message),
                })
                .collect(),
            upstream_code: limits::cut(wire.upstream_code),
            upstream_request_id: limits::cut(wire.upstream_request_id),
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
            retry_after: scalar::wire_duration(failure.retry_after),
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
