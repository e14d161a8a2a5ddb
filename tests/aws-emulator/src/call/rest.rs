use http::{Method, Uri};

/// Subresources of a bucket, and how the action calls them.
const BUCKET_SUBRESOURCES: &[(&str, &str)] = &[
    ("accelerate", "BucketAccelerateConfiguration"),
    ("acl", "BucketAcl"),
    ("cors", "BucketCors"),
    ("encryption", "BucketEncryption"),
    ("lifecycle", "BucketLifecycleConfiguration"),
    ("location", "BucketLocation"),
    ("logging", "BucketLogging"),
    ("notification", "BucketNotificationConfiguration"),
    ("object-lock", "ObjectLockConfiguration"),
    ("ownershipControls", "BucketOwnershipControls"),
    ("policy", "BucketPolicy"),
    ("policyStatus", "BucketPolicyStatus"),
    ("publicAccessBlock", "PublicAccessBlock"),
    ("replication", "BucketReplication"),
    ("requestPayment", "BucketRequestPayment"),
    ("tagging", "BucketTagging"),
    ("versioning", "BucketVersioning"),
    ("website", "BucketWebsite"),
];

/// Action and distribution id.
pub(super) fn cloudfront(method: &Method, uri: &Uri) -> (String, Option<String>) {
    let path: Vec<&str> = uri.path().trim_matches('/').split('/').skip(1).collect();
    let action = match (method.as_str(), path.as_slice()) {
        ("POST", ["distribution"]) if has_query(uri, "WithTags") => "CreateDistributionWithTags",
        ("POST", ["distribution"]) => "CreateDistribution",
        ("GET", ["distribution"]) => "ListDistributions",
        ("GET", ["distribution", _]) => "GetDistribution",
        ("GET", ["distribution", _, "config"]) => "GetDistributionConfig",
        ("PUT", ["distribution", _, "config"]) => "UpdateDistribution",
        ("DELETE", ["distribution", _]) => "DeleteDistribution",
        ("GET", ["tagging"]) => "ListTagsForResource",
        ("POST", ["tagging"]) if query_value(uri, "Operation") == Some("Untag") => "UntagResource",
        ("POST", ["tagging"]) => "TagResource",
        _ => return (format!("{method} {}", uri.path()), None),
    };
    let id = match path.as_slice() {
        ["distribution", id, ..] => Some((*id).to_owned()),
        _ => None,
    };
    (action.to_owned(), id)
}

/// Action and bucket, where the bucket is the first part of the path (path style).
pub(super) fn s3(method: &Method, uri: &Uri) -> (String, Option<String>) {
    let path = uri.path().trim_start_matches('/');
    let (bucket, key) = path.split_once('/').unwrap_or((path, ""));
    if bucket.is_empty() {
        return ("ListBuckets".to_owned(), None);
    }
    let verb = match method.as_str() {
        "GET" => "Get",
        "PUT" => "Put",
        "DELETE" => "Delete",
        "HEAD" => "Head",
        _ => "Post",
    };
    let action = if !key.is_empty() {
        format!("{verb}Object")
    } else if let Some((_, name)) = BUCKET_SUBRESOURCES.iter().find(|(sub, _)| has_query(uri, sub)) {
        format!("{verb}{name}")
    } else {
        match verb {
            "Get" if query_value(uri, "list-type") == Some("2") => "ListObjectsV2",
            "Get" => "ListObjects",
            "Put" => "CreateBucket",
            "Delete" => "DeleteBucket",
            "Head" => "HeadBucket",
            _ => "DeleteObjects",
        }
        .to_owned()
    };
    (action, Some(bucket.to_owned()))
}

fn pairs(uri: &Uri) -> impl Iterator<Item = (&str, Option<&str>)> {
    uri.query()
        .unwrap_or_default()
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (pair, None),
        })
}

fn has_query(uri: &Uri, name: &str) -> bool {
    pairs(uri).any(|(found, _)| found == name)
}

fn query_value<'a>(uri: &'a Uri, name: &str) -> Option<&'a str> {
    pairs(uri)
        .find(|(found, _)| *found == name)
        .and_then(|(_, value)| value)
}
