//! What AWS means when it does not take a configuration.

use crossbridge_sdk::Failure;

use crate::upstream::{Class, Refusal};

/// Where in the wish that stands which AWS gives this code for.
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

/// The refusal of a request that carries a configuration.
pub(super) fn told(refusal: Refusal) -> Failure {
    let code = refusal.code().to_owned();
    let said = refusal.message().to_owned();
    let field = FIELDS
        .iter()
        .find(|(known, _)| *known == code)
        .map(|(_, field)| *field);
    match (code.as_str(), refusal.class()) {
        ("CNAMEAlreadyExists", _) => {
            let message = format!(
                "an alias is in use by another distribution: {said}; release it there, or choose another"
            );
            let failure = Failure::dependency_not_ready(&message).reason("AliasInUse");
            refusal.told_as(failure.violation("/aliases", said))
        }
        ("NoSuchOrigin", _) | (_, Class::Invalid) => {
            let failure =
                Failure::invalid_spec(format!("AWS does not take the configuration: {said} ({code})"));
            refusal.told_as(match field {
                Some(field) => failure.violation(field, said),
                None => failure,
            })
        }
        // Something that the wish refers to; another object may be about to make it.
        (_, Class::NotFound) if !super::work::is_absence(&refusal) => {
            let message = format!("something that the distribution refers to is not there: {said} ({code})");
            refusal.told_as(Failure::dependency_not_ready(message).reason("ReferenceNotFound"))
        }
        _ => refusal.into(),
    }
}
