//! What an error code of AWS means for the bridge.

/// What an answer that is no success means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
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

/// By code where one can be read, else by HTTP status. Codes of AWS are many and grow; their words are few.
pub(super) fn classify(code: &str, status: Option<u16>) -> Class {
    if let Some(class) = by_name(code) {
        return class;
    }
    match status {
        Some(401) => Class::Unauthenticated,
        Some(403) => Class::PermissionDenied,
        Some(404 | 410) => Class::NotFound,
        Some(408) => Class::Unavailable,
        Some(409 | 412) => Class::Conflict,
        Some(429) => Class::Throttled,
        Some(400..=499) => Class::Invalid,
        _ => Class::Unavailable,
    }
}

fn by_name(code: &str) -> Option<Class> {
    Some(match code {
        "TooManyRequestsException"
        | "RequestLimitExceeded"
        | "ProvisionedThroughputExceededException"
        | "PriorRequestNotComplete"
        | "BandwidthLimitExceeded"
        | "SlowDown" => Class::Throttled,
        "ExpiredToken" | "ExpiredTokenException" | "TokenRefreshRequired" => Class::CredentialsExpired,
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
        | "NotSignedUp" => Class::Unauthenticated,
        "UnauthorizedOperation" | "AllAccessDisabled" | "OptInRequired" | "InvalidSecurity" => {
            Class::PermissionDenied
        }
        "OverLimit" => Class::QuotaExceeded,
        // Our clock, or the network's; nothing that a spec could mend.
        "RequestTimeTooSkewed" | "RequestExpired" | "RequestTimeout" | "ServiceUnavailable" => {
            Class::Unavailable
        }
        "OperationAborted"
        | "ResourceInUseException"
        | "ConflictException"
        | "PreconditionFailed"
        | "InvalidIfMatchVersion" => Class::Conflict,
        code if code.contains("AccessDenied") => Class::PermissionDenied,
        // KmsThrottled, KMS.ThrottlingException, and more to come.
        code if code.contains("Throttl") => Class::Throttled,
        code if code.contains("LimitExceeded")
            || code.contains("QuotaExceeded")
            || code.starts_with("TooMany") =>
        {
            Class::QuotaExceeded
        }
        code if code.starts_with("NoSuch")
            || code.ends_with("NotFoundException")
            || code.ends_with("DoesNotExist") =>
        {
            Class::NotFound
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_is_known_decides_and_else_the_status() {
        for (code, status, class) in [
            ("SlowDown", 503, Class::Throttled),
            ("ThrottlingException", 400, Class::Throttled),
            ("KmsThrottled", 400, Class::Throttled),
            ("ExpiredTokenException", 400, Class::CredentialsExpired),
            ("InvalidAccessKeyId", 403, Class::Unauthenticated),
            ("UnrecognizedClientException", 400, Class::Unauthenticated),
            ("AccessDeniedException", 400, Class::PermissionDenied),
            ("KMS.AccessDeniedException", 400, Class::PermissionDenied),
            ("TooManyBuckets", 400, Class::QuotaExceeded),
            ("TooManyDistributionCNAMEs", 400, Class::QuotaExceeded),
            ("LimitExceededException", 400, Class::QuotaExceeded),
            ("NoSuchBucket", 404, Class::NotFound),
            ("QueueDoesNotExist", 400, Class::NotFound),
            ("ResourceNotFoundException", 400, Class::NotFound),
            ("ResourceInUseException", 400, Class::Conflict),
            ("PreconditionFailed", 412, Class::Conflict),
            ("ValidationException", 400, Class::Invalid),
            ("InvalidArgument", 400, Class::Invalid),
            ("InternalError", 500, Class::Unavailable),
            ("", 401, Class::Unauthenticated),
            ("", 403, Class::PermissionDenied),
            ("", 404, Class::NotFound),
            ("", 502, Class::Unavailable),
        ] {
            assert_eq!(classify(code, Some(status)), class, "{code} {status}");
        }
        assert_eq!(classify("", None), Class::Unavailable);
    }
}
