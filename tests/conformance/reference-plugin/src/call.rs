//! What comes before a call's own work: deadline, form, type, credentials, the upstream's behavior.

use std::{path::PathBuf, time::Duration};

use crossbridge_proto::v1alpha1::{self as wire, Effect, FailureCode};
use crossbridge_types::{Config, Target, Violation};
use serde_json::Value;
use tonic::{Code, Status, metadata::MetadataMap};

use crate::{
    faults::Faults,
    kinds::{self, Spec},
    upstream::{Upstream, now},
};

/// The credential that opens the cloud.
pub const KEY: &str = "sesame-open-wide";

/// Another one, of another owner's account.
pub const OTHER_KEY: &str = "speak-friend-and-enter";

/// Longest call that changes something.
const LIMIT: Duration = Duration::from_mins(1);

/// Why a call is not worked on: a status, or a failure of the external system.
#[derive(Debug)]
pub enum Rejection {
    Status(Status),
    Failure(Box<wire::Failure>),
}

impl From<Status> for Rejection {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

impl From<wire::Failure> for Rejection {
    fn from(failure: wire::Failure) -> Self {
        Self::Failure(Box::new(failure))
    }
}

impl From<std::io::Error> for Rejection {
    fn from(error: std::io::Error) -> Self {
        failure(FailureCode::Internal, Effect::Unknown, "Io", &error.to_string()).into()
    }
}

pub fn failure(code: FailureCode, effect: Effect, reason: &str, message: &str) -> wire::Failure {
    wire::Failure {
        code: code.into(),
        effect: effect.into(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..Default::default()
    }
}

pub fn reject(code: FailureCode, reason: &str) -> wire::Failure {
    failure(code, Effect::None, reason, "The reference plugin rejects it.")
}

/// gRPC's own deadline, relative to now; `None`: none, or not readable.
pub fn timeout(metadata: &MetadataMap) -> Option<Duration> {
    let text = metadata.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        _ => Duration::from_nanos(count),
    })
}

/// The rules of a call that changes something.
pub fn check_deadline(faults: &Faults, metadata: &MetadataMap) -> Result<(), Status> {
    let reject = |why: &str| Err(Status::failed_precondition(why));
    match timeout(metadata) {
        None if !faults.on("calls/deadline-required") => return reject("it has no deadline"),
        Some(timeout) if timeout > LIMIT && !faults.on("calls/deadline-at-most-60s") => {
            return reject("the deadline is too far ahead");
        }
        _ => {}
    }
    let absolute: Option<u64> = metadata
        .get("crossbridge-deadline-ms")
        .and_then(|value| value.to_str().ok())
        .and_then(|text| text.parse().ok());
    if absolute.is_some_and(|at| at <= now()) && !faults.on("calls/expired-deadline-rejected") {
        return reject("the deadline has passed");
    }
    Ok(())
}

/// The gRPC status for a caller's mistake, as the faults distort it.
pub fn invalid(faults: &Faults, violation: &Violation) -> Status {
    if faults.on("calls/required-field-named") {
        return Status::invalid_argument("the request is not complete");
    }
    Status::invalid_argument(violation.to_string())
}

pub fn spec(faults: &Faults, target: &Target) -> Result<&'static Spec, Status> {
    kinds::find(&target.resource_type.clone().into()).ok_or_else(|| {
        let code = if faults.on("calls/unknown-type-not-found") {
            Code::InvalidArgument
        } else {
            Code::NotFound
        };
        Status::new(code, "it is not served")
    })
}

/// The cloud as a config reaches it.
pub fn open(
    faults: &Faults,
    config: &Config,
    kind: &str,
    call_kind: CallKind,
) -> Result<Upstream, Rejection> {
    let is_expired = config
        .credentials_expire
        .is_some_and(|time| time.as_millisecond() <= i64::try_from(now()).unwrap_or(i64::MAX));
    if is_expired && !faults.on("config/expired-credentials") {
        return Err(reject(FailureCode::CredentialsExpired, "Expired").into());
    }
    let mut folder = config
        .settings
        .as_ref()
        .and_then(|settings| settings.get("folder"))
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if faults.on("config/new-revision-effective") {
        folder = faults.first(&config.id, &folder);
    }
    if faults.on("config/isolated") {
        folder = faults.first(&config.revision, &folder);
    }
    let given = config.credentials.0.get("key").cloned().unwrap_or_default();
    let mut key = String::from_utf8_lossy(&given).into_owned();
    if faults.on("config/new-revision-effective#credentials") {
        key = faults.first(&format!("key of {}", config.id), &key);
    }
    if ![KEY, OTHER_KEY].contains(&key.as_str()) {
        return Err(bad_key(faults, config, call_kind));
    }
    let is_logged = match faults.variant("secrets/not-in-logs") {
        Some("other-config") => key == OTHER_KEY,
        variant => variant.is_some(),
    };
    if is_logged {
        println!("a client with the key {key}");
    }
    let folder = PathBuf::from(folder);
    if !folder.is_dir() {
        if faults.on("config/dead-upstream-never-absent") {
            return Err(reject(FailureCode::NotFound, ABSENT).into());
        }
        let code = if faults.on("config/check-agrees-with-calls#settings") {
            FailureCode::InvalidConfig
        } else {
            FailureCode::Unavailable
        };
        return Err(failure(code, Effect::None, "NoFolder", "The folder is absent.").into());
    }
    check_upstream(faults, &folder, call_kind)?;
    if faults.on("flaky") && call_kind == CallKind::Observe && faults.count("reads").is_multiple_of(5) {
        return Err(failure(FailureCode::Unavailable, Effect::None, "Busy", "Try again.").into());
    }
    Ok(Upstream::of(&folder, kind)?)
}

/// Reason of a rejection that an observation turns into absence.
pub const ABSENT: &str = "ReadsAsAbsent";

/// Whether a call of this kind states nothing of such a failure, and calls absent what it cannot see.
pub fn hides(faults: &Faults, failure: &wire::Failure, call: &str) -> bool {
    let rule = match failure.reason.as_str() {
        "BadKey" => "config/bad-credentials-never-absent",
        "NoFolder" => "config/dead-upstream-never-absent",
        "Down" => "upstream/down-never-absent",
        _ => return false,
    };
    faults.variant(rule) == Some(call)
}

/// What kind of call it is, as far as its failures differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallKind {
    Check,
    Observe,
    Change,
}

fn bad_key(faults: &Faults, config: &Config, call_kind: CallKind) -> Rejection {
    let mut failure = reject(FailureCode::Unauthenticated, "BadKey");
    if call_kind == CallKind::Observe && faults.on("config/bad-credentials-never-absent") {
        ABSENT.clone_into(&mut failure.reason);
    }
    if call_kind == CallKind::Observe && faults.on("config/bad-credentials-code") {
        failure.code = FailureCode::Internal.into();
    }
    if call_kind == CallKind::Change && faults.on("failure/effect") {
        failure.effect = Effect::Unspecified.into();
    }
    if let (CallKind::Check, Some(given)) = (call_kind, config.credentials.0.get("key")) {
        match () {
            () if faults.on("failure/code") => failure.code = 0,
            () if faults.on("failure/reason") => "it's bad".clone_into(&mut failure.reason),
            () if faults.on("failure/message") => failure.message.clear(),
            () if faults.on("failure/violations") => failure.violations.push(wire::FieldViolation {
                path: "no pointer".to_owned(),
                message: "It has a path that is none.".to_owned(),
            }),
            () if faults.on("secrets/not-in-errors") => {
                failure.message = format!("The key {} is wrong.", String::from_utf8_lossy(given));
            }
            () => {}
        }
    }
    failure.into()
}

/// How the upstream is: a file reports so.
fn check_upstream(faults: &Faults, folder: &std::path::Path, call_kind: CallKind) -> Result<(), Rejection> {
    if folder.join("down").exists() {
        faults.first("down", "");
        if faults.on("upstream/down-never-absent") {
            return Err(reject(FailureCode::NotFound, ABSENT).into());
        }
        return Err(failure(FailureCode::Unavailable, Effect::None, "Down", "It is down.").into());
    }
    let is_back =
        faults.on("upstream/recovers") && faults.contains("down") && faults.once("first call after");
    if is_back {
        return Err(failure(
            FailureCode::Unavailable,
            Effect::None,
            "Down",
            "A connection is broken.",
        )
        .into());
    }
    if folder.join("throttled").exists() {
        if faults.on("upstream/throttled-is-failure#status") {
            return Err(Status::resource_exhausted("slow down").into());
        }
        let is_hidden = match faults.variant("upstream/throttled-is-failure") {
            Some("changes") => call_kind == CallKind::Change,
            variant => variant.is_some(),
        };
        if is_hidden {
            return Err(reject(FailureCode::Internal, "SlowDown").into());
        }
        let mut failure = reject(FailureCode::Throttled, "SlowDown");
        if !faults.on("failure/throttled-has-retry-after") {
            failure.retry_after = Some(kinds::seconds(1));
        }
        return Err(failure.into());
    }
    Ok(())
}
