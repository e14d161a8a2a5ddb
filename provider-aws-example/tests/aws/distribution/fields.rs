//! What users can set on a distribution, and what is rejected.

use super::*;

/// Everything that a desired can hold, nearly.
fn everything() -> Value {
    json!({
        "enabled": true,
        "comment": "everything",
        "aliases": ["a.example.org", "b.example.org"],
        "origins": [
            {
                "id": "bucket",
                "domainName": "site.s3.eu-west-1.amazonaws.com",
                "originPath": "/production",
                "originAccessControlId": "E2OACOACOACOAC",
                "s3Origin": {},
                "originShield": { "enabled": true, "region": "eu-west-1" },
            },
            {
                "id": "api",
                "domainName": "api.example.org",
                "customHeaders": [{ "name": "X-From", "value": "cdn" }, { "name": "X-Other", "value": "1" }],
                "customOrigin": {
                    "originProtocolPolicy": "https-only",
                    "httpPort": 8080,
                    "httpsPort": 8443,
                    "originSslProtocols": ["TLSv1.1", "TLSv1.2"],
                    "readTimeoutSeconds": 20,
                    "keepaliveTimeoutSeconds": 15,
                },
                "connectionAttempts": 2,
                "connectionTimeoutSeconds": 5,
            },
        ],
        "originGroups": [
            { "id": "both", "failoverStatusCodes": [500, 502], "originIds": ["bucket", "api"] },
        ],
        "defaultCacheBehavior": {
            "targetOriginId": "bucket",
            "viewerProtocolPolicy": "redirect-to-https",
            "allowedMethods": ["GET", "HEAD", "OPTIONS"],
            "cachedMethods": ["GET", "HEAD"],
            "compress": true,
            "cachePolicyId": "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
            "originRequestPolicyId": "216adef6-5c7f-47e4-b989-5492eafa07d3",
            "responseHeadersPolicyId": "67f7725c-6f97-4210-82d7-5512b31e9d03",
            "functionAssociations": [
                { "eventType": "viewer-request", "functionArn": "arn:aws:cloudfront::123456789012:function/rewrite" },
            ],
            "trustedKeyGroups": ["one-group", "another-group"],
        },
        "orderedCacheBehaviors": [
            {
                "pathPattern": "api/*",
                "targetOriginId": "api",
                "viewerProtocolPolicy": "https-only",
                "allowedMethods": ["GET", "HEAD", "OPTIONS", "PUT", "POST", "PATCH", "DELETE"],
                "forwardedValues": {
                    "queryString": true,
                    "queryStringCacheKeys": ["page", "size"],
                    "headers": ["Accept", "Origin"],
                    "cookies": { "forward": "whitelist", "whitelistedNames": ["session", "lang"] },
                },
                "minTtlSeconds": 0,
                "defaultTtlSeconds": 60,
                "maxTtlSeconds": 3600,
                "lambdaFunctionAssociations": [{
                    "eventType": "origin-request",
                    "lambdaFunctionArn": "arn:aws:lambda:us-east-1:123456789012:function:route:7",
                    "includeBody": true,
                }],
            },
            { "pathPattern": "img/*", "targetOriginId": "bucket", "viewerProtocolPolicy": "allow-all" },
        ],
        "customErrorResponses": [
            { "errorCode": 404, "responseCode": 200, "responsePagePath": "/index.html", "errorCachingMinTtlSeconds": 10 },
            { "errorCode": 503, "errorCachingMinTtlSeconds": 0 },
        ],
        "defaultRootObject": "index.html",
        "priceClass": "PriceClass_100",
        "httpVersion": "http2and3",
        "isIPv6Enabled": true,
        "viewerCertificate": {
            "acmCertificateArn": "arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d",
            "minimumProtocolVersion": "TLSv1.2_2021",
            "sslSupportMethod": "sni-only",
        },
        "restrictions": { "geoRestriction": { "restrictionType": "whitelist", "locations": ["DE", "FR"] } },
        "logging": { "enabled": true, "bucket": "logs.s3.amazonaws.com", "prefix": "cdn/", "includeCookies": false },
        "webACLId": "arn:aws:wafv2:us-east-1:123456789012:global/webacl/shield/0a1b2c3d",
        "tags": { "team": "web" },
    })
}

/// The other way round, as far as it goes.
fn nothing() -> Value {
    json!({
        "comment": "",
        "aliases": [],
        "origins": [{
            "id": "api",
            "domainName": "site.s3.amazonaws.com",
            "originPath": "",
            "customHeaders": [],
            "s3Origin": {},
            "originShield": { "enabled": false },
        }],
        "originGroups": [],
        "defaultCacheBehavior": {
            "targetOriginId": "api",
            "viewerProtocolPolicy": "allow-all",
            "allowedMethods": ["GET", "HEAD"],
            "originRequestPolicyId": "",
            "responseHeadersPolicyId": "",
            "functionAssociations": [],
            "trustedKeyGroups": [],
            "forwardedValues": { "queryString": false, "headers": [], "cookies": { "forward": "none" } },
            "minTtlSeconds": 5,
        },
        "orderedCacheBehaviors": [{
            "pathPattern": "api/*",
            "targetOriginId": "api",
            "viewerProtocolPolicy": "https-only",
            "cachePolicyId": "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
            "lambdaFunctionAssociations": [],
        }],
        "customErrorResponses": [],
        "defaultRootObject": "",
        "viewerCertificate": { "cloudFrontDefaultCertificate": true },
        "restrictions": { "geoRestriction": { "restrictionType": "none" } },
        "logging": { "enabled": false, "bucket": "", "prefix": "" },
        "webACLId": "",
        "tags": {},
    })
}

#[tokio::test]
async fn every_field_is_written_observed_and_removed() {
    let fixture = settled().await;
    let mut site = distribution(&fixture);
    site.desired = everything();
    let created = site.create().await;
    site.external_name.clone_from(&created.external_name);
    completed(&created);
    assert_eq!(site.drift().await, [""; 0]);
    let updates = || fixture.aws.calls(Service::CloudFront, "UpdateDistribution");
    completed(&site.update().await);
    assert_eq!(
        updates(),
        0,
        "lists that AWS client back in another order are no difference"
    );

    site.desired = nothing();
    completed(&site.update().await);
    assert_eq!(site.drift().await, [""; 0]);
    let (config, _) = config_of(&fixture, &site.external_name).await;
    assert_eq!(config.caller_reference, site.token);
    let origin = &config.origins.as_ref().expect("origins").items[0];
    assert!(
        origin.custom_origin_config.is_none() && origin.s3_origin_config.is_some(),
        "of the other sort now"
    );
    assert_eq!(origin.connection_attempts, Some(2), "no other number is desired");
    assert_eq!(updates(), 1);
    completed(&site.update().await);
    assert_eq!(updates(), 1, "nothing is left to do");
    site.desired = everything();
    completed(&site.update().await);
    assert_eq!(site.drift().await, [""; 0]);
}

#[tokio::test]
async fn a_new_distribution_caches_by_default() {
    let fixture = settled().await;
    let site = existing(&fixture).await;
    let now = parameters(&site.observation().await);
    assert_eq!(
        now["defaultCacheBehavior"]["cachePolicyId"],
        "658327ea-f89d-4fab-a63d-7439e55408e1"
    );
    assert_eq!(now["enabled"], true);
}

#[tokio::test]
async fn an_invalid_spec_is_rejected_without_a_request() {
    let fixture = Fixture::new().await;
    let mut site = distribution(&fixture);
    site.desired = json!({
        "aliases": ["a.example.org"],
        "origins": [
            { "id": "one", "domainName": "one.example.org" },
            { "id": "two", "domainName": "two.example.org", "s3Origin": {}, "originShield": { "enabled": true } },
        ],
        "originGroups": [{ "id": "group", "failoverStatusCodes": [500], "originIds": ["one", "three"] }],
        "defaultCacheBehavior": {
            "targetOriginId": "nowhere",
            "viewerProtocolPolicy": "allow-all",
            "allowedMethods": ["GET", "POST"],
            "cachePolicyId": "4135ea2d-6df8-44a3-9df3-4b5a84be39ad",
            "minTtlSeconds": 9,
            "maxTtlSeconds": 3,
        },
        "orderedCacheBehaviors": [
            { "pathPattern": "a", "targetOriginId": "group", "viewerProtocolPolicy": "allow-all" },
            { "pathPattern": "a", "targetOriginId": "one", "viewerProtocolPolicy": "allow-all", "cachedMethods": ["GET"] },
        ],
        "customErrorResponses": [{ "errorCode": 404, "responseCode": 200 }],
        "viewerCertificate": { "cloudFrontDefaultCertificate": true, "minimumProtocolVersion": "TLSv1.2_2021" },
        "restrictions": { "geoRestriction": { "restrictionType": "none", "locations": ["DE"] } },
        "logging": { "enabled": true },
        "tags": { "aws:mine": "no" },
    });
    let outcome = site.create().await;
    let refused = failure(&outcome);
    assert_eq!(
        (refused.code(), refused.effect()),
        (FailureCode::InvalidSpec, Effect::None)
    );
    let paths: Vec<&str> = refused
        .violations
        .iter()
        .map(|violation| violation.path.as_str())
        .collect();
    assert_eq!(
        paths,
        [
            "/tags/aws:mine",
            "/origins/0",
            "/origins/1/originShield/region",
            "/originGroups/0/originIds/1",
            "/defaultCacheBehavior/targetOriginId",
            "/defaultCacheBehavior/allowedMethods",
            "/defaultCacheBehavior/cachePolicyId",
            "/defaultCacheBehavior/minTtlSeconds",
            "/orderedCacheBehaviors/1/cachedMethods",
            "/orderedCacheBehaviors/1/pathPattern",
            "/viewerCertificate/minimumProtocolVersion",
            "/aliases",
            "/restrictions/geoRestriction/locations",
            "/logging/bucket",
            "/customErrorResponses/0/responseCode",
        ]
    );
    site.desired = json!({});
    assert_eq!(failure(&site.create().await).code(), FailureCode::InvalidSpec);
    assert_eq!(fixture.aws.all_calls(), 0);
}

#[tokio::test]
async fn a_rejected_configuration_names_the_field() {
    let fixture = settled().await;
    let site = distribution(&fixture);
    for (status, code, expected, path) in [
        (
            400,
            "InvalidViewerCertificate",
            FailureCode::InvalidSpec,
            "/viewerCertificate",
        ),
        (404, "NoSuchOrigin", FailureCode::InvalidSpec, "/origins"),
        (400, "InvalidArgument", FailureCode::InvalidSpec, ""),
        (
            409,
            "CNAMEAlreadyExists",
            FailureCode::DependencyNotReady,
            "/aliases",
        ),
        (404, "NoSuchCachePolicy", FailureCode::DependencyNotReady, ""),
        (
            400,
            "TrustedKeyGroupDoesNotExist",
            FailureCode::DependencyNotReady,
            "",
        ),
        (400, "TooManyDistributions", FailureCode::QuotaExceeded, ""),
        (400, "Throttling", FailureCode::Throttled, ""),
    ] {
        let harm = Harm::Error {
            status,
            code: code.to_owned(),
            message: "because".to_owned(),
        };
        fixture
            .aws
            .inject(Fault::new(harm).on(Service::CloudFront, CREATE));
        let outcome = site.create().await;
        let refused = failure(&outcome);
        assert_eq!(
            (refused.code(), refused.effect()),
            (expected, Effect::None),
            "{refused:?}"
        );
        assert_eq!(refused.upstream_code, code);
        assert_eq!(
            refused
                .violations
                .first()
                .map_or("", |violation| violation.path.as_str()),
            path,
            "{code}"
        );
    }
    fixture
        .aws
        .inject(Fault::new(Harm::ServerError).on(Service::CloudFront, CREATE));
    let outcome = site.create().await;
    assert_eq!(
        (failure(&outcome).code(), failure(&outcome).effect()),
        (FailureCode::Unavailable, Effect::Unknown)
    );
}
