//! What is sent arrives, and what is answered comes out.

use std::sync::Arc;

use bridge_core::function::{
    DesiredState, FunctionFailure, Functions, HiddenMap, Observed, Readiness, Resource, RunRequest,
    SecretData,
};
use fake_function::{Version, evaluate};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::host::{Host, client, run};

fn secret(name: &str) -> SecretData {
    SecretData([(name.to_owned(), b"\x00hunter2\xff".to_vec())].into())
}

/// A request with something in each field.
fn request() -> RunRequest {
    let object = |value: Value| Resource {
        connection_details: secret("password"),
        ..Resource::of(value)
    };
    let observed = Observed {
        composite: object(
            json!({"kind": "XNote", "spec": {"size": 9_007_199_254_740_991_i64, "ratio": 0.25, "none": null}}),
        ),
        resources: [(
            "database".to_owned(),
            object(json!({"status": {"phase": "Available"}})),
        )]
        .into(),
    };
    let desired = DesiredState {
        composite: Some(Resource::of(json!({"status": {"before": true}}))),
        resources: [(
            "earlier".to_owned(),
            Resource {
                ready: Readiness::NotReady,
                ..Resource::of(json!({"kind": "ConfigMap"}))
            },
        )]
        .into(),
    };
    let Value::Object(context) = json!({"apiextensions.crossplane.io/environment": {"a": [1, "b"]}}) else {
        unreachable!()
    };
    let required = |found| [("some".to_owned(), found), ("none".to_owned(), vec![])].into();
    RunRequest {
        observed: Arc::new(observed),
        desired,
        input: Some(json!({
            "apiVersion": "fake-function.crossbridge.dev/v1",
            "kind": "Program",
            "ttlSeconds": 90,
            "status": {"size": 3},
            "resources": {
                "map": {
                    "object": {"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}},
                    "ready": {"equals": {"of": "database", "path": "/status/phase", "value": "Available"}}
                },
                "later": {"object": {"kind": "ConfigMap"}, "when": {"exists": "map"}}
            }
        })),
        context: Some(HiddenMap(context)),
        credentials: [("aws".to_owned(), secret("key"))].into(),
        extra_resources: required(vec![Resource::of(json!({"kind": "Extra"}))]),
        required_resources: required(vec![Resource::of(json!({"kind": "Required"}))]),
        required_schemas: [
            ("known".to_owned(), Some(json!({"type": "object"}))),
            ("unknown".to_owned(), None),
        ]
        .into(),
    }
}

#[tokio::test]
async fn a_request_arrives_whole_and_its_response_comes_out() {
    for host in [Host::unix(Version::V1), Host::http().await] {
        let sent = request();
        let response = host.run(&sent).await.unwrap();
        let received = host.function.received();
        assert_eq!(received.len(), 1);
        assert_eq!(received[0].request, sent);
        assert_eq!(response, evaluate(&sent));
        let names: Vec<&String> = response.desired.resources.keys().collect();
        assert_eq!(names, ["earlier", "map"]);
        assert_eq!(response.desired.resources["map"].ready, Readiness::Ready);
    }
}

#[tokio::test]
async fn every_request_lists_all_capabilities() {
    let host = Host::unix(Version::V1);
    host.run(&request()).await.unwrap();
    assert_eq!(host.function.received()[0].meta.capabilities, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn equal_requests_have_equal_tags_and_others_another() {
    let host = Host::unix(Version::V1);
    let other = RunRequest {
        input: Some(json!({"ttlSeconds": 91})),
        ..request()
    };
    for sent in [request(), request(), other] {
        host.run(&sent).await.unwrap();
    }
    let received = host.function.received();
    let tags: Vec<&String> = received.iter().map(|received| &received.meta.tag).collect();
    assert_eq!(tags[0], tags[1]);
    assert_ne!(tags[0], tags[2]);
    assert!(
        tags[0].len() == 64 && tags[0].bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{tags:?}"
    );
}

#[tokio::test]
async fn a_function_of_the_former_version_is_called_by_it() {
    let host = Host::unix(Version::V1beta1);
    for calls in 1..=2 {
        assert_eq!(host.run(&request()).await.unwrap(), evaluate(&request()));
        assert_eq!(host.function.received().len(), calls);
    }
}

#[tokio::test]
async fn a_function_that_nobody_serves_is_unreachable() {
    let folder = tempfile::tempdir().unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let free = listener.local_addr().unwrap();
    drop(listener);
    for endpoint in [
        format!("unix://{}/none.sock", folder.path().display()),
        format!("http://{free}"),
    ] {
        let error = run(&client(&endpoint), &request()).await.unwrap_err();
        let FunctionFailure::Unreachable(why) = &error else {
            panic!("{endpoint}: {error:?}");
        };
        assert!(
            !why.contains(&free.port().to_string()),
            "a condition holds it: {why}"
        );
    }
}

#[tokio::test]
async fn a_function_without_a_usable_endpoint_says_why() {
    let error = run(&client("f.sock"), &request()).await.unwrap_err();
    assert!(error.to_string().contains("write unix:///path"), "{error}");
    let host = Host::unix(Version::V1);
    let unknown = host
        .client
        .run("g", &request(), Timestamp::MAX)
        .await
        .unwrap_err();
    assert!(matches!(unknown, FunctionFailure::NoEndpoint(_)), "{unknown:?}");
}

#[tokio::test]
async fn nothing_is_sent_after_the_deadline() {
    let host = Host::unix(Version::V1);
    let error = host
        .client
        .run("f", &request(), Timestamp::now())
        .await
        .unwrap_err();
    assert_eq!(error, FunctionFailure::OutOfTime);
    assert_eq!(host.function.received(), []);
}

#[tokio::test]
async fn what_has_no_encoding_is_named_by_its_place() {
    let host = Host::unix(Version::V1);
    let sent = RunRequest {
        input: Some(json!([])),
        ..request()
    };
    let error = host.run(&sent).await.unwrap_err();
    assert_eq!(
        error,
        FunctionFailure::InvalidRequest("input: is not an object".into())
    );
    assert_eq!(host.function.received(), []);
}
