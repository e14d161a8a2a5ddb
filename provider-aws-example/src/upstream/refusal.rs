//! A step that did not work: what AWS said, and what is known of its effect.

use std::error::Error;
use std::io;
use std::time::Duration;

use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use crossbridge_sdk::{Effect, Failure};

use super::class::{Class, classify};

/// What AWS asks for is seldom said; this is its usual advice.
const AFTER_THROTTLING: Duration = Duration::from_secs(5);

/// A step that did not work.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    what: &'static str,
    class: Class,
    /// Of HTTP, if there was an answer.
    status: Option<u16>,
    /// Where S3 says that a bucket is.
    bucket_region: Option<String>,
    /// AWS's own code, without a namespace; empty if there was none to be read.
    code: String,
    message: String,
    request_id: String,
    /// This request has changed nothing, and never will.
    certain: bool,
    effect: Effect,
}

impl Refusal {
    pub(super) fn of<E>(what: &'static str, error: &SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        let response = error.raw_response();
        let status = response.map(|response| response.status().as_u16());
        let metadata = error.as_service_error().map(ProvideErrorMetadata::meta);
        let readable = metadata
            .and_then(|metadata| metadata.code())
            .filter(|code| !code.is_empty());
        let (class, code, message, certain) = match error {
            SdkError::TimeoutError(_) => (Class::TimedOut, String::new(), chain(error), false),
            SdkError::ConstructionFailure(_) => (Class::Invalid, String::new(), chain(error), true),
            _ if response.is_none() => {
                let (class, certain) = undelivered(error);
                (class, String::new(), chain(error), certain)
            }
            _ => {
                let code = readable
                    .map(ToOwned::to_owned)
                    .or_else(|| response.and_then(code_in_body));
                let code = bare(code.as_deref().unwrap_or_default());
                let class = classify(&code, status);
                // The status may be in contradiction to what was done only where AWS itself failed.
                let certain =
                    status.is_some_and(|status| (300..500).contains(&status)) || class == Class::Throttled;
                let message = metadata
                    .and_then(|metadata| metadata.message())
                    .unwrap_or_default()
                    .to_owned();
                (class, code, message, certain)
            }
        };
        Self {
            what,
            class,
            status,
            bucket_region: response.and_then(|response| header(response, "x-amz-bucket-region")),
            code,
            message,
            request_id: response
                .and_then(|response| {
                    header(response, "x-amzn-requestid").or_else(|| header(response, "x-amz-request-id"))
                })
                .unwrap_or_default(),
            certain,
            effect: Effect::Unknown,
        }
    }

    /// There was no time left to begin.
    pub(super) fn no_time(what: &'static str) -> Self {
        Self::silent(
            what,
            "the deadline of the call came before it was begun".to_owned(),
            true,
        )
    }

    /// There was no answer in time.
    pub(super) fn timed_out(what: &'static str, time: Duration) -> Self {
        Self::silent(what, format!("there was no answer within {time:.1?}"), false)
    }

    fn silent(what: &'static str, message: String, certain: bool) -> Self {
        Self {
            what,
            class: Class::TimedOut,
            status: None,
            bucket_region: None,
            code: String::new(),
            message,
            request_id: String::new(),
            certain,
            effect: Effect::Unknown,
        }
    }

    pub(super) fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    pub(super) fn is_certain(&self) -> bool {
        self.certain
    }

    /// Whether AWS gave this code.
    pub(crate) fn is(&self, code: &str) -> bool {
        self.code == code
    }

    /// Whether AWS gave one of these codes.
    pub(crate) fn is_any(&self, codes: &[&str]) -> bool {
        codes.contains(&self.code.as_str())
    }

    pub(crate) fn class(&self) -> Class {
        self.class
    }

    /// Of HTTP, if there was an answer.
    pub(crate) fn status(&self) -> Option<u16> {
        self.status
    }

    /// The region in which S3 says that the bucket is.
    pub(crate) fn bucket_region(&self) -> Option<&str> {
        self.bucket_region.as_deref()
    }

    /// AWS's own code, without a namespace; empty if there was none to be read.
    #[cfg(feature = "cloudfront")]
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// What AWS said, for people.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The same refusal, where the kind knows better what it means.
    pub(crate) fn told_as(self, failure: Failure) -> Failure {
        failure.effect(self.effect).upstream(self.code, self.request_id)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let said = match (refusal.code.as_str(), refusal.message.as_str()) {
            ("", "") => "AWS refused without saying why".to_owned(),
            ("", message) => message.to_owned(),
            (code, "") => code.to_owned(),
            (code, message) => format!("{message} ({code})"),
        };
        let what = refusal.what;
        let failure = match refusal.class {
            Class::Invalid => Self::invalid_spec(format!("{what}: {said}")),
            // AWS says what is not there; this is somebody else on the way.
            Class::NotFound if refusal.code.is_empty() => Self::unavailable(format!(
                "{what}: HTTP 404 from something that is not AWS; is the endpoint of the provider config right?"
            )),
            Class::NotFound => Self::not_found(format!("{what}: {said}")),
            Class::Conflict => Self::conflict(format!("{what}: {said}")),
            Class::Unauthenticated => Self::unauthenticated(format!(
                "AWS does not accept the credentials: {said}; mend the provider config"
            )),
            Class::CredentialsExpired => {
                Self::credentials_expired(format!("the credentials have expired: {said}"))
            }
            Class::PermissionDenied => Self::permission_denied(format!(
                "{said}; allow {what} to the identity of the provider config"
            )),
            Class::Throttled => Self::throttled(AFTER_THROTTLING, format!("{what}: {said}")),
            Class::QuotaExceeded => Self::quota_exceeded(format!("{what}: {said}; raise the quota in AWS")),
            Class::Unavailable => Self::unavailable(format!("{what}: {said}")),
            Class::TimedOut => Self::timeout(format!("{what}: {said}")),
        };
        refusal.told_as(failure)
    }
}

/// Of a request without an answer: what it means, and whether it certainly never reached AWS.
fn undelivered(error: &(dyn Error + 'static)) -> (Class, bool) {
    if let Some(cause) = causes(error).find_map(|cause| cause.downcast_ref::<CredentialsError>()) {
        return (without_identity(cause), true);
    }
    let refused = causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused);
    (Class::Unavailable, refused)
}

/// Nothing was sent, as there was nobody to sign for.
fn without_identity(error: &CredentialsError) -> Class {
    // A refusal of AssumeRole tells its code only in its text.
    let said = chain(error);
    let refused = [
        "InvalidClientTokenId",
        "SignatureDoesNotMatch",
        "AccessDenied",
        "ExpiredToken",
    ];
    match error {
        _ if refused.iter().any(|code| said.contains(code)) => Class::Unauthenticated,
        CredentialsError::CredentialsNotLoaded(_) | CredentialsError::InvalidConfiguration(_) => {
            Class::Unauthenticated
        }
        _ => Class::Unavailable,
    }
}

/// An error and its causes, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| Error::source(*error))
}

/// An error with its causes, which the SDK's own text leaves out.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut told: Vec<String> = causes(error).map(ToString::to_string).collect();
    told.dedup();
    told.join(": ")
}

/// Codes come as `com.amazonaws.sqs#QueueDoesNotExist` and as `AWS.SimpleQueueService.NonExistentQueue` too.
fn bare(code: &str) -> String {
    code.rsplit(['#', '.']).next().unwrap_or(code).to_owned()
}

/// Where the SDK could not read the code, as the body is in another protocol's shape.
fn code_in_body(response: &HttpResponse) -> Option<String> {
    let body = std::str::from_utf8(response.body().bytes()?).ok()?;
    let between = |start: &str, end: &str| {
        let (_, rest) = body.split_once(start)?;
        rest.split_once(end).map(|(code, _)| code.to_owned())
    };
    between("<Code>", "</Code>").or_else(|| {
        let json: serde_json::Value = serde_json::from_str(body).ok()?;
        Some(json.get("__type")?.as_str()?.to_owned())
    })
}

fn header(response: &HttpResponse, name: &'static str) -> Option<String> {
    response.headers().get(name).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use aws_smithy_runtime_api::http::StatusCode;
    use aws_smithy_types::body::SdkBody;
    use aws_smithy_types::error::ErrorMetadata;
    use crossbridge_sdk::FailureCode;

    use super::*;

    /// A service's error whose code the SDK could not read.
    #[derive(Debug, Default)]
    struct Unreadable(ErrorMetadata);

    impl std::fmt::Display for Unreadable {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("unreadable")
        }
    }

    impl Error for Unreadable {}

    impl ProvideErrorMetadata for Unreadable {
        fn meta(&self) -> &ErrorMetadata {
            &self.0
        }
    }

    fn refusal(status: u16, body: &str) -> Refusal {
        let status = StatusCode::try_from(status).unwrap();
        let response = HttpResponse::new(status, SdkBody::from(body));
        Refusal::of(
            "s3:DoIt",
            &SdkError::service_error(Unreadable::default(), response),
        )
    }

    #[test]
    fn a_code_in_another_protocols_shape_is_read_all_the_same() {
        let xml = "<ErrorResponse><Errors><Error><Code>InvalidClientTokenId</Code></Error></Errors></ErrorResponse>";
        assert_eq!(refusal(403, xml).class(), Class::Unauthenticated);
        let json = r#"{ "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException" }"#;
        assert_eq!(refusal(400, json).class(), Class::Throttled);
        assert!(refusal(400, json).is("ThrottlingException"));
    }

    #[test]
    fn without_a_code_the_status_decides() {
        assert_eq!(refusal(403, "").class(), Class::PermissionDenied);
        assert_eq!(refusal(401, "").class(), Class::Unauthenticated);
        assert_eq!(refusal(503, "<html>").class(), Class::Unavailable);
    }

    #[test]
    fn only_what_aws_refused_is_certain_to_have_done_nothing() {
        assert!(refusal(400, "").is_certain());
        assert!(refusal(503, "<Error><Code>SlowDown</Code></Error>").is_certain());
        assert!(!refusal(500, "").is_certain());
        assert!(!Refusal::timed_out("s3:DoIt", Duration::from_secs(1)).is_certain());
        assert!(Refusal::no_time("s3:DoIt").is_certain());
    }

    #[test]
    fn a_failure_tells_what_to_do_and_keeps_what_aws_called_it() {
        let body = "<Error><Code>AccessDenied</Code></Error>";
        let failure: Failure = refusal(403, body).with_effect(Effect::None).into();
        assert_eq!(failure.code(), Some(FailureCode::PermissionDenied));
        assert!(failure.to_string().contains("allow s3:DoIt"), "{failure}");
    }
}
