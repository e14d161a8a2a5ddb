use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bridge_core::crd::note_versions;
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

/// Brings a definition where the API server has this one; what came of it, and how often it was applied.
async fn brought(wanted: &Value, live: Value, leads: bool) -> (Result<Brought, &'static str>, usize) {
    let applied = Arc::new(Mutex::new(0));
    let count = Arc::clone(&applied);
    let service = tower::service_fn(move |request: Request<Body>| {
        *count.lock().unwrap() += usize::from(request.method() == Method::PATCH);
        let answer = Response::new(Body::from(live.to_string().into_bytes()));
        async move { Ok::<_, Infallible>(answer) }
    });
    let kube = kube::Client::new(service, "default");
    let client = ApiClient::new(kube, Arc::new(Metrics::new()), DEADLINE);
    let brought = bring(&client, wanted, &|| leads, Duration::from_secs(1)).await;
    let brought = brought.map_err(|error| match error {
        CrdError::NotLeader { .. } => "not the leader",
        _ => "something else",
    });
    let applied = *applied.lock().unwrap();
    (brought, applied)
}

fn definition(scope: &str, plugin: &str) -> Value {
    let mut definition = json!({
        "metadata": {"name": "notes", "resourceVersion": "7", "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "spec": {"scope": scope},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    note_versions(&mut definition, plugin, "0.1.0");
    definition
}

#[tokio::test]
async fn an_older_bridge_leaves_what_a_newer_one_wrote() {
    let (wanted, newer) = (definition("Namespaced", "1.1.0"), definition("Cluster", "1.2.0"));
    let (found, applied) = brought(&wanted, newer, true).await;
    let found = found.unwrap();
    assert_eq!(
        (found.newer.as_deref(), found.written),
        (Some("plugin 1.2.0"), false)
    );
    assert_eq!(applied, 0);
    let (found, applied) = brought(&wanted, definition("Cluster", "1.1.0"), true).await;
    assert_eq!((found.unwrap().newer, applied), (None, 1), "of the same version");
}

#[tokio::test]
async fn only_the_leader_writes_definitions() {
    let (wanted, older) = (definition("Namespaced", "1.1.0"), definition("Cluster", "1.0.0"));
    assert_eq!(
        brought(&wanted, older.clone(), false).await,
        (Err("not the leader"), 0)
    );
    assert!(matches!(brought(&wanted, older, true).await, (Ok(_), 1)));
    // The same but for who wrote it: noted by the leader, good for all.
    let same = definition("Namespaced", "1.0.0");
    assert!(matches!(brought(&wanted, same.clone(), false).await, (Ok(_), 0)));
    assert!(matches!(brought(&wanted, same, true).await, (Ok(_), 1)));
    assert!(matches!(brought(&wanted, wanted.clone(), true).await, (Ok(_), 0)));
}

#[tokio::test]
async fn what_was_changed_right_after_a_write_is_not_found_good() {
    let wanted = definition("Namespaced", "1.1.0");
    // Whatever is applied, it is always read as somebody else wants it.
    let other = definition("Cluster", "1.0.0");
    let (found, applied) = brought(&wanted, other, true).await;
    assert_eq!((found.unwrap().version, applied), (0, 1));
    let (found, _) = brought(&wanted, wanted.clone(), true).await;
    assert_eq!(found.unwrap().version, 7);
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
