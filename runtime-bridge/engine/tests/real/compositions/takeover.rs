//! A tree that Crossplane made goes on under the bridge, and back: objects, references and field managers are as that leaves and expects them.

use bridge_core::{composite::composed_manager, watch_plan::GroupKind};
use serde_json::{Value, json};

use super::{
    count,
    stage::{Bridge, GROUP, REVISIONS, Stage, order, orders},
};

/// Of what Crossplane writes into a composite resource by apply.
const COMPOSITE: &str = "apiextensions.crossplane.io/composite";
/// Of all its other writes.
const CROSSPLANE: &str = "crossplane";

/// The field managers of an object and what each does: `manager operation subresource`.
fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap().iter();
    let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
    let mut all: Vec<String> = entries
        .map(|entry| {
            let parts = ["manager", "operation", "subresource"].map(|field| text(entry, field));
            parts.join(" ").trim_end().to_owned()
        })
        .collect();
    all.sort();
    all
}

fn manager() -> String {
    composed_manager("web", &GroupKind::new(GROUP, "Order"))
}

/// What Crossplane applies to the composed object of `first`. `more`: a field that the function desires no more when the bridge comes.
fn composed(xr: &Value, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "web-abcde",
            "generateName": "web-",
            "labels": {"crossplane.io/composite": "web"},
            "annotations": {"crossplane.io/composition-resource-name": "first"},
            "ownerReferences": [{
                "apiVersion": xr["apiVersion"], "kind": "Order", "name": "web", "uid": xr["metadata"]["uid"],
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "data": data,
    })
}

/// An order with one composed object as Crossplane leaves them when its core is stopped. Returns their paths.
async fn by_crossplane(stage: &Stage, namespace: &str) -> (String, String) {
    let path = format!("{}/web", orders(namespace));
    let object = order("web", &json!({"first": "1"}));
    let xr = stage.create(&orders(namespace), &object).await;
    let revisions = stage
        .object(REVISIONS, |list| {
            list["items"].as_array().is_some_and(|all| !all.is_empty())
        })
        .await;
    let machinery = json!({
        "metadata": {
            "finalizers": ["composite.apiextensions.crossplane.io"],
            "labels": {"crossplane.io/composite": "web"},
        },
        "spec": {"crossplane": {
            "compositionRef": {"name": "orders"},
            "compositionRevisionRef": {"name": revisions["items"][0]["metadata"]["name"]},
            "compositionUpdatePolicy": "Automatic",
        }},
    });
    let as_crossplane = format!("{path}?fieldManager={CROSSPLANE}");
    stage.admin.patch(&as_crossplane, &machinery).await.unwrap();
    let map = format!("/api/v1/namespaces/{namespace}/configmaps/web-abcde");
    let references = json!({
        "apiVersion": xr["apiVersion"], "kind": "Order", "metadata": {"name": "web"},
        "spec": {"crossplane": {"resourceRefs": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "web-abcde"}]}},
    });
    stage.admin.apply(&path, COMPOSITE, &references).await;
    let data = json!({"value": "1", "former": "yes"});
    stage.admin.apply(&map, &manager(), &composed(&xr, &data)).await;
    (path, map)
}

#[tokio::test]
async fn what_crossplane_made_goes_on_under_the_bridge_and_back() {
    let stage = Stage::new().await;
    stage.install().await;
    let namespace = stage.admin.namespace("takeover").await;
    // The CRD and the revision are as Crossplane makes them.
    let first = Bridge::start(&stage.plane).await;
    stage.define().await;
    stage
        .object(REVISIONS, |list| {
            list["items"].as_array().is_some_and(|all| all.len() == 1)
        })
        .await;
    first.end().await;
    let (path, map) = by_crossplane(&stage, &namespace).await;
    let before = stage.admin.get(&map).await.unwrap();

    let bridge = Bridge::start(&stage.plane).await;
    stage.ready(&path).await;
    let after = stage
        .object(&map, |map| map["data"] == json!({"value": "1"}))
        .await;
    bridge.rests().await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(managers(&after), [format!("{} Apply", manager())]);
    assert_eq!(count(&bridge, "create configmaps"), 0, "{:?}", bridge.writes());
    assert_eq!(count(&bridge, "apply configmaps"), 1, "{:?}", bridge.writes());
    let xr = stage.admin.get(&path).await.unwrap();
    assert_eq!(
        xr["spec"]["crossplane"]["resourceRefs"],
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "web-abcde"}])
    );
    // One more object, which the bridge creates.
    let more = json!({"spec": {"values": {"second": "2"}}});
    stage.admin.patch(&path, &more).await.unwrap();
    stage.values_become(&namespace, &["1", "2"]).await;
    bridge.rests().await;
    bridge.end().await;

    // Back: what Crossplane applies counts alone, and what it applies no more goes.
    let back = composed(&xr, &json!({"other": "3"}));
    let taken = stage.admin.apply(&map, &manager(), &back).await;
    assert_eq!(taken["data"], json!({"other": "3"}));
    let xr = stage.admin.get(&path).await.unwrap();
    let references = xr["spec"]["crossplane"]["resourceRefs"].as_array().unwrap();
    let second = references
        .iter()
        .find(|reference| reference["name"] != "web-abcde")
        .unwrap();
    let second = format!(
        "/api/v1/namespaces/{namespace}/configmaps/{}",
        second["name"].as_str().unwrap()
    );
    let created = stage.admin.get(&second).await.unwrap();
    let has_composed = |object: &Value| managers(object).iter().any(|one| one.contains("/composed/"));
    if !has_composed(&created) {
        // Its upgrade of objects without such a manager.
        let cleared = json!([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]);
        stage.admin.json_patch(second.clone(), cleared).await;
    }
    let mut desired = composed(&xr, &json!({"value": "two"}));
    desired["metadata"]["name"] = created["metadata"]["name"].clone();
    desired["metadata"]["annotations"]["crossplane.io/composition-resource-name"] = "second".into();
    let taken = stage.admin.apply(&second, &manager(), &desired).await;
    assert_eq!(taken["data"], json!({"value": "two"}));
    assert_eq!(taken["metadata"]["uid"], created["metadata"]["uid"]);
    let nothing = json!({
        "apiVersion": xr["apiVersion"], "kind": "Order", "metadata": {"name": "web"},
        "spec": {"crossplane": {"resourceRefs": []}},
    });
    let emptied = stage.admin.apply(&path, COMPOSITE, &nothing).await;
    assert_eq!(emptied["spec"]["crossplane"]["resourceRefs"], json!([]));
    let let_go = json!({"metadata": {"finalizers": null}});
    stage.admin.patch(&path, &let_go).await.unwrap();
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
}
