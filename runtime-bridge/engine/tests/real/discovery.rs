//! What the cluster serves, told without asking it.

use std::{collections::BTreeSet, sync::Arc};

use bridge_control_plane::{ControlPlane, Options};
use bridge_engine::{
    crd,
    engine::Engine,
    store::{Change, Listener},
    watch::{ResolvedKind, Unresolved, WatchState},
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::{
    admin::{Admin, TestKind, plane},
    harness::{LIMIT, RealHarness, engine, until, within},
};

async fn resolved(engine: &Engine, api_version: &str, kind: &str) -> ResolvedKind {
    until("it is resolved", || {
        engine.watches.resolve(api_version, kind).is_ok()
    })
    .await;
    engine.watches.resolve(api_version, kind).unwrap()
}

fn shape(kind: &ResolvedKind) -> (&str, bool, bool, bool) {
    let ResolvedKind { api, watchable, .. } = kind;
    (
        api.plural.as_str(),
        api.namespaced,
        kind.definition.is_some(),
        *watchable,
    )
}

#[tokio::test]
async fn kinds_are_resolved_as_the_api_server_serves_them() {
    let (admin, kind) = (Admin::new().await, TestKind::new());
    let (engine, _gate) = engine(plane().await.kubeconfig()).await;
    crd::install(&engine.clients.write, &[kind.definition()], LIMIT)
        .await
        .unwrap();
    let version = kind.api.api_version();
    let bucket = resolved(&engine, &version, "Bucket").await;
    assert_eq!(
        (shape(&bucket), &bucket.api),
        (("buckets", true, true, true), &kind.api)
    );
    assert_eq!(
        engine.watches.discovery_state(),
        None,
        "no definition is asked for elsewhere"
    );

    for (api_version, name, expected) in [
        ("v1", "ConfigMap", ("configmaps", true, false, true)),
        ("v1", "Namespace", ("namespaces", false, false, true)),
        ("apps/v1", "Deployment", ("deployments", true, false, true)),
        (
            "rbac.authorization.k8s.io/v1",
            "ClusterRole",
            ("clusterroles", false, false, true),
        ),
        (
            "authorization.k8s.io/v1",
            "SubjectAccessReview",
            ("subjectaccessreviews", false, false, false),
        ),
    ] {
        let found = resolved(&engine, api_version, name).await;
        assert_eq!(shape(&found), expected, "{api_version} {name}");
        assert!(!found.terminating);
    }
    let deployments = resolved(&engine, "apps/v1", "Deployment").await;
    assert_eq!(deployments.served, BTreeSet::from(["v1".to_owned()]));
    for (api_version, name) in [
        ("apps/v7", "Deployment"),
        ("apps/v1", "Nothing"),
        (version.as_str(), "Cup"),
    ] {
        let unserved = engine.watches.resolve(api_version, name);
        let is_unserved = matches!(
            unserved,
            Err(Unresolved::NotServed(_) | Unresolved::OtherVersion(_))
        );
        assert!(is_unserved, "{unserved:?}");
    }

    // Its definition is held by what is left of it.
    let namespace = admin.namespace(&kind.api.kind.group().replace('.', "-")).await;
    let mut held = kind.bucket("held");
    held["metadata"]["finalizers"] = json!(["example.org/held"]);
    within(async {
        while let Err(error) = admin.create(&kind.collection(&namespace), &held).await {
            assert!(error.is_transient(), "{error}");
        }
    })
    .await;
    admin.delete(&kind.path()).await.unwrap();
    until("it is terminating", || {
        engine
            .watches
            .resolve(&version, "Bucket")
            .is_ok_and(|bucket| bucket.terminating)
    })
    .await;
    let path = format!("{}/held", kind.collection(&namespace));
    let free = json!([{"op": "remove", "path": "/metadata/finalizers"}]);
    admin.json_patch(path, free).await;
    until("it is not served", || {
        matches!(
            engine.watches.resolve(&version, "Bucket"),
            Err(Unresolved::NotServed(_) | Unresolved::OtherVersion(_))
        )
    })
    .await;
}

fn heard(names: mpsc::UnboundedSender<String>) -> Arc<Listener> {
    Arc::new(move |change: &Change| {
        // The test may have seen enough.
        let _ = names.send(change.key.name().to_owned());
    })
}

#[tokio::test]
async fn a_built_in_kind_of_any_group_is_watched() {
    let admin = Admin::new().await;
    let (engine, _gate) = engine(plane().await.kubeconfig()).await;
    let namespace = admin.namespace("built-in-kinds").await;
    let (send, mut names) = mpsc::unbounded_channel();
    let api = resolved(&engine, "coordination.k8s.io/v1", "Lease").await.api;
    let _watched = engine.subscribe(&api, "the test", &heard(send));
    until("it is watched", || {
        engine.watches.state(&api.kind) == WatchState::Live
    })
    .await;
    let lease = json!({"metadata": {"name": "a-lease-of-the-test"}, "spec": {}});
    admin
        .create(&api.collection_path(Some(&namespace)), &lease)
        .await
        .unwrap();
    within(async { while names.recv().await.unwrap() != "a-lease-of-the-test" {} }).await;
}

#[tokio::test]
async fn a_kind_that_cannot_be_watched_delays_no_other() {
    let admin = Admin::new().await;
    let (engine, _gate) = engine(plane().await.kubeconfig()).await;
    let kind = TestKind::new();
    crd::install(&engine.clients.write, &[kind.definition()], LIMIT)
        .await
        .unwrap();
    let nobody: Arc<Listener> = Arc::new(|_| {});
    let reviews = resolved(&engine, "authorization.k8s.io/v1", "SubjectAccessReview")
        .await
        .api;
    let _reviews = engine.subscribe(&reviews, "the test", &nobody);
    let (send, mut names) = mpsc::unbounded_channel();
    let _buckets = engine.subscribe(&kind.api, "the test", &heard(send));
    let namespace = admin.namespace(&kind.api.kind.group().replace('.', "-")).await;
    until("it is watched", || {
        engine.watches.state(&kind.api.kind) == WatchState::Live
    })
    .await;
    admin
        .create(&kind.collection(&namespace), &kind.bucket("a"))
        .await
        .unwrap();
    assert_eq!(within(names.recv()).await.as_deref(), Some("a"));
    let shown = engine.state();
    let shown = shown
        .kinds
        .iter()
        .find(|shown| shown.watch.kind == reviews.kind)
        .unwrap();
    let why = WatchState::Gone("its API cannot be watched".to_owned());
    assert_eq!((&shown.watch.state, shown.served), (&why, false));
}

#[tokio::test]
async fn who_may_not_watch_api_services_knows_definitions_all_the_same() {
    let admin = Admin::new().await;
    let kubeconfig = plane().await.user_kubeconfig("undiscovering", None).unwrap();
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrole";
    let definitions =
        json!({"apiGroups": ["apiextensions.k8s.io"], "resources": ["*"], "verbs": ["get", "list", "watch"]});
    let role = json!({"metadata": {"name": "undiscovering"}, "rules": [definitions]});
    let binding = json!({
        "metadata": {"name": "undiscovering"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "undiscovering"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "undiscovering"}],
    });
    admin.create(&format!("{path}s"), &role).await.unwrap();
    admin.create(&format!("{path}bindings"), &binding).await.unwrap();
    let installer = RealHarness::live().await;
    let (engine, _gate) = engine(kubeconfig).await;
    resolved(&engine, &installer.kind.api.api_version(), "Bucket").await;
    let unknown = |why: &str| matches!(engine.watches.resolve("apps/v1", "Deployment"), Err(Unresolved::Unknown(said)) if said.contains(why));
    until("it says what is forbidden", || {
        unknown("apiservices.apiregistration.k8s.io is forbidden")
    })
    .await;
    assert!(matches!(
        engine.watches.discovery_state(),
        Some(WatchState::Forbidden(_))
    ));
    resolved(&engine, &installer.kind.api.api_version(), "Bucket").await;
}

/// Another API server, whose kind is the first one's by an `APIService`.
async fn aggregated(kind: &TestKind) -> (ControlPlane, Value) {
    let behind = ControlPlane::start(Options::default()).await.unwrap();
    let owner = Admin::of(&behind).await;
    owner
        .create(crate::admin::DEFINITIONS, &kind.definition())
        .await
        .unwrap();
    // The first one comes without credentials.
    let all = json!([
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]);
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrole";
    let role = json!({"metadata": {"name": "anybody"}, "rules": all});
    let binding = json!({
        "metadata": {"name": "anybody"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "anybody"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:unauthenticated"}],
    });
    owner.create(&format!("{path}s"), &role).await.unwrap();
    owner.create(&format!("{path}bindings"), &binding).await.unwrap();
    let port: u16 = behind.url().rsplit(':').next().unwrap().parse().unwrap();
    let group = kind.api.kind.group();
    let service = json!({
        "metadata": {"name": format!("v1.{group}")},
        "spec": {
            "group": group, "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 10,
            "insecureSkipTLSVerify": true,
            "service": {"namespace": "default", "name": "behind", "port": port},
        },
    });
    (behind, service)
}

#[tokio::test]
async fn kinds_of_an_api_server_behind_are_resolved_and_watched() {
    let services = "/apis/apiregistration.k8s.io/v1/apiservices";
    let (admin, kind) = (Admin::new().await, TestKind::new());
    let (engine, _gate) = engine(plane().await.kubeconfig()).await;
    // What it knows is not what comes.
    resolved(&engine, "apps/v1", "Deployment").await;
    let (mut behind, service) = aggregated(&kind).await;
    let name = json!({"metadata": {"name": "behind"}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
    admin
        .create("/api/v1/namespaces/default/services", &name)
        .await
        .unwrap();
    admin.create(services, &service).await.unwrap();
    let version = kind.api.api_version();
    let found = resolved(&engine, &version, "Bucket").await;
    assert_eq!(
        (shape(&found), &found.api),
        (("buckets", true, false, true), &kind.api)
    );

    let (send, mut names) = mpsc::unbounded_channel();
    let _watched = engine.subscribe(&found.api, "the test", &heard(send));
    until("it is watched", || {
        engine.watches.state(&kind.api.kind) == WatchState::Live
    })
    .await;
    let namespace = kind.api.kind.group().replace('.', "-");
    Admin::of(&behind).await.namespace(&namespace).await;
    within(async {
        while let Err(error) = admin
            .create(&kind.collection(&namespace), &kind.bucket("a"))
            .await
        {
            assert!(error.is_transient(), "{error}");
        }
    })
    .await;
    assert_eq!(within(names.recv()).await.as_deref(), Some("a"));

    // While it does not answer, nothing is known to have gone.
    behind.stop_api_server();
    until("its watch is interrupted", || {
        matches!(engine.watches.state(&kind.api.kind), WatchState::Syncing(_))
    })
    .await;
    assert_eq!(engine.store.count(&kind.api.kind), 1);
    assert!(engine.watches.resolve(&version, "Bucket").is_ok());

    let path = format!("{services}/v1.{}", kind.api.kind.group());
    admin.delete(&path).await.unwrap();
    until("it is not served", || {
        matches!(
            engine.watches.resolve(&version, "Bucket"),
            Err(Unresolved::NotServed(_) | Unresolved::OtherVersion(_))
        )
    })
    .await;
    until("it is not watched", || {
        matches!(engine.watches.state(&kind.api.kind), WatchState::Gone(why) if why.contains("no such kind"))
    })
    .await;
    // The group may be a definition's again.
    crd::install(&engine.clients.write, &[kind.definition()], LIMIT)
        .await
        .unwrap();
    until("it is watched again", || {
        engine.watches.state(&kind.api.kind) == WatchState::Live
    })
    .await;
    assert!(resolved(&engine, &version, "Bucket").await.definition.is_some());
}
