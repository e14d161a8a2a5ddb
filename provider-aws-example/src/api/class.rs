//! What an error code of AWS means for the bridge.

/// The meaning of an error of AWS; each becomes one failure code of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    Invalid,
    NotFound,
    Conflict,
    Unauthenticated,
    CredentialsExpired,
    PermissionDenied,
    Throttled,
    QuotaExceeded,
    Unavailable,
    TimedOut,
}

/// Classifies by error code where one can be read, else by HTTP status. Codes of AWS are many and grow; the words in them are few.
pub(super) fn classify(code: &str, status: Option<u16>) -> ErrorClass {
    if let Some(class) = by_code(code) {
        return class;
    }
    match status {
        Some(401) => ErrorClass::Unauthenticated,
        Some(403) => ErrorClass::PermissionDenied,
        Some(404 | 410) => ErrorClass::NotFound,
        Some(408) => ErrorClass::Unavailable,
        Some(409 | 412) => ErrorClass::Conflict,
        Some(429) => ErrorClass::Throttled,
        Some(400..=499) => ErrorClass::Invalid,
        _ => ErrorClass::Unavailable,
    }
}

fn by_code(code: &str) -> Option<ErrorClass> {
    Some(match code {
        "TooManyRequestsException"
        | "RequestLimitExceeded"
        | "ProvisionedThroughputExceededException"
        | "PriorRequestNotComplete"
        | "BandwidthLimitExceeded"
        | "SlowDown" => ErrorClass::Throttled,
        "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => ErrorClass::CredentialsExpired,
        "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "InvalidAccessKeyId"
        | "InvalidToken"
        | "AuthFailure"
        | "MissingAuthenticationToken"
        | "MissingAuthenticationTokenException"
        | "IncompleteSignature"
        | "IncompleteSignatureException"
        | "MissingSecurityHeader"
        | "NotSignedUp" => ErrorClass::Unauthenticated,
        "UnauthorizedOperation" | "AllAccessDisabled" | "OptInRequired" | "InvalidSecurity" => {
            ErrorClass::PermissionDenied
        }
        "OverLimit" => ErrorClass::QuotaExceeded,
        // Our clock or the network is at fault; no spec change would help.
        "RequestTimeTooSkewed" | "RequestExpired" | "RequestTimeout" | "ServiceUnavailable" => {
            ErrorClass::Unavailable
        }
        "OperationAborted"
        | "ResourceInUseException"
        | "ConflictException"
        | "PreconditionFailed"
        | "InvalidIfMatchVersion" => ErrorClass::Conflict,
        code if code.contains("AccessDenied") => ErrorClass::PermissionDenied,
        // KmsThrottled, KMS.ThrottlingException, and more to come.
        code if code.contains("Throttl") => ErrorClass::Throttled,
        code if code.contains("LimitExceeded")
            || code.contains("QuotaExceeded")
            || code.starts_with("TooMany") =>
        {
            ErrorClass::QuotaExceeded
        }
        code if code.starts_with("NoSuch")
            || code.ends_with("NotFoundException")
            || code.ends_with("DoesNotExist") =>
        {
            ErrorClass::NotFound
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_code_decides_and_else_the_http_status() {
        for (code, status, class) in [
            ("SlowDown", 503, ErrorClass::Throttled),
            ("ThrottlingException", 400, ErrorClass::Throttled),
            ("KmsThrottled", 400, ErrorClass::Throttled),
            ("ExpiredTokenException", 400, ErrorClass::CredentialsExpired),
            ("InvalidAccessKeyId", 403, ErrorClass::Unauthenticated),
            ("UnrecognizedClientException", 400, ErrorClass::Unauthenticated),
            ("AccessDeniedException", 400, ErrorClass::PermissionDenied),
            ("KMS.AccessDeniedException", 400, ErrorClass::PermissionDenied),
            ("TooManyBuckets", 400, ErrorClass::QuotaExceeded),
            ("TooManyDistributionCNAMEs", 400, ErrorClass::QuotaExceeded),
            ("LimitExceededException", 400, ErrorClass::QuotaExceeded),
            ("NoSuchBucket", 404, ErrorClass::NotFound),
            ("QueueDoesNotExist", 400, ErrorClass::NotFound),
            ("ResourceNotFoundException", 400, ErrorClass::NotFound),
            ("ResourceInUseException", 400, ErrorClass::Conflict),
            ("PreconditionFailed", 412, ErrorClass::Conflict),
            ("ValidationException", 400, ErrorClass::Invalid),
            ("InvalidArgument", 400, ErrorClass::Invalid),
            ("InternalError", 500, ErrorClass::Unavailable),
            ("", 401, ErrorClass::Unauthenticated),
            ("", 403, ErrorClass::PermissionDenied),
            ("", 404, ErrorClass::NotFound),
            ("", 502, ErrorClass::Unavailable),
        ] {
            assert_eq!(classify(code, Some(status)), class, "{code} {status}");
        }
        assert_eq!(classify("", None), ErrorClass::Unavailable);
    }
}
