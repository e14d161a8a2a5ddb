//! Errors for a configuration that AWS rejects, and the fields that they are about.

use crossbridge_sdk::Failure;

use crate::api::{ApiError, ErrorClass};
use crate::services::cloudfront::read::is_absence;

/// The parameter that an error code is about.
const FIELDS: &[(&str, &str)] = &[
    ("InvalidDefaultRootObject", "/defaultRootObject"),
    ("InvalidErrorCode", "/customErrorResponses"),
    (
        "InvalidForwardCookies",
        "/defaultCacheBehavior/forwardedValues/cookies",
    ),
    (
        "InvalidFunctionAssociation",
        "/defaultCacheBehavior/functionAssociations",
    ),
    ("InvalidGeoRestrictionParameter", "/restrictions/geoRestriction"),
    (
        "InvalidHeadersForS3Origin",
        "/defaultCacheBehavior/forwardedValues/headers",
    ),
    (
        "InvalidLambdaFunctionAssociation",
        "/defaultCacheBehavior/lambdaFunctionAssociations",
    ),
    ("InvalidLocationCode", "/restrictions/geoRestriction/locations"),
    (
        "InvalidMinimumProtocolVersion",
        "/viewerCertificate/minimumProtocolVersion",
    ),
    ("InvalidOrigin", "/origins"),
    ("InvalidOriginAccessControl", "/origins"),
    ("InvalidOriginAccessIdentity", "/origins"),
    ("InvalidOriginKeepaliveTimeout", "/origins"),
    ("InvalidOriginReadTimeout", "/origins"),
    ("InvalidProtocolSettings", "/viewerCertificate"),
    (
        "InvalidQueryStringParameters",
        "/defaultCacheBehavior/forwardedValues/queryStringCacheKeys",
    ),
    ("InvalidRelativePath", "/customErrorResponses"),
    ("InvalidResponseCode", "/customErrorResponses"),
    ("InvalidTTLOrder", "/defaultCacheBehavior/minTtlSeconds"),
    ("InvalidTagging", "/tags"),
    ("InvalidViewerCertificate", "/viewerCertificate"),
    ("InvalidWebACLId", "/webACLId"),
    ("NoSuchOrigin", "/origins"),
];

/// The failure for an error of a request that carries a configuration.
pub(in crate::services::cloudfront) fn explain(error: ApiError) -> Failure {
    let code = error.code().to_owned();
    let said = error.message().to_owned();
    let field = FIELDS
        .iter()
        .find(|(known, _)| *known == code)
        .map(|(_, field)| *field);
    match (code.as_str(), error.class()) {
        ("CNAMEAlreadyExists", _) => {
            let message = format!(
                "an alias is in use by another distribution: {said}; release it there, or choose another"
            );
            let failure = Failure::dependency_not_ready(&message).reason("AliasInUse");
            error.into_failure(failure.violation("/aliases", said))
        }
        ("NoSuchOrigin", _) | (_, ErrorClass::Invalid) => {
            let failure = Failure::invalid_spec(format!("AWS rejects the configuration: {said}"));
            error.into_failure(match field {
                Some(field) => failure.violation(field, said),
                None => failure,
            })
        }
        // Something that the desired state refers to; another object may be about to create it.
        (_, ErrorClass::NotFound) if !is_absence(&error) => {
            let message = format!("something that the distribution refers to does not exist: {said}");
            error.into_failure(Failure::dependency_not_ready(message).reason("ReferenceNotFound"))
        }
        _ => error.into(),
    }
}
