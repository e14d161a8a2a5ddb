//! What the bridge may not create.

use bridge_core::composite::Settings;
use serde_json::{Value, json};

use super::{
    rights::{Known, credentials, grant},
    stage::{Bridge, Stage, crd_path, definition, definition_path, order, orders},
};

/// Groups in which the bridge may do anything.
const ALLOWED: [&str; 4] = [
    "protection.crossplane.io",
    "shop.example.org",
    "apiregistration.k8s.io",
    "events.k8s.io",
];

/// Gives the bridge all that compositions need, of their own API these resources, and these verbs on `ConfigMap`s.
async fn may(stage: &Stage, own: &[&str], on_maps: &[&str]) {
    let all = ["*"];
    let rules = json!([
        {"apiGroups": ALLOWED, "resources": all, "verbs": all},
        {"apiGroups": ["apiextensions.k8s.io"], "resources": all, "verbs": all},
        {"apiGroups": ["apiextensions.crossplane.io"], "resources": own, "verbs": all},
        {"apiGroups": [""], "resources": ["events", "secrets", "serviceaccounts"], "verbs": all},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": on_maps},
    ]);
    let known = Known {
        attributes: json!({"verb": "create", "resource": "configmaps", "namespace": "one"}),
        is_allowed: on_maps == all,
    };
    grant(stage, &rules, &known).await;
}

/// Gives the bridge all rights, or all but those to write CRDs.
async fn may_write_crds(stage: &Stage, is_allowed: bool) {
    let all = ["*"];
    let but = ["get", "list", "watch"];
    let rules = json!([
        {"apiGroups": ALLOWED, "resources": all, "verbs": all},
        {"apiGroups": ["apiextensions.crossplane.io", ""], "resources": all, "verbs": all},
        {"apiGroups": ["apiextensions.k8s.io"], "resources": all, "verbs": if is_allowed { &all[..] } else { &but[..] }},
    ]);
    let known = Known {
        attributes: json!({"verb": "update", "group": "apiextensions.k8s.io", "resource": "customresourcedefinitions"}),
        is_allowed,
    };
    grant(stage, &rules, &known).await;
}

/// Gives the bridge all rights, or all but those to see usages.
async fn may_list_usages(stage: &Stage, is_allowed: bool) {
    let all = ["*"];
    let groups = [
        "",
        "apiextensions.crossplane.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "events.k8s.io",
        "shop.example.org",
    ];
    let on_usages = if is_allowed { &all[..] } else { &["create"] };
    let rules = json!([
        {"apiGroups": groups, "resources": all, "verbs": all},
        {"apiGroups": ["protection.crossplane.io"], "resources": all, "verbs": on_usages},
    ]);
    let known = Known {
        attributes: json!({"verb": "list", "group": "protection.crossplane.io", "resource": "usages"}),
        is_allowed,
    };
    grant(stage, &rules, &known).await;
}

/// As for a moment after a start: of a usage that may not be seen its label tells.
#[tokio::test]
async fn what_is_marked_is_kept_while_usages_may_not_be_listed() {
    let mut stage = Stage::bare().await;
    let kubeconfig = credentials(&mut stage);
    may_list_usages(&stage, false).await;
    let bridge = Bridge::start_as(kubeconfig, Settings::default()).await;
    stage.install().await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    let wanted = order("a", &json!({"first": "1", "second": "2"}));
    stage.create(&orders(&namespace), &wanted).await;
    stage.ready(&path).await;
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let composed = stage
        .admin
        .get(&format!("{maps}?labelSelector=crossplane.io/composite"))
        .await
        .unwrap();
    let mut composed = composed["items"].as_array().unwrap().iter();
    let first = composed.find(|map| map["data"]["value"] == "1").unwrap();
    let first = format!("{maps}/{}", first["metadata"]["name"].as_str().unwrap());
    let marked = json!({"metadata": {"labels": {"crossplane.io/in-use": "true"}}});
    stage.admin.patch(&first, &marked).await.unwrap();

    stage.admin.delete(&path).await.unwrap();
    let blocked = stage.condition(&path, "DeletionBlocked", "InUse").await;
    let conditions = blocked["status"]["conditions"].to_string();
    assert!(conditions.contains("usages cannot be listed"), "{conditions}");
    assert_eq!(
        stage.values(&namespace).await,
        ["1"],
        "what bears no label is deleted"
    );

    may_list_usages(&stage, true).await;
    stage.gone(&path).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

/// By a bridge that has served nothing yet.
#[tokio::test]
async fn orders_are_composed_though_their_crd_may_not_be_written() {
    let mut stage = Stage::bare().await;
    let kubeconfig = credentials(&mut stage);
    stage.install().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    bridge.end().await;
    let mut edit = json!({"spec": {"versions": definition()["spec"]["versions"]}});
    edit["spec"]["versions"][0]["additionalPrinterColumns"] =
        json!([{"name": "First", "type": "string", "jsonPath": ".spec.values.first"}]);
    stage.admin.patch(&definition_path(), &edit).await.unwrap();

    may_write_crds(&stage, false).await;
    let bridge = Bridge::start_as(kubeconfig, Settings::default()).await;
    let namespace = stage.admin.namespace("one").await;
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    stage.ready(&format!("{}/a", orders(&namespace))).await;
    let refusal = "cannot update resource \"customresourcedefinitions\"";
    stage.event("default", "EstablishComposite", refusal).await;

    may_write_crds(&stage, true).await;
    let has_column = |crd: &Value| {
        let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array();
        columns.is_some_and(|columns| columns.iter().any(|column| column["name"] == "First"))
    };
    stage.object(&crd_path(), has_column).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_kind_that_may_not_be_created_is_named_until_it_may() {
    let mut stage = Stage::bare().await;
    let kubeconfig = credentials(&mut stage);
    may(&stage, &["*"], &["get", "list", "watch"]).await;
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

    may(&stage, &["*"], &["*"]).await;
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
    let mut stage = Stage::bare().await;
    let own = [
        "compositeresourcedefinitions",
        "compositeresourcedefinitions/status",
        "compositions",
        "compositionrevisions",
    ];
    let kubeconfig = credentials(&mut stage);
    may(&stage, &own, &["*"]).await;
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
