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

/// What Crossplane applies to a composed object.
fn composed(xr: &Value, (name, resource): (&str, &str), data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "generateName": "web-",
            "labels": {"crossplane.io/composite": "web"},
            "annotations": {"crossplane.io/composition-resource-name": resource},
            "ownerReferences": [{
                "apiVersion": xr["apiVersion"], "kind": "Order", "name": "web", "uid": xr["metadata"]["uid"],
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "data": data,
    })
}

const FIRST: (&str, &str) = ("web-abcde", "first");
const SAME: (&str, &str) = ("web-fghij", "same");

fn map(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}

fn references(xr: &Value, names: &[&str]) -> Value {
    let refs = names
        .iter()
        .map(|name| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name}));
    json!({
        "apiVersion": xr["apiVersion"], "kind": "Order", "metadata": {"name": "web"},
        "spec": {"crossplane": {"resourceRefs": refs.collect::<Vec<_>>()}},
    })
}

/// An order with two composed objects as Crossplane leaves them when its core is stopped: one is as the function desires it, the other one has a
/// field that is desired no more. Returns the order's path.
async fn create_as_crossplane(stage: &Stage, namespace: &str) -> String {
    let path = format!("{}/web", orders(namespace));
    let object = order("web", &json!({"first": "1", "same": "0"}));
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
    let names = [FIRST.0, SAME.0];
    stage
        .admin
        .apply(&path, COMPOSITE, &references(&xr, &names))
        .await;
    let all = [
        (FIRST, json!({"value": "1", "former": "yes"})),
        (SAME, json!({"value": "0"})),
    ];
    for (of, data) in all {
        let path = map(namespace, of.0);
        stage
            .admin
            .apply(&path, &manager(), &composed(&xr, of, &data))
            .await;
    }
    path
}

#[tokio::test]
async fn what_crossplane_made_goes_on_under_the_bridge_and_back() {
    let stage = Stage::installed().await;
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
    let path = create_as_crossplane(&stage, &namespace).await;
    let (first_map, same_map) = (map(&namespace, FIRST.0), map(&namespace, SAME.0));
    let before = stage.admin.get(&first_map).await.unwrap();
    let same = stage.admin.get(&same_map).await.unwrap();

    let bridge = Bridge::start(&stage.plane).await;
    stage.ready(&path).await;
    let after = stage
        .object(&first_map, |map| map["data"] == json!({"value": "1"}))
        .await;
    bridge.rests().await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(managers(&after), [format!("{} Apply", manager())]);
    // Each is applied once: by the digest that this notes it is known to be as desired from then on.
    let applied = stage.admin.get(&same_map).await.unwrap();
    assert_eq!(applied["metadata"]["uid"], same["metadata"]["uid"]);
    assert_eq!(applied["data"], same["data"]);
    assert_eq!(managers(&applied), managers(&same));
    assert_eq!(count(&bridge, "create configmaps"), 0, "{:?}", bridge.writes());
    assert_eq!(count(&bridge, "apply configmaps"), 2, "{:?}", bridge.writes());
    let xr = stage.admin.get(&path).await.unwrap();
    let expected = references(&xr, &[FIRST.0, SAME.0]);
    assert_eq!(
        xr["spec"]["crossplane"]["resourceRefs"],
        expected["spec"]["crossplane"]["resourceRefs"]
    );
    // One more object, which the bridge creates.
    let more = json!({"spec": {"values": {"second": "2"}}});
    stage.admin.patch(&path, &more).await.unwrap();
    stage.values_become(&namespace, &["0", "1", "2"]).await;
    bridge.rests().await;
    assert_eq!(count(&bridge, "apply configmaps"), 2, "{:?}", bridge.writes());
    bridge.end().await;

    // Back: of what the bridge took over, what Crossplane applies counts alone, and what it applies no more goes.
    let desired = composed(&xr, FIRST, &json!({"other": "3"}));
    let taken = stage.admin.apply(&first_map, &manager(), &desired).await;
    assert_eq!(taken["data"], json!({"other": "3"}));
    hand_back_what_was_created(&stage, &namespace, &path).await;
    let emptied = stage.admin.apply(&path, COMPOSITE, &references(&xr, &[])).await;
    assert_eq!(emptied["spec"]["crossplane"]["resourceRefs"], json!([]));
    let unlocked = json!({"metadata": {"finalizers": null}});
    stage.admin.patch(&path, &unlocked).await.unwrap();
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
}

/// An object that the bridge created and never changed, by the steps of Crossplane's upgrade of managed fields: they are cleared, the desired
/// fields are applied, and what Kubernetes calls the manager from before goes.
async fn hand_back_what_was_created(stage: &Stage, namespace: &str, path: &str) {
    let xr = stage.admin.get(path).await.unwrap();
    let references = xr["spec"]["crossplane"]["resourceRefs"].as_array().unwrap();
    let mut names = references.iter().map(|one| one["name"].as_str().unwrap());
    let name = names.find(|name| ![FIRST.0, SAME.0].contains(name)).unwrap();
    let (path, of) = (map(namespace, name), (name, "second"));
    let created = stage.admin.get(&path).await.unwrap();
    assert_eq!(managers(&created), ["crossbridge.dev/created Update"]);
    let cleared = json!([{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]);
    stage.admin.json_patch(path.clone(), cleared).await;
    let desired = composed(&xr, of, &json!({"value": "two"}));
    let taken = stage.admin.apply(&path, &manager(), &desired).await;
    assert_eq!(taken["data"], json!({"value": "two"}));
    assert_eq!(taken["metadata"]["uid"], created["metadata"]["uid"]);
    let entries = taken["metadata"]["managedFields"].as_array().unwrap();
    let before = entries
        .iter()
        .position(|entry| entry["manager"] == "before-first-apply");
    if let Some(at) = before {
        let dropped = json!([{"op": "remove", "path": format!("/metadata/managedFields/{at}")}]);
        stage.admin.json_patch(path.clone(), dropped).await;
    }
    let desired = composed(&xr, of, &json!({"other": "3"}));
    let taken = stage.admin.apply(&path, &manager(), &desired).await;
    assert_eq!(taken["data"], json!({"other": "3"}));
    assert_eq!(managers(&taken), [format!("{} Apply", manager())]);
}
