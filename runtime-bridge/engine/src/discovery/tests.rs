use std::time::Duration;
use std::{
    collections::VecDeque,
    convert::Infallible,
    future::ready,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::StreamBody;
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::{
    client::DEADLINE,
    clock::Clock,
    metrics::Metrics,
    watch::{ResolvedKind, Unresolved, WatchState, Watches},
};

struct Standing;

impl Clock for Standing {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }
}

fn service(name: &str, made_by: Option<&str>, available: bool) -> Value {
    let (version, group) = name.split_once('.').unwrap();
    let labels: BTreeMap<&str, &str> = made_by
        .map(|by| ("kube-aggregator.kubernetes.io/automanaged", by))
        .into_iter()
        .collect();
    let status = if available { "True" } else { "False" };
    json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": labels},
        "spec": {"group": group, "version": version},
        "status": {"conditions": [{"type": "Available", "status": status}]},
    })
}

fn crd() -> Value {
    json!({
        "metadata": {"name": "things.example.org", "uid": "crd", "resourceVersion": "1", "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "group": "example.org", "scope": "Cluster", "names": {"kind": "Thing", "plural": "things"},
            "versions": [{"name": "v1", "served": true}, {"name": "v2", "served": true}, {"name": "v0", "served": false}],
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    })
}

/// One that the API server has not established yet.
fn young() -> Value {
    let mut young = crd();
    young["metadata"] = json!({"name": "youngs.example.org", "uid": "young", "resourceVersion": "2"});
    young["spec"]["names"] = json!({"kind": "Young", "plural": "youngs"});
    young["status"] = json!({});
    young
}

fn resource(plural: &str, kind: &str, scope: &str, verbs: &[&str]) -> Value {
    json!({"resource": plural, "responseKind": {"kind": kind}, "scope": scope, "verbs": verbs})
}

fn group(name: &str, version: &str, freshness: &str, resources: &[Value]) -> Value {
    json!({"metadata": {"name": name}, "versions": [{"version": version, "freshness": freshness, "resources": resources}]})
}

const ALL: [&str; 3] = ["get", "list", "watch"];

/// What `/apis` answers, with metrics as they are given.
fn groups(metrics: Option<(&str, &[Value])>) -> Value {
    let mut items = vec![
        group(
            "apps",
            "v1",
            "Current",
            &[resource("deployments", "Deployment", "Namespaced", &ALL)],
        ),
        // Stale: its definition is gone.
        group(
            "example.org",
            "v1",
            "Current",
            &[resource("widgets", "Widget", "Namespaced", &ALL)],
        ),
    ];
    items.extend(
        metrics.map(|(freshness, resources)| group("metrics.k8s.io", "v1beta1", freshness, resources)),
    );
    json!({"kind": "APIGroupDiscoveryList", "items": items})
}

fn core() -> Value {
    let mut without_verbs = resource("reviews", "Review", "Namespaced", &[]);
    without_verbs["verbs"] = Value::Null;
    let resources = [
        resource("configmaps", "ConfigMap", "Namespaced", &ALL),
        resource("bindings", "Binding", "Namespaced", &["create"]),
        without_verbs,
    ];
    let version = json!({"version": "v1", "freshness": "Current", "resources": resources});
    json!({"kind": "APIGroupDiscoveryList", "items": [{"versions": [version]}]})
}

/// A streamed list of what is watched there.
fn lines_of(path: &str, has_metrics: bool) -> String {
    let watched = match path.rsplit('/').next() {
        Some("customresourcedefinitions") => vec![crd(), young()],
        Some("apiservices") => vec![
            service("v1.", Some("onstart"), true),
            service("v1.apps", Some("onstart"), true),
            service("v1.example.org", Some("true"), true),
            service("v1beta1.metrics.k8s.io", None, has_metrics),
        ],
        _ => Vec::new(),
    };
    let end = json!({"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}});
    let added = watched
        .into_iter()
        .map(|object| json!({"type": "ADDED", "object": object}));
    let lines = added.chain([json!({"type": "BOOKMARK", "object": {"metadata": end}})]);
    lines.map(|line| format!("{line}\n")).collect()
}

/// Watches of an API server that answers `/apis` so, the last answer again and again; how often it was asked.
fn cluster(documents: impl Into<VecDeque<Value>>) -> (Watches, Arc<AtomicUsize>) {
    cluster_with(documents, true)
}

/// Likewise; the service behind metrics is available or not.
fn cluster_with(documents: impl Into<VecDeque<Value>>, has_metrics: bool) -> (Watches, Arc<AtomicUsize>) {
    let documents = Arc::new(Mutex::new(documents.into()));
    let reads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reads);
    let answers = tower::service_fn(move |request: Request<Body>| {
        let (text, goes_on) = match request.uri().path() {
            "/api" => (core().to_string(), false),
            "/apis" => {
                counted.fetch_add(1, Ordering::SeqCst);
                let mut documents = documents.lock();
                let next = match documents.len() {
                    1 => documents[0].clone(),
                    _ => documents.pop_front().unwrap(),
                };
                (next.to_string(), false)
            }
            path => (lines_of(path, has_metrics), true),
        };
        let frame = Ok::<_, Infallible>(http_body::Frame::data(text.into()));
        let rest = if goes_on {
            stream::pending().left_stream()
        } else {
            stream::empty().right_stream()
        };
        let body = StreamBody::new(stream::iter([frame]).chain(rest));
        ready(Ok::<_, Infallible>(Response::new(body)))
    });
    let metrics = Arc::new(Metrics::new());
    let kube = kube::Client::new(answers, "default");
    let client = ApiClient::new(kube, Arc::clone(&metrics), DEADLINE);
    (
        Watches::start(client, Arc::default(), Arc::new(Standing), metrics),
        reads,
    )
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn found(watches: &Watches, api_version: &str, kind: &str) -> (String, bool, Vec<String>, bool) {
    let ResolvedKind {
        api,
        served,
        watchable,
        ..
    } = watches.resolve(api_version, kind).unwrap();
    (
        api.plural.clone(),
        api.namespaced,
        served.into_iter().collect(),
        watchable,
    )
}

fn one(
    plural: &str,
    namespaced: bool,
    served: &[&str],
    watchable: bool,
) -> (String, bool, Vec<String>, bool) {
    let served = served.iter().map(ToString::to_string).collect();
    (plural.to_owned(), namespaced, served, watchable)
}

#[tokio::test(start_paused = true)]
async fn definitions_are_resolved_without_discovery() {
    let (watches, reads) = cluster([groups(None)]);
    let early = watches.resolve("example.org/v1", "Thing").unwrap_err();
    assert!(matches!(early, Unresolved::Unknown(_)), "{early}");
    seconds(1).await;
    let thing = watches.resolve("example.org/v1", "Thing").unwrap();
    assert!(thing.terminating);
    assert_eq!(thing.definition.as_deref(), Some("crd"));
    assert_eq!(
        found(&watches, "example.org/v2", "Thing"),
        one("things", false, &["v1", "v2"], true)
    );
    let why = Unresolved::OtherVersion("its definition does not serve v0, only v1, v2".to_owned());
    assert_eq!(watches.resolve("example.org/v0", "Thing"), Err(why));
    let why = Unresolved::Unknown("its definition is not established".to_owned());
    assert_eq!(watches.resolve("example.org/v1", "Young"), Err(why));
    seconds(1).await;
    assert_eq!(
        (watches.discovery_state(), reads.load(Ordering::SeqCst)),
        (None, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn kinds_without_a_definition_are_resolved_by_discovery() {
    let (watches, _) = cluster([groups(Some(("Current", &[])))]);
    seconds(1).await;
    let early = watches.resolve("v1", "ConfigMap").unwrap_err();
    assert!(matches!(early, Unresolved::Unknown(_)), "{early}");
    seconds(1).await;
    assert_eq!(watches.discovery_state(), Some(WatchState::Live));
    assert_eq!(
        found(&watches, "v1", "ConfigMap"),
        one("configmaps", true, &["v1"], true)
    );
    assert_eq!(
        found(&watches, "v1", "Binding"),
        one("bindings", true, &["v1"], false)
    );
    assert_eq!(
        found(&watches, "apps/v1", "Deployment"),
        one("deployments", true, &["v1"], true)
    );
    let why = "the cluster does not serve Deployment.apps in v2, only in v1";
    let unserved = |why: &str| Err(Unresolved::NotServed(why.to_owned()));
    let other_version = Err(Unresolved::OtherVersion(why.to_owned()));
    assert_eq!(watches.resolve("apps/v2", "Deployment"), other_version);
    assert_eq!(
        watches.resolve("apps/v1", "Nothing"),
        unserved("the cluster serves no kind Nothing.apps")
    );
    // Discovery is behind the watch of definitions.
    let widget = watches.resolve("example.org/v1", "Widget");
    assert_eq!(widget, unserved("the cluster serves no kind Widget.example.org"));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_behind_is_asked_for_until_it_answers() {
    let pods = [resource("pods", "PodMetrics", "Namespaced", &["get", "list"])];
    let documents = [
        groups(None),
        groups(Some(("Stale", &[]))),
        groups(Some(("Current", &pods))),
    ];
    let (watches, reads) = cluster(documents);
    let resolve = || watches.resolve("metrics.k8s.io/v1beta1", "PodMetrics");
    let mut silent = 0;
    while resolve().is_err() {
        let why = resolve().unwrap_err();
        assert!(matches!(why, Unresolved::Unknown(_)), "{why}");
        silent += usize::from(
            why.to_string()
                .contains("metrics.k8s.io/v1beta1 has not answered"),
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(silent > 0);
    assert_eq!(
        found(&watches, "metrics.k8s.io/v1beta1", "PodMetrics"),
        one("pods", true, &["v1beta1"], false)
    );
    let asked = reads.load(Ordering::SeqCst);
    seconds(80).await;
    assert_eq!(reads.load(Ordering::SeqCst), asked, "nothing changed since");
}

/// What it serves exists all the same: taken for a kind that is not served, its objects would be let go.
#[tokio::test(start_paused = true)]
async fn a_kind_of_a_service_that_is_down_is_not_known() {
    for document in [groups(None), groups(Some(("Stale", &[])))] {
        let (watches, reads) = cluster_with([document], false);
        let resolve = || watches.resolve("metrics.k8s.io/v1beta1", "PodMetrics");
        seconds(1).await;
        resolve().unwrap_err();
        seconds(1).await;
        let why = "the API server behind metrics.k8s.io/v1beta1 is not available";
        assert_eq!(resolve(), Err(Unresolved::Unknown(why.to_owned())));
        let asked = reads.load(Ordering::SeqCst);
        seconds(80).await;
        assert_eq!(
            reads.load(Ordering::SeqCst),
            asked,
            "it is read when that changes"
        );
    }
}

#[test]
fn what_does_not_answer_yet_holds_what_it_held() {
    let read = |metrics| Document::read(&[groups(metrics)]).unwrap();
    let pods = [resource("pods", "PodMetrics", "Namespaced", &["get", "list"])];
    let former = || read(Some(("Current", &pods)));
    let held = read(Some(("Stale", &[]))).completed(Some(former()));
    assert_eq!(
        held.resources("metrics.k8s.io", "v1beta1"),
        former().resources("metrics.k8s.io", "v1beta1")
    );
    assert!(!held.is_current("metrics.k8s.io", "v1beta1"));
    let removed = read(None).completed(Some(former()));
    assert_eq!(removed.resources("metrics.k8s.io", "v1beta1"), []);
    let emptied = read(Some(("Current", &[]))).completed(Some(former()));
    assert_eq!(emptied.resources("metrics.k8s.io", "v1beta1"), []);
    assert!(Document::read(&[json!({"kind": "APIGroupList"})]).is_err());
}
