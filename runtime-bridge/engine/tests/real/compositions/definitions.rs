//! Definitions that are edited badly, or cannot go.

use serde_json::{Value, json};

use super::stage::{
    Bridge, COMPOSITIONS, DEFINITIONS, GROUP, REVISIONS, Stage, crd_path, definition, definition_path, order,
    orders,
};

/// An order of one `ConfigMap`, in a namespace of that name.
async fn composed_order(stage: &Stage, namespace: &str) -> String {
    let namespace = stage.admin.namespace(namespace).await;
    let wanted = order("a", &json!({"first": "1"}));
    stage.create(&orders(&namespace), &wanted).await;
    stage.ready(&format!("{}/a", orders(&namespace))).await;
    namespace
}

/// What is composed is corrected, so that somebody serves its order.
async fn is_corrected(stage: &Stage, namespace: &str) {
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let labelled = format!("{maps}?labelSelector=crossplane.io/composite");
    let list = stage.admin.get(&labelled).await.unwrap();
    let name = list["items"][0]["metadata"]["name"].as_str().unwrap();
    let drift = json!({"data": {"value": "drifted"}});
    stage
        .admin
        .patch(&format!("{maps}/{name}"), &drift)
        .await
        .unwrap();
    stage.values_become(namespace, &["1"]).await;
}

async fn is_served_as_before_by_the_next_process(versions: Value, reason: &str) {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = composed_order(&stage, "one").await;
    let edit = json!({"spec": {"versions": versions}});
    stage.admin.patch(&definition_path(), &edit).await.unwrap();
    stage.condition(&definition_path(), "Established", reason).await;
    is_corrected(&stage, &namespace).await;
    bridge.end().await;

    let bridge = Bridge::start(&stage.plane).await;
    is_corrected(&stage, &namespace).await;
    let second = order("b", &json!({"first": "2"}));
    stage.create(&orders(&namespace), &second).await;
    stage.ready(&format!("{}/b", orders(&namespace))).await;
    stage
        .admin
        .delete(&format!("{}/b", orders(&namespace)))
        .await
        .unwrap();
    stage.gone(&format!("{}/b", orders(&namespace))).await;
    bridge.end().await;

    // As the first thing that a process does.
    stage.admin.delete(&definition_path()).await.unwrap();
    let bridge = Bridge::start(&stage.plane).await;
    stage.gone(&definition_path()).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    let metrics = bridge.engine.encode_metrics();
    let controller = "controller=\"composite/orders.shop.example.org\"";
    for verb in ["started", "stopped"] {
        let counted = format!("engine_controllers_{verb}_total{{{controller}}} 1");
        assert!(metrics.lines().any(|line| line == counted), "{metrics}");
        for watch in ["CompositeResource", "CompositionRevision"] {
            let counted = format!("engine_watches_{verb}_total{{{controller},type=\"{watch}\"}} 1");
            assert!(metrics.lines().any(|line| line == counted), "{metrics}");
        }
    }
    bridge.end().await;
}

#[tokio::test]
async fn orders_outlive_an_edit_that_the_api_server_refuses() {
    let unstructured = json!({"type": "object", "properties": {"spec": {"properties": {"a": {}}}}});
    let versions = json!([
        {"name": "v1", "served": true, "referenceable": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
        {"name": "v2", "served": true, "referenceable": true, "schema": {"openAPIV3Schema": unstructured}},
    ]);
    is_served_as_before_by_the_next_process(versions, "CrdRejected").await;
}

#[tokio::test]
async fn orders_outlive_an_edit_that_is_invalid() {
    let version = |name| {
        let schema = json!({"openAPIV3Schema": {"type": "object"}});
        json!({"name": name, "served": true, "referenceable": true, "schema": schema})
    };
    let versions = json!([version("v1"), version("v2")]);
    is_served_as_before_by_the_next_process(versions, "InvalidDefinition").await;
}

#[tokio::test]
async fn what_does_not_go_is_named_and_can_be_left_behind() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = composed_order(&stage, "one").await;
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let labelled = format!("{maps}?labelSelector=crossplane.io/composite");
    let list = stage.admin.get(&labelled).await.unwrap();
    let name = list["items"][0]["metadata"]["name"].as_str().unwrap();
    let map = format!("{maps}/{name}");
    let held = json!({"metadata": {"finalizers": ["example.org/held"]}});
    let uid = stage.admin.patch(&map, &held).await.unwrap()["metadata"]["uid"].clone();
    let uid = uid.as_str().unwrap();

    let path = format!("{}/a", orders(&namespace));
    stage.admin.delete(&path).await.unwrap();
    let blocked = stage.condition(&path, "DeletionBlocked", "Finalizers").await;
    let conditions = blocked["status"]["conditions"].as_array().unwrap();
    let is_blocked = |one: &&Value| one["type"] == "DeletionBlocked";
    let message = conditions.iter().find(is_blocked).unwrap()["message"]
        .as_str()
        .unwrap();
    assert!(
        message.contains("waits for who set its finalizers: example.org/held"),
        "{message}"
    );
    let release =
        format!("kubectl annotate --overwrite Order.shop.example.org a -n one crossbridge.dev/release={uid}");
    assert!(message.contains(&release), "{message}");

    let metrics = bridge.engine.encode_metrics();
    let shown = "crossbridge_deleting_objects{kind=\"Order.shop.example.org\",blocked=\"Finalizers\"} 1";
    assert!(metrics.lines().any(|line| line == shown), "{metrics}");
    let oldest = "crossbridge_deleting_oldest_seconds{kind=\"Order.shop.example.org\"} ";
    let age = metrics
        .lines()
        .find_map(|line| line.strip_prefix(oldest))
        .unwrap();
    // Only what has not moved for a while is blocked.
    assert!(age.parse::<f64>().unwrap() > 5.0, "{age}");

    let release = json!({"metadata": {"annotations": {"crossbridge.dev/release": uid}}});
    stage.admin.patch(&path, &release).await.unwrap();
    stage.gone(&path).await;
    let left = stage.admin.get(&map).await.unwrap();
    assert_eq!(left["metadata"]["uid"], uid);
    assert_eq!(left["metadata"]["ownerReferences"], Value::Null);
    assert_eq!(left["metadata"]["labels"], Value::Null);
    let metrics = bridge.engine.encode_metrics();
    assert!(!metrics.contains("crossbridge_deleting_objects{"), "{metrics}");
    assert!(
        !metrics.contains("crossbridge_deleting_oldest_seconds{"),
        "{metrics}"
    );
    let counted = "crossbridge_released_objects_total{kind=\"ConfigMap\"} 1";
    assert!(metrics.lines().any(|line| line == counted), "{metrics}");
    stage.event(&namespace, "ReleasedComposed", uid).await;
    bridge.end().await;
}

/// Nor are the functions that composed it: what is to go is in its references.
#[tokio::test]
async fn a_composite_resource_ends_without_composition_and_revision() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = composed_order(&stage, "one").await;
    stage
        .admin
        .delete(&format!("{COMPOSITIONS}/orders"))
        .await
        .unwrap();
    let revisions = stage.admin.get(REVISIONS).await.unwrap();
    for revision in revisions["items"].as_array().unwrap() {
        let path = format!("{REVISIONS}/{}", revision["metadata"]["name"].as_str().unwrap());
        stage.admin.delete(&path).await.unwrap();
        stage.gone(&path).await;
    }
    let path = format!("{}/a", orders(&namespace));
    stage.condition(&path, "Synced", "ReconcileError").await;
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

#[tokio::test]
async fn what_cannot_be_deleted_is_named_by_its_definition() {
    let stage = Stage::bare().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.install().await;
    stage.define().await;
    let namespace = composed_order(&stage, "one").await;
    composed_order(&stage, "two").await;
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "kept"},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["shop.example.org"], "apiVersions": ["*"], "resources": ["orders"],
                "operations": ["DELETE"],
            }]},
            "validations": [{"expression": "request.namespace != 'one'", "message": "orders of one are kept"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "kept"},
        "spec": {"policyName": "kept", "validationActions": ["Deny"]},
    });
    stage.create(policies, &policy).await;
    stage.create(bindings, &binding).await;
    // The API server takes its time to notice a policy.
    let path = format!("{}/a", orders(&namespace));
    stage.until_refused(&path).await;

    stage.admin.delete(&definition_path()).await.unwrap();
    let is_named = |definition: &Value| {
        let conditions = definition["status"]["conditions"].as_array();
        conditions.into_iter().flatten().any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            condition["type"] == "Established"
                && condition["reason"] == "TerminatingCompositeResource"
                && message.starts_with(
                    "waiting for 1 composite resource(s) to be deleted; cannot delete Order.shop.example.org one/a: ",
                )
                && message.contains("orders of one are kept")
        })
    };
    stage.object(&definition_path(), is_named).await;
    // It is served meanwhile.
    is_corrected(&stage, &namespace).await;
    stage.gone(&format!("{}/a", orders("two"))).await;
    stage.admin.delete(&format!("{bindings}/kept")).await.unwrap();
    stage.gone(&definition_path()).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

#[tokio::test]
async fn a_definition_is_created_again_with_another_scope() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = composed_order(&stage, "one").await;
    stage.admin.delete(&definition_path()).await.unwrap();
    stage.gone(&definition_path()).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    let mut again = definition();
    again["spec"]["scope"] = "Cluster".into();
    stage.create(DEFINITIONS, &again).await;
    stage
        .condition(&definition_path(), "Established", "WatchingCompositeResource")
        .await;
    let is_cluster = |crd: &Value| crd["spec"]["scope"] == "Cluster";
    stage.object(&crd_path(), is_cluster).await;
    let collection = format!("/apis/{GROUP}/v1/orders");
    // Which only one that is in no namespace itself may compose.
    let wanted = order("wide", &json!({"case": "cluster-scoped"}));
    stage.create(&collection, &wanted).await;
    let wide = stage.ready(&format!("{collection}/wide")).await;
    let composed = stage.admin.get("/api/v1/namespaces/bad").await.unwrap();
    assert_eq!(
        composed["metadata"]["ownerReferences"][0]["uid"],
        wide["metadata"]["uid"]
    );
    bridge.end().await;
}

/// Admits the deletion of an order only if it says which uid and version of it is meant.
#[tokio::test]
async fn a_definition_deletes_its_objects_as_they_were_seen() {
    let stage = Stage::bare().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.install().await;
    stage.define().await;
    let namespace = composed_order(&stage, "one").await;
    let folder = "/apis/admissionregistration.k8s.io/v1";
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "guarded"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["shop.example.org"], "apiVersions": ["*"], "resources": ["orders"],
                "operations": ["DELETE"],
            }]},
            "validations": [{
                "expression": "has(request.options.preconditions) && has(request.options.preconditions.uid) \
                               && has(request.options.preconditions.resourceVersion)",
                "message": "by uid and resourceVersion alone",
            }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "guarded"},
        "spec": {"policyName": "guarded", "validationActions": ["Deny"]},
    });
    stage
        .create(&format!("{folder}/validatingadmissionpolicies"), &policy)
        .await;
    stage
        .create(&format!("{folder}/validatingadmissionpolicybindings"), &binding)
        .await;
    stage.until_refused(&format!("{}/a", orders(&namespace))).await;
    stage.admin.delete(&definition_path()).await.unwrap();
    stage.gone(&definition_path()).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}
