use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use http::{Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::json;

use super::*;
use crate::{client::DEADLINE, metrics::Metrics};

/// Installs where the API server has this definition, or none; how it is applied: the query, and what of metadata is sent.
async fn applied(live: Option<Value>) -> (String, Value) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&sent);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (noted, live) = (Arc::clone(&noted), live.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let established = json!({"status": {"conditions": [{"type": "Established", "status": "True"}]}});
            let (status, answer) = if head.method == Method::PATCH {
                let body: Value = serde_json::from_slice(&body).unwrap();
                let query = head.uri.query().unwrap_or_default().to_owned();
                noted.lock().unwrap().push((query, body["metadata"].clone()));
                (StatusCode::OK, established)
            } else if !noted.lock().unwrap().is_empty() {
                (StatusCode::OK, established)
            } else if let Some(live) = live {
                (StatusCode::OK, live)
            } else {
                (
                    StatusCode::NOT_FOUND,
                    json!({"kind": "Status", "reason": "NotFound", "details": {"name": "notes", "kind": "customresourcedefinitions"}}),
                )
            };
            let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
            *response.status_mut() = status;
            Ok::<_, Infallible>(response)
        }
    });
    let client = ApiClient::new(
        kube::Client::new(service, "default"),
        Arc::new(Metrics::new()),
        DEADLINE,
    );
    let wanted = json!({"metadata": {"name": "notes"}, "spec": {"scope": "Namespaced"}});
    install(&client, &[wanted], Duration::from_secs(1)).await.unwrap();
    let mut sent = sent.lock().unwrap();
    assert_eq!(sent.len(), 1);
    sent.remove(0)
}

#[tokio::test]
async fn nothing_is_applied_over_what_was_not_read() {
    let (query, metadata) = applied(None).await;
    assert!(query.ends_with("&force=false"), "{query}");
    assert_eq!(metadata, json!({"name": "notes"}));

    let live = json!({
        "metadata": {"uid": "u", "resourceVersion": "7", "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "spec": {"scope": "Cluster"},
    });
    let (query, metadata) = applied(Some(live)).await;
    assert!(query.ends_with("&force=true"), "{query}");
    assert_eq!(
        metadata,
        json!({"name": "notes", "uid": "u", "resourceVersion": "7"})
    );
}
