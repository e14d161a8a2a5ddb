use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bridge_core::crd::{note_plugin, note_versions};
use http::{Response, StatusCode};
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::json;
use tracing::{
    Event, Level, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};

use super::*;
use crate::{client::DEADLINE, metrics::Metrics};

/// Writes that reached the API server: method, path and body.
type Writes = Vec<(Method, String, Value)>;

/// An API server with this definition, or none. It answers writes so, or with what was written, and established.
fn api_server(
    live: Option<Value>,
    refusal: Option<(StatusCode, &'static str)>,
) -> (ApiClient, Arc<Mutex<Writes>>) {
    let writes = Arc::new(Mutex::new(Writes::new()));
    let noted = Arc::clone(&writes);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (noted, live) = (Arc::clone(&noted), live.clone());
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let failure = |reason: &str| json!({"kind": "Status", "reason": reason, "details": {"name": "notes", "kind": "customresourcedefinitions"}});
            let (status, answer) = if head.method == Method::GET {
                match live {
                    Some(live) => (StatusCode::OK, live),
                    None => (StatusCode::NOT_FOUND, failure("NotFound")),
                }
            } else {
                let body: Value = serde_json::from_slice(&body).unwrap();
                let mut stored = body.clone();
                stored["metadata"]["resourceVersion"] = json!("8");
                stored["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
                noted
                    .lock()
                    .unwrap()
                    .push((head.method, head.uri.path().to_owned(), body));
                match refusal {
                    Some((status, reason)) => (status, failure(reason)),
                    None => (StatusCode::OK, stored),
                }
            };
            let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
            *response.status_mut() = status;
            Ok::<_, Infallible>(response)
        }
    });
    let kube = kube::Client::new(service, "default");
    (ApiClient::new(kube, Arc::new(Metrics::new()), DEADLINE), writes)
}

/// Brings a definition where the API server has this one; what came of it, and what was written.
async fn brought(wanted: &Value, live: Option<Value>, may_write: MayWrite) -> (Bringing, Writes) {
    let (client, writes) = api_server(live, None);
    let brought = bring(&client, wanted, &|| may_write).await;
    let writes = std::mem::take(&mut *writes.lock().unwrap());
    assert_eq!(brought.written, !writes.is_empty());
    (brought, writes)
}

fn definition(scope: &str, plugin: &str) -> Value {
    let mut definition = json!({
        "metadata": {"name": "notes", "uid": "u", "resourceVersion": "7", "labels": {MANAGED_BY_LABEL: MANAGED_BY}},
        "spec": {"scope": scope, "versions": [{"name": "v1", "served": true}]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    note_versions(&mut definition, plugin, "0.1.0");
    definition
}

#[tokio::test]
async fn an_older_bridge_leaves_what_a_newer_one_wrote() {
    let (wanted, newer) = (definition("Namespaced", "1.1.0"), definition("Cluster", "1.2.0"));
    let (brought_by, writes) = brought(&wanted, Some(newer), MayWrite::Yes).await;
    assert_eq!(brought_by.found.unwrap().newer.as_deref(), Some("plugin 1.2.0"));
    assert_eq!(writes, []);
    let same = definition("Cluster", "1.1.0");
    let (brought_by, writes) = brought(&wanted, Some(same), MayWrite::Yes).await;
    assert_eq!((brought_by.found.unwrap().newer, writes.len()), (None, 1));
}

#[tokio::test]
async fn a_newer_definition_must_still_serve_our_version() {
    let wanted = definition("Namespaced", "1.1.0");
    let mut newer = definition("Namespaced", "1.2.0");
    newer["spec"]["versions"] = json!([{"name": "v1", "served": false}, {"name": "v2", "served": true}]);
    let (brought, writes) = brought(&wanted, Some(newer), MayWrite::Yes).await;
    assert!(
        matches!(&brought.found, Err(CrdError::VersionNotServed { newer, .. }) if newer == "plugin 1.2.0"),
        "{brought:?}"
    );
    assert_eq!(writes, []);
}

#[tokio::test]
async fn a_definition_that_was_deleted_a_moment_ago_is_not_created() {
    let (brought, writes) = brought(&definition("Namespaced", "1.0.0"), None, MayWrite::Update).await;
    let name = "notes".to_owned();
    assert_eq!(
        (brought.found, writes),
        (Err(CrdError::Deleted { name }), Vec::new())
    );
}

#[tokio::test]
async fn a_definition_is_written_by_the_leader_alone() {
    let (wanted, older) = (definition("Namespaced", "1.1.0"), definition("Cluster", "1.0.0"));
    let name = "notes".to_owned();
    let refusals = [
        (MayWrite::NotLeader, CrdError::NotLeader { name: name.clone() }),
        (MayWrite::Later, CrdError::Paused { name: name.clone() }),
        (
            MayWrite::Never,
            CrdError::Different {
                name,
                at: vec!["/spec/scope".to_owned()],
            },
        ),
    ];
    for (may_write, error) in refusals {
        let (brought, writes) = brought(&wanted, Some(older.clone()), may_write).await;
        assert_eq!((brought.found, writes), (Err(error), Vec::new()));
    }
    for may_write in [MayWrite::Yes, MayWrite::Update] {
        assert_eq!(brought(&wanted, Some(older.clone()), may_write).await.1.len(), 1);
    }
    // The same but for who wrote it: noted by the leader, good for all.
    let same = definition("Namespaced", "1.0.0");
    for (may_write, count) in [
        (MayWrite::Yes, 1),
        (MayWrite::Update, 1),
        (MayWrite::Later, 0),
        (MayWrite::NotLeader, 0),
        (MayWrite::Never, 0),
    ] {
        let (brought, writes) = brought(&wanted, Some(same.clone()), may_write).await;
        assert!(brought.found.is_ok());
        assert_eq!(writes.len(), count, "{may_write:?}");
    }
    assert_eq!(brought(&wanted, Some(wanted.clone()), MayWrite::Yes).await.1, []);
}

/// Counts what is logged as a warning or worse.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl Subscriber for Warnings {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() <= Level::WARN {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn notes_that_cannot_be_written_keep_no_kind_waiting() {
    let (wanted, older) = (
        definition("Namespaced", "1.1.0"),
        definition("Namespaced", "1.0.0"),
    );
    // The API server itself writes to a CRD that is new: that is no reason to warn anybody.
    for (status, reason, warned) in [
        (StatusCode::FORBIDDEN, "Forbidden", 1),
        (StatusCode::CONFLICT, "Conflict", 0),
    ] {
        let warnings = Warnings::default();
        let _logged = tracing::subscriber::set_default(warnings.clone());
        let (client, writes) = api_server(Some(older.clone()), Some((status, reason)));
        let bringing = bring(&client, &wanted, &|| MayWrite::Yes).await;
        assert_eq!(writes.lock().unwrap().len(), 1);
        let found = bringing.found.unwrap();
        assert_eq!(
            (found.version, found.lacks_notes, bringing.written),
            (7, true, false),
            "{reason}"
        );
        assert_eq!(warnings.0.load(Ordering::Relaxed), warned, "{reason}");
    }
}

#[tokio::test]
async fn no_note_is_lowered() {
    let mut wanted = definition("Namespaced", "1.0.0");
    note_versions(&mut wanted, "1.0.0", "0.3.0");
    let mut live = definition("Namespaced", "1.1.0");
    note_versions(&mut live, "1.1.0", "0.2.0");
    let (brought, writes) = brought(&wanted, Some(live), MayWrite::Yes).await;
    assert!(brought.found.is_ok());
    assert_eq!(writes, []);
}

#[tokio::test]
async fn a_check_leaves_what_is_newer_whoever_made_it() {
    let (wanted, mut newer) = (definition("Namespaced", "1.1.0"), definition("Cluster", "1.2.0"));
    for _ in 0..2 {
        let (brought, _) = brought(&wanted, Some(newer.clone()), MayWrite::Never).await;
        assert_eq!(brought.found.unwrap().newer.as_deref(), Some("plugin 1.2.0"));
        newer["metadata"]["labels"][MANAGED_BY_LABEL] = json!("Helm");
    }
    let (brought, _) = brought(&wanted, None, MayWrite::Never).await;
    assert!(
        matches!(brought.found, Err(CrdError::Missing { .. })),
        "{brought:?}"
    );
}

#[tokio::test]
async fn the_crd_of_another_plugin_is_neither_served_nor_written() {
    let of = |scope: &str, plugin: &str| {
        let mut definition = definition(scope, "1.1.0");
        note_plugin(&mut definition, plugin);
        definition
    };
    let wanted = of("Namespaced", "evil.example.org");
    for scope in ["Cluster", "Namespaced"] {
        for may_write in [MayWrite::Yes, MayWrite::Never] {
            let theirs = of(scope, "example.org");
            let (brought, writes) = brought(&wanted, Some(theirs), may_write).await;
            let error = CrdError::OtherPlugin {
                name: "notes".to_owned(),
                owner: "example.org".to_owned(),
            };
            assert_eq!((brought.found, writes), (Err(error), Vec::new()));
        }
    }
    let nobodys = definition("Cluster", "1.0.0");
    let (_, writes) = brought(&wanted, Some(nobodys), MayWrite::Yes).await;
    assert_eq!(writes.len(), 1, "one of an older bridge, which noted no plugin");
}

#[tokio::test]
async fn what_is_not_established_is_not_waited_for() {
    let wanted = definition("Namespaced", "1.1.0");
    let mut live = wanted.clone();
    live["status"] = json!({});
    let (brought, writes) = brought(&wanted, Some(live), MayWrite::Yes).await;
    assert!(
        matches!(brought.found, Err(CrdError::NotEstablished { .. })),
        "{brought:?}"
    );
    assert_eq!(writes, []);
}

#[tokio::test]
async fn a_definition_is_written_over_nothing_but_what_was_read() {
    let wanted = definition("Namespaced", "1.1.0");
    let (_, writes) = brought(&wanted, None, MayWrite::Yes).await;
    let (method, path, body) = &writes[0];
    assert_eq!(*method, Method::POST);
    assert!(path.ends_with("/customresourcedefinitions"), "{path}");
    assert_eq!(body.get("status"), None, "it is the API server's");

    let mut live = definition("Cluster", "1.0.0");
    live["metadata"]["annotations"]["theirs"] = json!("kept");
    live["spec"]["conversion"] = json!({"strategy": "None"});
    let (brought, writes) = brought(&wanted, Some(live), MayWrite::Yes).await;
    assert_eq!(brought.found.unwrap().version, 8);
    let (method, path, body) = &writes[0];
    assert_eq!(*method, Method::PUT);
    assert!(path.ends_with("/notes"), "{path}");
    let metadata = &body["metadata"];
    assert_eq!(
        (&metadata["uid"], &metadata["resourceVersion"]),
        (&json!("u"), &json!("7"))
    );
    assert_eq!(metadata["annotations"]["theirs"], "kept");
    assert_eq!(metadata["annotations"]["crossbridge.dev/plugin-version"], "1.1.0");
    assert_eq!(body["spec"]["scope"], "Namespaced");
    assert_eq!(body["spec"]["conversion"], json!({"strategy": "None"}));
}

#[tokio::test]
async fn what_a_webhook_made_of_a_write_is_not_found_good() {
    let wanted = definition("Namespaced", "1.1.0");
    let other = definition("Cluster", "1.0.0");
    // Whatever is written, it is answered as somebody else wants it.
    let service = tower::service_fn(move |_: Request<Body>| {
        let answer = Response::new(Body::from(other.to_string().into_bytes()));
        async move { Ok::<_, Infallible>(answer) }
    });
    let kube = kube::Client::new(service, "default");
    let client = ApiClient::new(kube, Arc::new(Metrics::new()), DEADLINE);
    let brought = bring(&client, &wanted, &|| MayWrite::Yes).await;
    assert_eq!((brought.written, brought.found.unwrap().version), (true, 0));
}
