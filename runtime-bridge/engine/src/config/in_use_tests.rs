use std::{
    convert::Infallible,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bridge_core::{kind::ResourceType, watch_plan::GroupKind};
use futures::{StreamExt, stream};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, StreamBody};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::*;
use crate::{
    client::{ApiClient, Clients, DEADLINE},
    clock::SystemClock,
    engine::EngineOptions,
    metrics::Metrics,
};

/// The check is tested with the resolver. It notes what is to be forgotten.
#[derive(Default)]
struct NoCheck {
    forgotten: Mutex<Vec<Key>>,
    swept: AtomicUsize,
}

#[async_trait]
impl ConfigCheck for NoCheck {
    async fn check(&self, _: &Arc<Object>) -> Option<Timestamp> {
        None
    }

    fn forget(&self, config: &Key) {
        self.forgotten.lock().unwrap().push(config.clone());
    }

    fn forget_unused(&self) {
        self.swept.fetch_add(1, Ordering::SeqCst);
    }
}

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
    let config = Key::new(GroupKind::new("example.org", "ProviderConfig"), Some("ns"), "a");
    assert_eq!(
        blocked(&config, &[key("a")], 1),
        "Blocking deletion while usages still exist: Bucket.example.org ns/a"
    );
    assert_eq!(
        blocked(&config, &[key("a"), key("b")], 7),
        "Blocking deletion while usages still exist: Bucket.example.org ns/a, Bucket.example.org ns/b and 5 more"
    );
}

#[test]
fn objects_that_use_a_config_of_the_cluster_are_counted_and_not_named() {
    let key = |kind, namespace| {
        Key::new(
            GroupKind::new("example.org", kind),
            Some(namespace),
            "secret-plan",
        )
    };
    let config = Key::new(GroupKind::new("example.org", "ClusterProviderConfig"), None, "a");
    let users = [key("Bucket", "one"), key("Queue", "one"), key("Bucket", "two")];
    assert_eq!(
        blocked(&config, &users, 3),
        "Blocking deletion while usages still exist: 2 of Bucket.example.org, 1 of Queue.example.org"
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

fn things(count: usize) -> impl Iterator<Item = Arc<ApiType>> {
    (0..count).map(|nth| {
        let mut api = (*thing()).clone();
        api.kind = GroupKind::new("things.example.org", &format!("Thing{nth}"));
        Arc::new(api)
    })
}

/// An engine whose API server lists these things of each kind, after a while, and the replacements that reach it.
fn engine(things_found: Value, after: Duration) -> (Engine, Arc<Mutex<Vec<Value>>>) {
    let written = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&written);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (noted, things) = (Arc::clone(&noted), things_found.clone());
        async move {
            let mut last = json!({"resourceVersion": "1"});
            last["annotations"] = json!({"k8s.io/initial-events-end": "true"});
            let (head, body) = request.into_parts();
            let path = head.uri.path();
            let (answer, goes_on) = if head.method == Method::PUT {
                let body = body.collect().await.unwrap().to_bytes();
                noted.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
                let mut config = json!({"metadata": {"name": "default", "uid": "u", "resourceVersion": "2"}});
                config["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
                (config, false)
            } else if path.ends_with("/customresourcedefinitions") {
                (json!({"type": "BOOKMARK", "object": {"metadata": last}}), true)
            } else if path.ends_with("/things") {
                tokio::time::sleep(after).await;
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
            Ok::<_, Infallible>(Response::new(body))
        }
    });
    let metrics = Arc::new(Metrics::new());
    let kube = kube::Client::new(service, "default");
    let client = ApiClient::new(kube, Arc::clone(&metrics), DEADLINE);
    let clients = Clients {
        watch: client.clone(),
        write: client,
        server: "http://kube".to_owned(),
        version: "v1.36.0".to_owned(),
    };
    let (_, gate) = watch::channel(false);
    let clock = Arc::new(SystemClock);
    let engine = Engine::start(clients, metrics, clock, &EngineOptions::default(), gate);
    (engine, written)
}

fn in_use(engine: &Engine, users: Arc<ConfigUsers>, check: Arc<NoCheck>) -> InUse {
    InUse {
        users,
        checks: Arc::new(RwLock::new(check)),
        store: Arc::clone(&engine.store),
        writer: engine.writer.clone(),
        events: Arc::clone(&engine.events),
        clock: Arc::clone(&engine.clock),
    }
}

fn pass() -> ReconcileRequest {
    ReconcileRequest {
        priority: Priority::UserChange,
        started: Timestamp::UNIX_EPOCH,
        deadline: Timestamp::MAX,
        consecutive_failures: 0,
    }
}

/// A reconcile of a config with its finalizer, which nothing that was watched refers to; the replacements of the config, and how long it took.
async fn replacements(
    kinds: usize,
    things_found: Value,
    deleting: bool,
    after: Duration,
) -> (Vec<Value>, Duration) {
    let (engine, written) = engine(things_found, after);
    let config = Arc::new(config(true, deleting));
    engine.store.open(config.key().kind());
    engine.store.observe_read(Arc::clone(&config));
    let users = Arc::new(ConfigUsers::new(&engine, "example.org"));
    users.publish(things(kinds));
    let in_use = in_use(&engine, users, Arc::default());
    let mut definitions = engine.watches.served_changes();
    while engine.watches.is_defined(&thing().kind).is_none() {
        definitions.changed().await.unwrap();
    }
    let began = tokio::time::Instant::now();
    let granted = EngineOptions::default()
        .dispatch
        .pass_timeout
        .max(in_use.longest_pass());
    let reconciled = tokio::time::timeout(granted, in_use.reconcile(&config.key(), pass())).await;
    reconciled.unwrap();
    let written = std::mem::take(&mut *written.lock().unwrap());
    (written, began.elapsed())
}

fn using(config: &str) -> Value {
    json!({
        "metadata": {"name": "a", "namespace": "ns", "uid": "a", "resourceVersion": "1"},
        "spec": {"providerConfigRef": {"kind": "ClusterProviderConfig", "name": config}},
    })
}

#[tokio::test]
async fn a_config_is_let_go_only_when_the_api_server_knows_no_user() {
    for deleting in [true, false] {
        let released = async |things| replacements(1, things, deleting, Duration::ZERO).await.0.len();
        assert_eq!(released(json!([])).await, 1);
        assert_eq!(released(json!([using("another")])).await, 1);
        // The watch has not brought it yet.
        assert_eq!(released(json!([using("another"), using("default")])).await, 0);
    }
}

#[tokio::test]
async fn a_config_is_let_go_only_as_it_was_judged() {
    for deleting in [true, false] {
        let (replacements, _) = replacements(1, json!([]), deleting, Duration::ZERO).await;
        let metadata = &replacements[0]["metadata"];
        assert_eq!(
            (&metadata["resourceVersion"], &metadata["uid"]),
            (&json!("1"), &json!("u"))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_config_of_many_kinds_is_let_go_within_one_reconcile() {
    let (replacements, took) = replacements(1000, json!([]), true, Duration::from_millis(200)).await;
    assert_eq!(replacements.len(), 1);
    assert!(took < Duration::from_mins(1), "{took:?}");
}

#[tokio::test]
async fn a_kind_that_is_added_touches_no_other_user() {
    let (engine, _) = engine(json!([]), Duration::ZERO);
    let users = ConfigUsers::new(&engine, "example.org");
    users.publish(things(1));
    let first = users.apis().remove(0);
    users.publish(things(2));
    let both = users.apis();
    assert_eq!(both.len(), 2);
    assert!(Arc::ptr_eq(&first, &both[0]), "it would be subscribed anew");
}

#[tokio::test]
async fn a_config_that_is_deleted_is_forgotten() {
    let (engine, _) = engine(json!([]), Duration::ZERO);
    let users = Arc::new(ConfigUsers::new(&engine, "example.org"));
    let check = Arc::new(NoCheck::default());
    let key = config(false, false).key();
    in_use(&engine, users, Arc::clone(&check))
        .reconcile(&key, pass())
        .await;
    assert_eq!(*check.forgotten.lock().unwrap(), [key]);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_asks_for_is_forgotten_as_time_passes() {
    let (engine, _) = engine(json!([]), Duration::ZERO);
    let check = Arc::new(NoCheck::default());
    let usage = keep_while_used(&engine, "example.org", things(1), Arc::clone(&check) as _);
    tokio::time::sleep(3 * FORGET_EVERY + Duration::from_secs(1)).await;
    assert_eq!(check.swept.load(Ordering::SeqCst), 3);
    drop(usage);
    tokio::time::sleep(2 * FORGET_EVERY).await;
    assert_eq!(check.swept.load(Ordering::SeqCst), 3);
}
