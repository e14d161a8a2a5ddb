//! Saying no, so that the bridge knows what to do.

use std::{
    error::Error,
    fmt,
    io::{self, ErrorKind},
    panic::Location,
    time::Duration,
};

use crossbridge_types as types;
use tonic::Status;

use crate::{Effect, FailureCode};

/// Why a call did not work, and what it left behind. One constructor per code; each sets the effect that is usual for
/// it, and [`effect`](Self::effect) changes it.
///
/// Any error that `?` meets becomes an `INTERNAL` failure with [`Effect::Unknown`]: safe, and never the best answer. A time that ran out
/// becomes `TIMEOUT`, a connection that failed `UNAVAILABLE`.
/// Texts hold no secrets.
///
/// In a creation, once the upstream has given a name ([`Call::record_name`](crate::Call::record_name)), [`Effect::None`] is sent as
/// [`Effect::Partial`], save with [`not_found`](Self::not_found): a name is given with a resource.
///
/// ```
/// use std::time::Duration;
/// use crossbridge_sdk::{Effect, Failure, FailureCode};
///
/// let busy = Failure::conflict("the bucket is being emptied").reason("BucketBusy");
/// assert_eq!(busy.to_string(), "BucketBusy: the bucket is being emptied");
///
/// let throttled = Failure::throttled(Duration::from_secs(2), "fewer requests, please").upstream("SlowDown", "req-1");
/// assert_eq!(throttled.code(), Some(FailureCode::Throttled));
///
/// let half_done = Failure::unavailable("the connection broke off between two calls").effect(Effect::Partial);
/// # drop(half_done);
///
/// fn parse(text: &str) -> Result<u32, Failure> {
///     Ok(text.parse()?)
/// }
/// assert_eq!(parse("x").unwrap_err().code(), Some(FailureCode::Internal));
/// ```
#[derive(Debug, Clone)]
pub struct Failure(Box<Inner>);

#[derive(Debug, Clone)]
enum Inner {
    /// How the external system fared, as the body of the answer reports it.
    Upstream(types::Failure),
    /// The same, of an error that nobody maps: the author has a bug, and the log says where.
    Unmapped(types::Failure, Origin),
    /// The call was not processed, and nothing was done: a gRPC status.
    Call(Status),
}

/// Where an error became a failure: its type, and the line of the `?`. Its text may hold anything.
#[derive(Debug, Clone, Copy)]
struct Origin {
    error: &'static str,
    at: &'static Location<'static>,
}

macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $code:ident, $effect:ident;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(message: impl Into<String>) -> Self {
                Self::new(FailureCode::$code, Effect::$effect, stringify!($code), message)
            }
        )*
    };
}

impl Failure {
    constructors! {
        /// The object waits for a spec change. Nothing was done.
        invalid_spec => InvalidSpec, None;
        /// The desired state changes what cannot change in place: the object waits for a spec change or a replacement. Nothing was done.
        immutable_field => ImmutableField, None;
        /// What is asked for cannot be done here at all. Nothing was done.
        unsupported => Unsupported, None;
        /// The resource to update or delete is absent, or has another owner. Nothing was done.
        not_found => NotFound, None;
        /// Busy, locked, or another etag: observed again, then retried. Nothing was done.
        conflict => Conflict, None;
        /// Something else must come first: retried, and reported as waiting. Nothing was done.
        dependency_not_ready => DependencyNotReady, None;
        /// The settings are wrong: every object of the config waits. Nothing was done.
        invalid_config => InvalidConfig, None;
        /// The credentials are rejected: every object of the config waits. Nothing was done.
        unauthenticated => Unauthenticated, None;
        /// The credentials are stale: the bridge reads them afresh. Nothing was done.
        credentials_expired => CredentialsExpired, None;
        /// These credentials may not do this. Nothing was done.
        permission_denied => PermissionDenied, None;
        /// A person must raise a limit. Nothing was done.
        quota_exceeded => QuotaExceeded, None;
        /// Upstream 5xx or network failure. What it left behind is unknown.
        unavailable => Unavailable, Unknown;
        /// No answer in time. What it left behind is unknown.
        timeout => Timeout, Unknown;
        /// The operation ended badly, or was stopped upstream. What it left behind is unknown.
        operation_failed => OperationFailed, Unknown;
        /// The handle is of no more use. The poll changed nothing.
        operation_expired => OperationExpired, None;
        /// Another request came earlier under this token. Nothing was done.
        token_reused => TokenReused, None;
        /// A bug in the plugin. What it left behind is unknown.
        internal => Internal, Unknown;
    }

    /// A resource of this name is there already, and not by this request. Nothing was done.
    pub fn already_exists(existing_external_name: impl Into<String>, message: impl Into<String>) -> Self {
        let name = existing_external_name.into();
        Self::new(FailureCode::AlreadyExists, Effect::None, "AlreadyExists", message)
            .upstream_failure(|failure| failure.existing_external_name = name)
    }

    /// An upstream rate limit: every object of this config and rate-limit group waits. Nothing was done.
    pub fn throttled(retry_after: Duration, message: impl Into<String>) -> Self {
        Self::new(FailureCode::Throttled, Effect::None, "Throttled", message).retry_after(retry_after)
    }

    /// What the bridge handed back is not what this plugin gave out: a malformed or foreign `handle`, `target.provider_state` or
    /// `page_token`. Nothing was done. The bridge receives gRPC `INVALID_ARGUMENT`.
    pub fn invalid_argument(field: &str, problem: impl fmt::Display) -> Self {
        Self::status(Status::invalid_argument(format!("{field}: {problem}")))
    }

    /// The call is not processed, and nothing was done.
    pub(crate) fn status(status: Status) -> Self {
        Self(Box::new(Inner::Call(status)))
    }

    /// One that stands in the body.
    pub(crate) fn of(failure: types::Failure) -> Self {
        Self(Box::new(Inner::Upstream(failure)))
    }

    fn new(code: FailureCode, effect: Effect, reason: &str, message: impl Into<String>) -> Self {
        Self::of(described(code, effect, reason, message.into()))
    }

    fn upstream_failure(mut self, change: impl FnOnce(&mut types::Failure)) -> Self {
        if let Inner::Upstream(failure) | Inner::Unmapped(failure, _) = &mut *self.0 {
            change(failure);
        }
        self
    }

    /// What the trait's default methods answer.
    pub(crate) fn unimplemented() -> Self {
        Self::status(Status::unimplemented("this kind does not serve the call"))
    }

    /// What the call left behind, where the usual effect of the code is not true.
    #[must_use]
    pub fn effect(self, effect: Effect) -> Self {
        self.upstream_failure(|failure| failure.effect = effect)
    }

    /// A stable reason in `PascalCase`, at most 63 bytes: it becomes a condition's reason and a metric's label. Unset: the
    /// code's own name, such as `InvalidSpec`.
    #[must_use]
    pub fn reason(self, reason: impl Into<String>) -> Self {
        self.upstream_failure(|failure| failure.reason = reason.into())
    }

    /// No retry sooner than this; the bridge takes more than an hour for an hour.
    #[must_use]
    pub fn retry_after(self, after: Duration) -> Self {
        self.upstream_failure(|failure| failure.retry_after = Some(after))
    }

    /// A parameter at fault, by JSON Pointer; an empty path means the external name.
    #[must_use]
    pub fn violation(self, path: impl Into<String>, message: impl Into<String>) -> Self {
        let (path, message) = (path.into(), message.into());
        self.upstream_failure(|failure| failure.violations.push(types::FieldViolation { path, message }))
    }

    /// What the upstream called it: its error code, and its request id where there is one.
    #[must_use]
    pub fn upstream(self, code: impl Into<String>, request_id: impl Into<String>) -> Self {
        self.upstream_failure(|failure| {
            failure.upstream_code = code.into();
            failure.upstream_request_id = request_id.into();
        })
    }

    /// The code; `None` for [`invalid_argument`](Self::invalid_argument), which is none of the external system.
    pub fn code(&self) -> Option<FailureCode> {
        match &*self.0 {
            Inner::Upstream(failure) | Inner::Unmapped(failure, _) => Some(failure.code),
            Inner::Call(_) => None,
        }
    }

    /// The same, once the upstream has given a name: what stands for a status becomes an `INTERNAL` failure whose effect is unknown, as a status
    /// would report that nothing was done, and carry no name.
    pub(crate) fn after_name(self) -> Self {
        match *self.0 {
            Inner::Upstream(_) | Inner::Unmapped(..) => self,
            Inner::Call(status) => Self::internal(format!(
                "the call ended in the gRPC status {:?} after the upstream had given a name: {}",
                status.code(),
                status.message()
            ))
            .reason("StatusAfterName"),
        }
    }

    /// Logs an error that nobody maps, by its type and place. `source`: where the kind is declared.
    pub(crate) fn report(&self, source: Option<&str>) {
        if let Inner::Unmapped(_, Origin { error, at }) = &*self.0 {
            tracing::error!(error, %at, source, "a bug in the plugin, or an error that it does not map");
        }
    }

    /// The failure for the body of an answer, or the status in its stead.
    pub(crate) fn into_types(self) -> Result<types::Failure, Status> {
        match *self.0 {
            Inner::Upstream(failure) | Inner::Unmapped(failure, _) => Ok(failure),
            Inner::Call(status) => Err(status),
        }
    }
}

fn described(code: FailureCode, effect: Effect, reason: &str, message: String) -> types::Failure {
    types::Failure {
        code,
        effect,
        reason: reason.to_owned(),
        message,
        retry_after: None,
        violations: Vec::new(),
        upstream_code: String::new(),
        upstream_request_id: String::new(),
        existing_external_name: String::new(),
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Inner::Upstream(failure) | Inner::Unmapped(failure, _) => {
                write!(f, "{}: {}", failure.reason, failure.message)
            }
            Inner::Call(status) => write!(f, "{:?}: {}", status.code(), status.message()),
        }
    }
}

/// `Failure` is no [`Error`] itself, so that every error can become one.
///
/// An upstream's errors are mapped in one place by a type of the plugin that is no [`Error`] and becomes a failure:
/// `impl From<UpstreamError> for Failure`.
impl<E: Error + 'static> From<E> for Failure {
    #[track_caller]
    fn from(error: E) -> Self {
        let at = Location::caller();
        let mut message = error.to_string();
        let mut known = known_error(&error);
        let mut source = error.source();
        while let Some(cause) = source {
            message = format!("{message}: {cause}");
            known = known.or_else(|| known_error(cause));
            source = cause.source();
        }
        if let Some(known) = known {
            return known(message);
        }
        let failure = described(FailureCode::Internal, Effect::Unknown, "Internal", message);
        let error = std::any::type_name::<E>();
        Self(Box::new(Inner::Unmapped(failure, Origin { error, at })))
    }
}

/// What an error of the language itself stands for: a time that ran out, a connection that failed.
fn known_error(error: &(dyn Error + 'static)) -> Option<fn(String) -> Failure> {
    if error.is::<tokio::time::error::Elapsed>() {
        return Some(Failure::timeout);
    }
    match error.downcast_ref::<io::Error>()?.kind() {
        ErrorKind::TimedOut => Some(Failure::timeout),
        ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::NotConnected
        | ErrorKind::BrokenPipe
        | ErrorKind::HostUnreachable
        | ErrorKind::NetworkUnreachable
        | ErrorKind::NetworkDown => Some(Failure::unavailable),
        _ => None,
    }
}
