//! What the bridge may not create.

use std::{path::PathBuf, time::Duration};

use bridge_core::composite::Settings;
use serde_json::{Value, json};

use super::stage::{Bridge, Stage, order, orders};
use crate::harness::within;

const USER: &str = "bridge";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/// All that compositions need, of their own API these resources, and these verbs on `ConfigMap`s.
fn role(own: &[&str], on_maps: &[&str]) -> Value {
    let all = ["*"];
    let groups = [
        "apiextensions.k8s.io",
        "protection.crossplane.io",
        "shop.example.org",
        "apiregistration.k8s.io",
        "events.k8s.io",
    ];
    json!({"metadata": {"name": USER}, "rules": [
        {"apiGroups": groups, "resources": all, "verbs": all},
        {"apiGroups": ["apiextensions.crossplane.io"], "resources": own, "verbs": all},
        {"apiGroups": [""], "resources": ["events", "secrets", "serviceaccounts"], "verbs": all},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": on_maps},
    ]})
}

/// Credentials of a user with this role.
async fn user(stage: &mut Stage, role: &Value) -> PathBuf {
    let kubeconfig = stage.plane.user_kubeconfig(USER, None).unwrap();
    stage.create(ROLES, role).await;
    let binding = json!({
        "metadata": {"name": USER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": USER},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    });
    stage
        .create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding)
        .await;
    kubeconfig
}

/// Waits until the API server knows it.
async fn may_create(stage: &Stage) {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": USER, "resourceAttributes": {"verb": "create", "resource": "configmaps", "namespace": "one"}},
    });
    let reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    within(async {
        while stage.admin.create(reviews, &review).await.unwrap()["status"]["allowed"] != true {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_kind_that_may_not_be_created_is_named_until_it_may() {
    let mut stage = Stage::new().await;
    let kubeconfig = user(&mut stage, &role(&["*"], &["get", "list", "watch"])).await;
    let bridge = Bridge::start_as(kubeconfig, Settings::default()).await;
    stage.install().await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = |name: &str| format!("{}/{name}", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    let other = order("b", &json!({"case": "kind", "kind": "ServiceAccount"}));
    stage.create(&orders(&namespace), &other).await;
    stage.ready(&path("b")).await;

    stage.condition(&path("a"), "Synced", "ReconcileError").await;
    let is_told = |events: &Value| {
        let events = events["items"].as_array();
        let mut events = events.into_iter().flatten();
        events.any(|event| {
            let message = event["message"].as_str().unwrap_or_default();
            event["involvedObject"]["name"] == "a"
                && event["type"] == "Warning"
                && message.contains("cannot apply composed resource \"first\"")
                && message.contains("cannot create resource \"configmaps\"")
        })
    };
    stage
        .object(&format!("/api/v1/namespaces/{namespace}/events"), is_told)
        .await;
    bridge.rests().await;

    let granted = role(&["*"], &["*"]);
    stage
        .admin
        .patch(&format!("{ROLES}/{USER}"), &granted)
        .await
        .unwrap();
    may_create(&stage).await;
    // At once, not after the back-off of what was refused.
    let edit = json!({"spec": {"values": {"first": "2"}}});
    stage.admin.patch(&path("a"), &edit).await.unwrap();
    stage.ready(&path("a")).await;
    assert_eq!(stage.values(&namespace).await, ["2"]);
    bridge.end().await;
}

/// What its status would say is known.
#[tokio::test]
async fn a_revision_composes_though_its_status_may_not_be_written() {
    let mut stage = Stage::new().await;
    let own = [
        "compositeresourcedefinitions",
        "compositeresourcedefinitions/status",
        "compositions",
        "compositionrevisions",
    ];
    let kubeconfig = user(&mut stage, &role(&own, &["*"])).await;
    let bridge = Bridge::start_as(kubeconfig, Settings::default()).await;
    stage.install().await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    stage.ready(&format!("{}/a", orders(&namespace))).await;
    let revisions = "/apis/apiextensions.crossplane.io/v1/compositionrevisions";
    let revisions = stage.admin.get(revisions).await.unwrap();
    let revisions = revisions["items"].as_array().unwrap();
    assert_eq!(revisions.len(), 1, "{revisions:#?}");
    assert_eq!(revisions[0]["status"], Value::Null);
    bridge.end().await;
}
