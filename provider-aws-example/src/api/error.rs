//! A request that failed: what AWS answered, and what is known of its effect.

use std::error::Error;
use std::io;
use std::time::Duration;

use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;
use crossbridge_sdk::{Effect, Failure};

use super::class::{ErrorClass, classify};

/// AWS seldom reports how long to wait; this is its usual advice.
const THROTTLING_DELAY: Duration = Duration::from_secs(5);

/// A request that failed.
#[derive(Debug, Clone)]
pub(crate) struct ApiError {
    /// Name of the request in an IAM policy.
    action: &'static str,
    class: ErrorClass,
    /// HTTP status, if there was a response.
    status: Option<u16>,
    /// The region of a bucket, where S3 names it.
    bucket_region: Option<String>,
    /// AWS's own code, without a namespace; empty if there was none to be read.
    code: String,
    message: String,
    request_id: String,
    /// This request has changed nothing, and never will.
    without_effect: bool,
    effect: Effect,
}

impl ApiError {
    pub(super) fn from_sdk<E>(action: &'static str, error: &SdkError<E, HttpResponse>) -> Self
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        let response = error.raw_response();
        let status = response.map(|response| response.status().as_u16());
        let metadata = error.as_service_error().map(ProvideErrorMetadata::meta);
        let readable = metadata
            .and_then(|metadata| metadata.code())
            .filter(|code| !code.is_empty());
        let (class, code, message, without_effect) = match error {
            SdkError::TimeoutError(_) => (ErrorClass::TimedOut, String::new(), chain(error), false),
            SdkError::ConstructionFailure(_) => (ErrorClass::Invalid, String::new(), chain(error), true),
            _ if response.is_none() => {
                let (class, without_effect) = undelivered(error);
                (class, String::new(), chain(error), without_effect)
            }
            _ => {
                let code = readable
                    .map(ToOwned::to_owned)
                    .or_else(|| response.and_then(code_in_body));
                let code = without_namespace(code.as_deref().unwrap_or_default());
                let class = classify(&code, status);
                // Only where AWS itself failed can the request have had an effect in spite of the error.
                let without_effect = status.is_some_and(|status| (300..500).contains(&status))
                    || class == ErrorClass::Throttled;
                let message = metadata
                    .and_then(|metadata| metadata.message())
                    .unwrap_or_default()
                    .to_owned();
                (class, code, message, without_effect)
            }
        };
        Self {
            action,
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
            without_effect,
            effect: Effect::Unknown,
        }
    }

    /// There was no time left to send it.
    pub(super) fn deadline_passed(action: &'static str) -> Self {
        Self::without_response(
            action,
            "the deadline of the call passed before it was sent".to_owned(),
            true,
        )
    }

    /// There was no response in time.
    pub(super) fn timed_out(action: &'static str, time: Duration) -> Self {
        Self::without_response(action, format!("there was no response within {time:.1?}"), false)
    }

    fn without_response(action: &'static str, message: String, without_effect: bool) -> Self {
        Self {
            action,
            class: ErrorClass::TimedOut,
            status: None,
            bucket_region: None,
            code: String::new(),
            message,
            request_id: String::new(),
            without_effect,
            effect: Effect::Unknown,
        }
    }

    /// AWS does not know an account's keys in a region that is not enabled for it. `elsewhere`: such a region; whether the keys are good is
    /// asked in the config's own.
    pub(super) fn in_region(mut self, elsewhere: Option<&str>) -> Self {
        let is_unknown = matches!(
            self.code.as_str(),
            "UnrecognizedClientException" | "InvalidClientTokenId" | "AuthFailure"
        );
        if let Some(region) = elsewhere.filter(|_| is_unknown) {
            self.class = ErrorClass::PermissionDenied;
            self.message = format!(
                "the region {region} may not be enabled for the account: {}",
                self.message
            );
        }
        self
    }

    pub(super) fn with_effect(mut self, effect: Effect) -> Self {
        self.effect = effect;
        self
    }

    /// Whether this request has certainly changed nothing, and never will.
    pub(super) fn is_without_effect(&self) -> bool {
        self.without_effect
    }

    /// Whether AWS answered with this code.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.code == code
    }

    /// Whether AWS answered with one of these codes.
    pub(crate) fn has_any_code(&self, codes: &[&str]) -> bool {
        codes.contains(&self.code.as_str())
    }

    pub(crate) fn class(&self) -> ErrorClass {
        self.class
    }

    /// HTTP status, if there was a response.
    pub(crate) fn status(&self) -> Option<u16> {
        self.status
    }

    /// The region of the bucket, where S3 names it.
    pub(crate) fn bucket_region(&self) -> Option<&str> {
        self.bucket_region.as_deref()
    }

    /// AWS's own code, without a namespace; empty if there was none to be read.
    pub(crate) fn code(&self) -> &str {
        &self.code
    }

    /// The message of AWS, for people.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// As `failure`, where the kind knows better what the error means; effect, code and request id stay.
    pub(crate) fn into_failure(self, failure: Failure) -> Failure {
        failure.effect(self.effect).upstream(self.code, self.request_id)
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        // The bridge shows the code beside the message.
        let said = match error.message.as_str() {
            "" => "AWS gave no reason",
            message => message,
        };
        let action = error.action;
        let failure = match error.class {
            ErrorClass::Invalid => Self::invalid_spec(format!("{action}: {said}")),
            // AWS names what does not exist; this response comes from elsewhere on the way.
            ErrorClass::NotFound if error.code.is_empty() => Self::unavailable(format!(
                "{action}: HTTP 404 from something that is not AWS; check the endpoint of the ProviderConfig"
            )),
            ErrorClass::NotFound => Self::not_found(format!("{action}: {said}")),
            ErrorClass::Conflict => Self::conflict(format!("{action}: {said}")),
            ErrorClass::Unauthenticated => Self::unauthenticated(format!(
                "AWS rejects the credentials: {said}; fix the ProviderConfig"
            )),
            ErrorClass::CredentialsExpired => {
                Self::credentials_expired(format!("the credentials have expired: {said}"))
            }
            ErrorClass::PermissionDenied => Self::permission_denied(format!(
                "{said}; allow {action} to the identity of the ProviderConfig"
            )),
            ErrorClass::Throttled => Self::throttled(THROTTLING_DELAY, format!("{action}: {said}")),
            ErrorClass::QuotaExceeded => {
                Self::quota_exceeded(format!("{action}: {said}; raise the quota in AWS"))
            }
            ErrorClass::Unavailable => Self::unavailable(format!("{action}: {said}")),
            ErrorClass::TimedOut => Self::timeout(format!("{action}: {said}")),
        };
        error.into_failure(failure)
    }
}

/// For a request without a response: what that means, and whether the request certainly never reached AWS.
fn undelivered(error: &(dyn Error + 'static)) -> (ErrorClass, bool) {
    if let Some(cause) = causes(error).find_map(|cause| cause.downcast_ref::<CredentialsError>()) {
        return (without_credentials(cause), true);
    }
    let connection_refused = causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused);
    (ErrorClass::Unavailable, connection_refused)
}

/// For a request that was not sent, as there were no credentials to sign it with.
fn without_credentials(error: &CredentialsError) -> ErrorClass {
    // An error of AssumeRole has its code only in its text.
    let text = chain(error);
    let codes = [
        "InvalidClientTokenId",
        "SignatureDoesNotMatch",
        "AccessDenied",
        "ExpiredToken",
    ];
    match error {
        _ if codes.iter().any(|code| text.contains(code)) => ErrorClass::Unauthenticated,
        CredentialsError::CredentialsNotLoaded(_) | CredentialsError::InvalidConfiguration(_) => {
            ErrorClass::Unauthenticated
        }
        _ => ErrorClass::Unavailable,
    }
}

/// An error and its causes, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| Error::source(*error))
}

/// An error with its causes, which the SDK's own text leaves out.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut texts: Vec<String> = causes(error).map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}

/// Codes come as `com.amazonaws.sqs#QueueDoesNotExist` and as `AWS.SimpleQueueService.NonExistentQueue` too.
fn without_namespace(code: &str) -> String {
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

    #[test]
    fn unknown_keys_elsewhere_are_a_region_that_is_not_enabled() {
        let unknown = || error(400, r#"{"__type": "UnrecognizedClientException"}"#);
        let home = Failure::from(unknown().in_region(None));
        assert_eq!(home.code(), Some(FailureCode::Unauthenticated));
        let elsewhere = Failure::from(unknown().in_region(Some("ap-east-1")));
        assert_eq!(elsewhere.code(), Some(FailureCode::PermissionDenied));
        assert!(elsewhere.to_string().contains("ap-east-1"), "{elsewhere}");
        let wrong = error(403, r#"{"__type": "SignatureDoesNotMatch"}"#).in_region(Some("ap-east-1"));
        assert_eq!(Failure::from(wrong).code(), Some(FailureCode::Unauthenticated));
    }

    fn error(status: u16, body: &str) -> ApiError {
        let status = StatusCode::try_from(status).unwrap();
        let response = HttpResponse::new(status, SdkBody::from(body));
        ApiError::from_sdk(
            "s3:DoIt",
            &SdkError::service_error(Unreadable::default(), response),
        )
    }

    #[test]
    fn a_code_in_another_protocols_shape_is_read() {
        let xml = "<ErrorResponse><Errors><Error><Code>InvalidClientTokenId</Code></Error></Errors></ErrorResponse>";
        assert_eq!(error(403, xml).class(), ErrorClass::Unauthenticated);
        let json = r#"{ "__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException" }"#;
        assert_eq!(error(400, json).class(), ErrorClass::Throttled);
        assert!(error(400, json).has_code("ThrottlingException"));
    }

    #[test]
    fn without_a_code_the_http_status_decides() {
        assert_eq!(error(403, "").class(), ErrorClass::PermissionDenied);
        assert_eq!(error(401, "").class(), ErrorClass::Unauthenticated);
        assert_eq!(error(503, "<html>").class(), ErrorClass::Unavailable);
    }

    #[test]
    fn a_rejected_request_alone_is_certainly_without_effect() {
        assert!(error(400, "").is_without_effect());
        assert!(error(503, "<Error><Code>SlowDown</Code></Error>").is_without_effect());
        assert!(!error(500, "").is_without_effect());
        assert!(!ApiError::timed_out("s3:DoIt", Duration::from_secs(1)).is_without_effect());
        assert!(ApiError::deadline_passed("s3:DoIt").is_without_effect());
    }

    #[test]
    fn a_failure_names_the_permission_to_allow() {
        let body = "<Error><Code>AccessDenied</Code></Error>";
        let failure: Failure = error(403, body).with_effect(Effect::None).into();
        assert_eq!(failure.code(), Some(FailureCode::PermissionDenied));
        assert!(failure.to_string().contains("allow s3:DoIt"), "{failure}");
    }
}
