use super::*;

fn identify(
    method: &Method,
    uri: &str,
    service: &str,
    target: Option<&str>,
    body: &str,
) -> (Service, String, String) {
    let mut headers = HeaderMap::new();
    if !service.is_empty() {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential=AKID/20261121/eu-west-1/{service}/aws4_request, SignedHeaders=host, Signature=00"
        );
        headers.insert(http::header::AUTHORIZATION, authorization.parse().unwrap());
    }
    if let Some(target) = target {
        headers.insert("x-amz-target", target.parse().unwrap());
    }
    let call = Call::identify(method, &uri.parse().unwrap(), &headers, body.as_bytes());
    (call.service, call.action, call.resource.unwrap_or_default())
}

#[test]
fn the_json_protocols_name_their_action_in_a_header() {
    let found = identify(
        &Method::POST,
        "/",
        "dynamodb",
        Some("DynamoDB_20120810.CreateTable"),
        "{}",
    );
    assert_eq!(found, (Service::DynamoDB, "CreateTable".into(), String::new()));
    let found = identify(&Method::POST, "/", "sqs", Some("AmazonSQS.CreateQueue"), "{}");
    assert_eq!(found, (Service::Sqs, "CreateQueue".into(), String::new()));
}

#[test]
fn the_query_protocol_names_its_action_in_the_form() {
    let found = identify(
        &Method::POST,
        "/",
        "sts",
        None,
        "Action=GetCallerIdentity&Version=2011-06-15",
    );
    assert_eq!(found, (Service::Sts, "GetCallerIdentity".into(), String::new()));
}

#[test]
fn cloudfront_is_identified_by_method_and_path() {
    for (method, uri, action, id) in [
        (
            Method::POST,
            "/2020-05-31/distribution?WithTags",
            "CreateDistributionWithTags",
            "",
        ),
        (Method::POST, "/2020-05-31/distribution", "CreateDistribution", ""),
        (
            Method::GET,
            "/2020-05-31/distribution/E1",
            "GetDistribution",
            "E1",
        ),
        (
            Method::PUT,
            "/2020-05-31/distribution/E1/config",
            "UpdateDistribution",
            "E1",
        ),
        (
            Method::DELETE,
            "/2020-05-31/distribution/E1",
            "DeleteDistribution",
            "E1",
        ),
        (
            Method::POST,
            "/2020-05-31/tagging?Operation=Untag&Resource=arn",
            "UntagResource",
            "",
        ),
        (
            Method::GET,
            "/2020-05-31/tagging?Resource=arn",
            "ListTagsForResource",
            "",
        ),
    ] {
        let found = identify(&method, uri, "cloudfront", None, "");
        assert_eq!(found, (Service::CloudFront, action.into(), id.into()), "{uri}");
    }
}

#[test]
fn s3_is_identified_by_method_path_and_subresource() {
    for (method, uri, action, bucket) in [
        (Method::GET, "/", "ListBuckets", ""),
        (Method::PUT, "/b", "CreateBucket", "b"),
        (Method::HEAD, "/b/", "HeadBucket", "b"),
        (Method::DELETE, "/b", "DeleteBucket", "b"),
        (Method::PUT, "/b?tagging", "PutBucketTagging", "b"),
        (Method::GET, "/b?publicAccessBlock", "GetPublicAccessBlock", "b"),
        (Method::GET, "/b?list-type=2", "ListObjectsV2", "b"),
        (Method::PUT, "/b/a/key", "PutObject", "b"),
    ] {
        let found = identify(&method, uri, "s3", None, "");
        assert_eq!(found, (Service::S3, action.into(), bucket.into()), "{uri}");
    }
}

#[test]
fn an_unsigned_request_has_no_service() {
    let found = identify(&Method::GET, "/favicon.ico", "", None, "");
    assert_eq!(found, (Service::Other, "GET /favicon.ico".into(), String::new()));
}
