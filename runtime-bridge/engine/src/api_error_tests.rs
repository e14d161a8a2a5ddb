use expect_test::{Expect, expect};
use serde_json::json;

use super::*;

fn status(reason: &str, message: &str) -> serde_json::Value {
    json!({"kind": "Status", "status": "Failure", "reason": reason, "message": message})
}

const BUCKET: &str = "/apis/s3.example/v1/namespaces/ns/buckets/a";

#[track_caller]
fn check(code: u16, body: &serde_json::Value, expected: &Expect) {
    let text = body.as_str().map_or_else(|| body.to_string(), ToOwned::to_owned);
    let error = ApiError::from_answer(BUCKET, StatusCode::from_u16(code).unwrap(), None, text.as_bytes());
    let nobody_knows = matches!(error, ApiError::Timeout(_) | ApiError::Interrupted(_));
    let unknown = if nobody_knows { " (unknown)" } else { "" };
    expected.assert_eq(&format!("{}{unknown}: {error}", error.reason()));
}

#[test]
fn api_errors_are_classified_by_code_reason_and_text() {
    let mut there = status("NotFound", r#"buckets "a" not found"#);
    there["details"] = json!({"name": "a", "kind": "buckets"});
    check(
        404,
        &there,
        &expect![[r#"NotFound: not found: buckets "a" not found"#]],
    );
    check(
        404,
        &json!("404 page not found\n"),
        &expect!["NotServed: the API server does not serve this kind (now): 404 page not found"],
    );
    let unserved = status("NotFound", "the server could not find the requested resource");
    check(
        404,
        &unserved,
        &expect![
            "NotServed: the API server does not serve this kind (now): the server could not find the requested resource"
        ],
    );
    check(
        409,
        &status("AlreadyExists", "there"),
        &expect!["AlreadyExists: it exists already: there"],
    );
    check(
        409,
        &status("Conflict", "stale"),
        &expect!["Conflict: the object was changed meanwhile: stale"],
    );
    check(
        410,
        &status("Expired", "too old"),
        &expect!["Expired: the requested version is too old: too old"],
    );
    check(
        401,
        &status("Unauthorized", "who"),
        &expect!["Forbidden: not permitted, check the RBAC rules of the bridge's service account: who"],
    );
    check(
        422,
        &status("Invalid", "size"),
        &expect!["Invalid: the API server does not accept the object: size"],
    );
    check(
        400,
        &status("BadRequest", "odd"),
        &expect!["Invalid: the API server does not accept the object: odd"],
    );
    // A policy is an object as well: that it is not accepted is no refusal by it.
    let of_a_policy = r#"ValidatingAdmissionPolicy.admissionregistration.k8s.io "" is invalid: sendInitialEvents: Forbidden"#;
    check(
        422,
        &status("Invalid", of_a_policy),
        &expect![[
            r#"Invalid: the API server does not accept the object: ValidatingAdmissionPolicy.admissionregistration.k8s.io "" is invalid: sendInitialEvents: Forbidden"#
        ]],
    );
    let policy = "ValidatingAdmissionPolicy 'in-use' with binding 'in-use' denied request: it is in use";
    check(
        422,
        &status("Invalid", policy),
        &expect![
            "Denied: refused by an admission webhook or policy: ValidatingAdmissionPolicy 'in-use' with binding 'in-use' denied request: it is in use"
        ],
    );
    let webhook = r#"admission webhook "x.example" denied the request: no"#;
    for code in [400, 403, 422, 500] {
        check(
            code,
            &status("Forbidden", webhook),
            &expect![[
                r#"Denied: refused by an admission webhook or policy: admission webhook "x.example" denied the request: no"#
            ]],
        );
    }
    check(
        500,
        &status("InternalError", "etcdserver: request timed out"),
        &expect![
            "Interrupted (unknown): the request was interrupted, the outcome is unknown: etcdserver: request timed out"
        ],
    );
    check(
        504,
        &status("Timeout", "slow"),
        &expect!["Interrupted (unknown): the request was interrupted, the outcome is unknown: slow"],
    );
    check(
        503,
        &json!(""),
        &expect!["Unavailable: the API server cannot be reached: 503 Service Unavailable"],
    );
}

#[test]
fn retry_after_is_honored() {
    let retry_after = |header: Option<u64>, hint: u32| {
        let mut body = status("TooManyRequests", "slow down");
        body["details"] = json!({"retryAfterSeconds": hint});
        let header = header.map(Duration::from_secs);
        let body = body.to_string();
        match ApiError::from_answer(BUCKET, StatusCode::TOO_MANY_REQUESTS, header, body.as_bytes()) {
            ApiError::Throttled { retry_after, .. } => retry_after.as_secs(),
            error => panic!("{error}"),
        }
    };
    assert_eq!(retry_after(Some(7), 3), 7);
    assert_eq!(retry_after(None, 3), 3);
    assert_eq!(retry_after(None, 0), 1);
}

#[test]
fn only_a_404_that_names_the_object_speaks_of_it() {
    let reason = |path: &str, kind: &str, name: &str| {
        let mut body = status("NotFound", "not found");
        body["details"] = json!({"kind": kind, "name": name});
        ApiError::from_answer(path, StatusCode::NOT_FOUND, None, body.to_string().as_bytes()).reason()
    };
    let cases = [
        (BUCKET, "buckets", "a", "NotFound"),
        (
            "/apis/s3.example/v1/namespaces/ns/buckets/a/status",
            "buckets",
            "a",
            "NotFound",
        ),
        ("/apis/s3.example/v1/buckets/a", "buckets", "a", "NotFound"),
        ("/api/v1/namespaces/ns/secrets/a", "secrets", "a", "NotFound"),
        ("/api/v1/namespaces/ns", "namespaces", "ns", "NotFound"),
        ("/api/v1/namespaces/ns/finalize", "namespaces", "ns", "NotFound"),
        // Its namespace is gone, by force; it is not.
        (BUCKET, "namespaces", "ns", "DependencyNotFound"),
        (BUCKET, "namespaces", "a", "DependencyNotFound"),
        (BUCKET, "buckets", "b", "DependencyNotFound"),
        (BUCKET, "", "a", "DependencyNotFound"),
        (
            "/apis/s3.example/v1/namespaces/ns/buckets",
            "namespaces",
            "ns",
            "DependencyNotFound",
        ),
        (
            "/apis/s3.example/v1/buckets",
            "buckets",
            "a",
            "DependencyNotFound",
        ),
        (BUCKET, "buckets", "", "NotServed"),
        ("/", "buckets", "a", "DependencyNotFound"),
    ];
    for (path, kind, name, expected) in cases {
        assert_eq!(reason(path, kind, name), expected, "{path}: {kind} {name:?}");
    }
}
