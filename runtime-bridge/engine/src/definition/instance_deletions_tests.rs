use std::convert::Infallible;

use http::{Request, Response};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::{
    client::{ApiClient, DEADLINE},
    metrics::Metrics,
    object::Key,
    protection::{usage_edges, usage_kinds},
};

const OBJECTS: usize = DELETIONS + 1;

fn apps() -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: bridge_core::watch_plan::GroupKind::new("example.org", "App"),
        version: "v1".to_owned(),
        plural: "apps".to_owned(),
        namespaced: true,
    })
}

fn name(number: usize) -> String {
    format!("app-{number:02}")
}

fn put(store: &Store, api: &Arc<ApiType>, object: &Value) -> Arc<Object> {
    let object = Arc::new(Object::decode(api, &object.to_string()).unwrap());
    store.observe_read(Arc::clone(&object));
    object
}

fn usage_of(app: &str) -> Value {
    json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage",
        "metadata": {"name": "keep", "namespace": "team", "uid": "usage", "resourceVersion": "100"},
        "spec": {
            "of": {"apiVersion": "example.org/v1", "kind": "App", "resourceRef": {"name": app}},
            "reason": "it holds data",
        },
    })
}

/// A usage is seen while the first deletions are under way: the object is kept, and looked at again.
#[tokio::test]
async fn what_comes_into_use_while_others_are_deleted_is_kept() {
    let store = Arc::new(Store::default());
    let (api, [usages, ..]) = (apps(), usage_kinds());
    store.open(&api.kind);
    store.open(&usages.kind);
    let _edges = store.register_edges(&usages.kind, usage_edges());
    let app = |number: usize| {
        json!({"apiVersion": "example.org/v1", "kind": "App", "metadata": {
            "name": name(number), "namespace": "team", "uid": format!("uid-{number}"), "resourceVersion": "1",
        }})
    };
    let objects: Vec<_> = (0..OBJECTS)
        .map(|number| put(&store, &api, &app(number)))
        .collect();
    let deleted: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, known) = (Arc::clone(&deleted), Arc::clone(&store));
    let server = tower::service_fn(move |request: Request<Body>| {
        let name = request
            .uri()
            .path()
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        seen.lock().push(name);
        put(&known, &usages, &usage_of(&self::name(OBJECTS - 1)));
        let answer = json!({"kind": "Status", "apiVersion": "v1", "status": "Success"}).to_string();
        async move { Ok::<_, Infallible>(Response::new(Body::from(answer.into_bytes()))) }
    });
    let client = ApiClient::new(
        kube::Client::new(server, "default"),
        Arc::new(Metrics::new()),
        DEADLINE,
    );
    let writer = Writer::new(client, Arc::clone(&store), "test");
    let deletions = InstanceDeletions {
        api: &api,
        writer: &writer,
        store: &store,
        may_act: &|| true,
    };
    let outcome = deletions.run(&objects).await.unwrap();
    assert!(outcome.is_stale && outcome.rejected.is_none());
    let mut deleted = deleted.lock().clone();
    deleted.sort();
    assert_eq!(deleted, (0..DELETIONS).map(name).collect::<Vec<_>>());
    let left = Key::new(api.kind.clone(), Some("team"), &name(OBJECTS - 1));
    assert!(store.get(&left).is_some());
}
