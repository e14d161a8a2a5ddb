//! What can become of one request to the API server.

use std::time::Duration;

use http::StatusCode;
use kube::core::Status;

use crate::object::BadName;

/// Nobody is asked to wait longer than this.
const LONGEST_ADVICE: Duration = Duration::from_mins(10);

/// Why a request to the API server gave no result.
///
/// The request was certainly *not* carried out, save for [`ApiError::Timeout`] and [`ApiError::Interrupted`], of which nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// Another writer was faster, or a precondition (uid, test of a patch) did not hold: read again, decide again.
    #[error("the object was changed meanwhile: {0}")]
    Conflict(String),
    /// An apply without force: fields are owned by another manager, and stay so until that or a person changes it.
    #[error("another field manager owns some of the fields: {0}")]
    FieldConflict(String),
    /// It is already there.
    #[error("it exists already: {0}")]
    AlreadyExists(String),
    /// The object is not there.
    #[error("not found: {0}")]
    NotFound(String),
    /// The API server does not know the kind, or not yet: says nothing about the object.
    #[error("the API server does not serve this kind (now): {0}")]
    NotServed(String),
    /// Something else than the object is absent, such as its namespace: says nothing about the object.
    #[error("what it needs is absent: {0}")]
    DependencyNotFound(String),
    /// The requested point in time is no longer kept; list anew.
    #[error("the requested version is too old: {0}")]
    Expired(String),
    /// RBAC, or credentials that are not accepted.
    #[error("not permitted, check the RBAC rules of the bridge's service account: {0}")]
    Forbidden(String),
    /// The object does not satisfy its schema or rules.
    #[error("the API server does not accept the object: {0}")]
    Invalid(String),
    /// An admission webhook or policy refused it.
    #[error("refused by an admission webhook or policy: {0}")]
    Denied(String),
    /// Too many requests.
    #[error("the API server asks to slow down, next try in {} s: {message}", retry_after.as_secs())]
    Throttled {
        /// How long to wait.
        retry_after: Duration,
        /// What it said.
        message: String,
    },
    /// No connection, or the server is not ready.
    #[error("the API server cannot be reached: {0}")]
    Unavailable(String),
    /// No answer in time. It may or may not have been carried out.
    #[error("no answer from the API server within {} ms, the outcome is unknown", .0.as_millis())]
    Timeout(Duration),
    /// The connection broke, or the server failed, after the request was sent. It may or may not have been carried out.
    #[error("the request was interrupted, the outcome is unknown: {0}")]
    Interrupted(String),
    /// It was not sent: this process does not lead, or is stopping.
    #[error("not sent: this process may not act now, as it does not lead or is stopping")]
    NotSent,
    /// The answer, or the request, could not be read or built.
    #[error("the API server's answer cannot be used: {0}")]
    Unusable(String),
}

impl ApiError {
    /// A stable word for metrics and logs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Conflict(_) => "Conflict",
            Self::FieldConflict(_) => "FieldConflict",
            Self::AlreadyExists(_) => "AlreadyExists",
            Self::NotFound(_) => "NotFound",
            Self::NotServed(_) => "NotServed",
            Self::DependencyNotFound(_) => "DependencyNotFound",
            Self::Expired(_) => "Expired",
            Self::Forbidden(_) => "Forbidden",
            Self::Invalid(_) => "Invalid",
            Self::Denied(_) => "Denied",
            Self::Throttled { .. } => "Throttled",
            Self::Unavailable(_) => "Unavailable",
            Self::Timeout(_) => "Timeout",
            Self::Interrupted(_) => "Interrupted",
            Self::NotSent => "NotSent",
            Self::Unusable(_) => "Unusable",
        }
    }

    /// The object itself is refused: it stays so until a person changes it, its schema, or a policy.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Invalid(_) | Self::Denied(_))
    }

    /// Whether a write that ended so may have been carried out, or may be yet.
    pub fn may_have_taken_effect(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::Interrupted(_) | Self::Unusable(_))
    }

    /// The same request may succeed later, with nothing changed by anybody.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::NotServed(_)
                | Self::Throttled { .. }
                | Self::Unavailable(_)
                | Self::Timeout(_)
                | Self::Interrupted(_)
                | Self::NotSent
        )
    }

    /// From an answer that is not a success. `path` is that of the request, `retry_after` the header of that name.
    pub(crate) fn from_answer(
        path: &str,
        code: StatusCode,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> Self {
        let status: Status = serde_json::from_slice(body).unwrap_or_else(|_| {
            let text: String = String::from_utf8_lossy(body).trim().chars().take(500).collect();
            Status::failure(&text, "").with_code(code.as_u16())
        });
        let message = if status.message.is_empty() {
            code.to_string()
        } else {
            status.message.clone()
        };
        if code != StatusCode::NOT_FOUND && is_admission(&message) {
            return Self::Denied(message);
        }
        match (code, status.reason.as_str()) {
            (StatusCode::CONFLICT, "AlreadyExists") => Self::AlreadyExists(message),
            (StatusCode::CONFLICT, _) if is_of_fields(&status) => Self::FieldConflict(message),
            (StatusCode::CONFLICT, _) => Self::Conflict(message),
            (StatusCode::NOT_FOUND, _) => not_found(path, &status, message),
            (StatusCode::GONE, _) => Self::Expired(message),
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _) => Self::Forbidden(message),
            (StatusCode::TOO_MANY_REQUESTS, _) => {
                let hinted = status.details.map_or(0, |details| details.retry_after_seconds);
                let retry_after = retry_after.unwrap_or(Duration::from_secs(u64::from(hinted.max(1))));
                let retry_after = retry_after.min(LONGEST_ADVICE);
                Self::Throttled { retry_after, message }
            }
            (StatusCode::SERVICE_UNAVAILABLE, _) => Self::Unavailable(message),
            // Also etcd's own timeouts: the write may have been done.
            (code, _) if code.is_server_error() => Self::Interrupted(message),
            _ => Self::Invalid(message),
        }
    }
}

impl From<BadName> for ApiError {
    fn from(name: BadName) -> Self {
        Self::Invalid(name.to_string())
    }
}

/// Only an answer that names the object of the request speaks of that object.
fn not_found(path: &str, status: &Status, message: String) -> ApiError {
    let named = status
        .details
        .as_ref()
        .map(|details| (details.kind.as_str(), details.name.as_str()))
        .filter(|(_, name)| !name.is_empty());
    match named {
        None => ApiError::NotServed(message),
        Some(named) if addressed(path) == Some(named) => ApiError::NotFound(message),
        Some(_) => ApiError::DependencyNotFound(message),
    }
}

/// Plural and name of the object that a path leads to, with or without a subresource; `None`: a collection, or no resource.
fn addressed(path: &str) -> Option<(&str, &str)> {
    let mut parts = path.split('/').skip(1);
    // The core group has no name.
    let before_version = usize::from(parts.next()? != "api");
    let mut parts = parts.skip(before_version + 1);
    let first = (parts.next()?, parts.next()?);
    match (first, parts.next(), parts.next()) {
        (("namespaces", _), Some(plural), Some(name)) => Some((plural, name)),
        // Of a namespace itself there are only these.
        (("namespaces", _), None | Some("status" | "finalize"), None) => Some(first),
        (("namespaces", _), _, _) => None,
        _ => Some(first),
    }
}

fn is_of_fields(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.reason == "FieldManagerConflict")
}

/// Refusals of admission webhooks and policies carry any code and reason; only their text tells. A policy is an object as well, whose kind stands in what is
/// said of requests to it.
fn is_admission(message: &str) -> bool {
    (message.contains("admission webhook") && message.contains("denied the request"))
        || (message.contains("ValidatingAdmissionPolicy '") && message.contains("denied request"))
}

#[cfg(test)]
#[path = "api_error_tests.rs"]
mod tests;
