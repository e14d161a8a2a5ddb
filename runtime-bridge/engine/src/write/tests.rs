use std::convert::Infallible;

use bridge_core::watch_plan::GroupKind;
use http::{Response, StatusCode, header};
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::{
    client::{DEADLINE, METADATA_ONLY},
    metrics::Metrics,
};

fn api() -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: GroupKind::new("s3.example", "Bucket"),
        version: "v1".to_owned(),
        plural: "buckets".to_owned(),
        namespaced: true,
    })
}

fn bucket(uid: &str) -> Value {
    json!({"metadata": {"name": "a", "namespace": "ns", "uid": uid, "resourceVersion": "7", "finalizers": ["f"]}})
}

fn not_found(kind: &str, name: &str) -> (StatusCode, Value) {
    let status = json!({"kind": "Status", "reason": "NotFound", "message": "not found",
        "details": {"kind": kind, "name": name}});
    (StatusCode::NOT_FOUND, status)
}

/// Answers each write with one answer and each read with another; the store knows the bucket `a` of uid `1`.
fn writer(write: (StatusCode, Value), read: (StatusCode, Value)) -> (Writer, Arc<Object>) {
    let service = tower::service_fn(move |request: Request<Body>| {
        let is_partial = request
            .headers()
            .get(header::ACCEPT)
            .is_some_and(|accept| accept == METADATA_ONLY);
        let (status, body) = if request.method() == Method::GET {
            let (status, mut body) = read.clone();
            if is_partial && let Some(body) = body.as_object_mut() {
                body.remove("spec");
            }
            (status, body)
        } else {
            write.clone()
        };
        let mut response = Response::new(Body::from(body.to_string().into_bytes()));
        *response.status_mut() = status;
        async move { Ok::<_, Infallible>(response) }
    });
    let kube = kube::Client::new(service, "default");
    let client = ApiClient::new(kube, Arc::new(Metrics::new()), DEADLINE);
    let store = Arc::new(Store::default());
    store.open(&api().kind);
    let known = Arc::new(Object::decode(&api(), &bucket("1").to_string()).unwrap());
    store.observe_read(Arc::clone(&known));
    (Writer::new(client, store, "test"), known)
}

/// What each kind of write makes of these answers: its error, and whether the object now counts as gone.
async fn outcomes(write: (StatusCode, Value), read: (StatusCode, Value)) -> Vec<(&'static str, bool)> {
    let mut outcomes = Vec::new();
    for way in 0..3 {
        let (writer, known) = writer(write.clone(), read.clone());
        let reason = match way {
            0 => writer.put(&known).await.err(),
            1 => writer.put_status(&known).await.err(),
            _ => writer.remove_finalizer(&known, "f").await.err(),
        };
        let reason = reason.map_or("none", |error| error.reason());
        outcomes.push((reason, writer.store.is_tombstoned(known.uid())));
    }
    outcomes
}

#[tokio::test]
async fn an_object_that_still_exists_is_not_taken_for_gone() {
    let exists = || (StatusCode::OK, bucket("1"));
    // The kind has no subresource of that name now; the answer names the object all the same.
    assert_eq!(
        outcomes(not_found("buckets", "a"), exists()).await,
        [("NotServed", false); 3]
    );
    // Its namespace was removed by force.
    assert_eq!(
        outcomes(not_found("namespaces", "ns"), exists()).await,
        [("DependencyNotFound", false); 3]
    );
    // The read that is to decide gets no answer.
    let consecutive_failures = (StatusCode::INTERNAL_SERVER_ERROR, json!({}));
    assert_eq!(
        outcomes(not_found("buckets", "a"), consecutive_failures).await,
        [("NotServed", false); 3]
    );
}

#[tokio::test]
async fn an_object_that_a_read_finds_absent_is_gone_for_good() {
    let gone = [("NotFound", true), ("NotFound", true), ("none", true)];
    let absent = not_found("buckets", "a");
    assert_eq!(outcomes(absent.clone(), absent.clone()).await, gone);
    let another = (StatusCode::OK, bucket("2"));
    assert_eq!(outcomes(absent, another).await, gone);
}

#[tokio::test]
async fn what_has_changed_since_it_was_seen_is_a_conflict() {
    let newer = || {
        let mut newer = bucket("1");
        newer["metadata"]["resourceVersion"] = json!("8");
        newer["spec"] = json!({"size": 1});
        (StatusCode::OK, newer)
    };
    let cases = [
        ((StatusCode::OK, bucket("1")), "none"),
        (newer(), "Conflict"),
        ((StatusCode::OK, bucket("2")), "Conflict"),
        (not_found("buckets", "a"), "Conflict"),
        ((StatusCode::SERVICE_UNAVAILABLE, json!({})), "Unavailable"),
    ];
    for (read, expected) in cases {
        let (writer, known) = writer((StatusCode::OK, Value::Null), read);
        let result = writer.verify_current(&known, || true).await;
        assert_eq!(result.err().map_or("none", |error| error.reason()), expected);
    }
    // Whole, whatever was compared.
    let (writer, known) = writer((StatusCode::OK, Value::Null), newer());
    assert!(writer.verify_current(&known, || true).await.is_err());
    let stored = writer.store.get(&known.key()).unwrap();
    assert_eq!(
        (stored.resource_version(), stored.spec_value()),
        (8, Arc::new(json!({"size": 1})))
    );
}

#[tokio::test]
async fn what_is_compared_is_not_stored() {
    let mut same = bucket("1");
    same["spec"] = json!({"size": 1});
    let (writer, known) = writer((StatusCode::OK, Value::Null), (StatusCode::OK, same));
    assert_eq!(writer.verify_current(&known, || true).await, Ok(()));
    let stored = writer.store.get(&known.key()).unwrap();
    assert!(Arc::ptr_eq(&stored, &known));
}

#[tokio::test]
async fn a_process_that_stops_leading_while_it_reads_does_not_write() {
    let (writer, known) = writer((StatusCode::OK, Value::Null), (StatusCode::OK, bucket("1")));
    let asked = std::cell::Cell::new(0);
    let once = || asked.replace(asked.get() + 1) == 0;
    assert_eq!(writer.verify_current(&known, once).await, Err(ApiError::NotSent));
    assert_eq!(asked.get(), 2);
}
