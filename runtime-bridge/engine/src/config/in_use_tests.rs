use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use bridge_core::{kind::ResourceType, watch_plan::GroupKind};
use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use http_body_util::StreamBody;
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::{
    client::{ApiClient, DEADLINE},
    clock::SystemClock,
    metrics::Metrics,
};

fn config(held: bool, deleting: bool) -> Object {
    let json = json!({"metadata": {
        "name": "default", "uid": "u", "resourceVersion": "1",
        "finalizers": if held { vec![FINALIZER] } else { vec![] },
        "deletionTimestamp": deleting.then_some("2026-01-01T00:00:00Z"),
    }});
    Object::decode(&Arc::new(cluster_config_api("example.org")), &json.to_string()).unwrap()
}

#[test]
fn a_config_keeps_its_finalizer_while_used() {
    // Used, sure, held, deleting.
    let cases = [
        ([false, true, false, false], InUseStep::Nothing),
        ([true, true, false, false], InUseStep::AddFinalizer),
        ([true, false, false, false], InUseStep::AddFinalizer),
        ([true, true, true, false], InUseStep::Nothing),
        ([true, true, true, true], InUseStep::Report),
        ([true, true, false, true], InUseStep::Nothing),
        ([false, true, true, false], InUseStep::RemoveFinalizer),
        ([false, true, true, true], InUseStep::RemoveFinalizer),
        ([false, false, true, true], InUseStep::Ask),
        ([false, false, false, true], InUseStep::Nothing),
    ];
    for ([used, sure, held, deleting], expected) in cases {
        let config = config(held, deleting);
        assert_eq!(
            decide(&config, used, sure),
            expected,
            "{used} {sure} {held} {deleting}"
        );
    }
    assert!(held(&config(false, false)).has_finalizer(FINALIZER));
}

#[test]
fn a_few_of_its_users_are_named() {
    let key = |name| Key::new(GroupKind::new("example.org", "Bucket"), Some("ns"), name);
    assert_eq!(
        blocked(&[key("a")], 1),
        "Blocking deletion while usages still exist: Bucket.example.org ns/a"
    );
    assert_eq!(
        blocked(&[key("a"), key("b")], 7),
        "Blocking deletion while usages still exist: Bucket.example.org ns/a, Bucket.example.org ns/b and 5 more"
    );
}

fn thing() -> Arc<ApiType> {
    let resource_type = ResourceType {
        group: "things.example.org".to_owned(),
        version: "v1".to_owned(),
        kind: "Thing".to_owned(),
    };
    Arc::new(ApiType::new(&resource_type, "things", true))
}

/// A pass over a config which nothing that was watched refers to, though the API server has these things; how often
/// its finalizer was taken off.
async fn released(things: Value, deleting: bool) -> usize {
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let service = tower::service_fn(move |request: Request<Body>| {
        let mut last = json!({"resourceVersion": "1"});
        last["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        let path = request.uri().path();
        let (answer, goes_on) = if request.method() == Method::PATCH {
            count.fetch_add(1, Ordering::SeqCst);
            let mut config = json!({"metadata": {"name": "default", "uid": "u", "resourceVersion": "2"}});
            config["metadata"]["deletionTimestamp"] = json!(deleting.then_some("2026-01-01T00:00:00Z"));
            (config, false)
        } else if path.ends_with("/customresourcedefinitions") {
            (json!({"type": "BOOKMARK", "object": {"metadata": last}}), true)
        } else if path.ends_with("/things") {
            (json!({"metadata": {}, "items": things}), false)
        } else {
            (Value::Null, true)
        };
        let frame = http_body::Frame::data(format!("{answer}\n").into());
        let answer = stream::once(async { Ok::<_, Infallible>(frame) });
        let body = if goes_on {
            StreamBody::new(answer.chain(stream::pending()).boxed())
        } else {
            StreamBody::new(answer.boxed())
        };
        async move { Ok::<_, Infallible>(Response::new(body)) }
    });
    let metrics = Arc::new(Metrics::new());
    let kube = kube::Client::new(service, "default");
    let client = ApiClient::new(kube, Arc::clone(&metrics), DEADLINE);
    let (store, clock): (Arc<Store>, Arc<dyn Clock>) = (Arc::default(), Arc::new(SystemClock));
    let watches = Watches::start(
        client.clone(),
        Arc::clone(&store),
        Arc::clone(&clock),
        Arc::clone(&metrics),
    );
    let config = Arc::new(config(true, deleting));
    store.open(config.key().kind());
    store.observe_read(Arc::clone(&config));
    let users = [User {
        api: thing(),
        edges: Arc::new([Edge::references(Arc::new(|thing| {
            reference::config_of("example.org", thing).into_iter().collect()
        }))]),
    }];
    let in_use = InUse {
        users: users.into(),
        watches: Arc::new(watches),
        writer: Writer::new(client.clone(), Arc::clone(&store), "test"),
        events: EventRecorder::start(client, Arc::clone(&clock), metrics, "test"),
        store,
        clock,
    };
    while in_use.watches.is_defined(&thing().kind).is_none() {
        tokio::task::yield_now().await;
    }
    let pass = ReconcileRequest {
        priority: Priority::UserChange,
        started: Timestamp::UNIX_EPOCH,
        deadline: Timestamp::MAX,
        consecutive_failures: 0,
    };
    in_use.reconcile(&config.key(), pass).await;
    written.load(Ordering::SeqCst)
}

#[tokio::test]
async fn a_config_is_let_go_only_when_the_api_server_knows_no_user() {
    let thing = |config: &str| {
        json!({
            "metadata": {"name": "a", "namespace": "ns", "uid": "a", "resourceVersion": "1"},
            "spec": {"providerConfigRef": {"kind": "ClusterProviderConfig", "name": config}},
        })
    };
    for deleting in [false, true] {
        assert_eq!(released(json!([]), deleting).await, 1);
        assert_eq!(released(json!([thing("another")]), deleting).await, 1);
        // The watch has not brought it yet.
        let things = json!([thing("another"), thing("default")]);
        assert_eq!(released(things, deleting).await, 0, "{deleting}");
    }
}
