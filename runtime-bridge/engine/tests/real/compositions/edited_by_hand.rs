//! What people do to references, owners and kinds of what was composed, and functions that desire something else each time.

use std::time::Duration;

use bridge_core::composite::{CircuitSettings, Settings};
use serde_json::{Value, json};

use super::stage::{Bridge, Stage, order, orders};

async fn composed(bridge: &Bridge, stage: &Stage, values: &Value) -> (String, String, Value) {
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    stage.create(&orders(&namespace), &order("a", values)).await;
    stage.ready(&path).await;
    bridge.rests().await;
    let order = stage.admin.get(&path).await.unwrap();
    (namespace, path, order)
}

fn refs(order: &Value) -> Vec<Value> {
    let refs = order["spec"]["crossplane"]["resourceRefs"].as_array();
    refs.cloned().unwrap_or_default()
}

#[tokio::test]
async fn a_reference_to_another_owners_object_is_dropped_and_the_object_left_alone() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    let (namespace, path, before) = composed(&bridge, &stage, &json!({"first": "1"})).await;
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let owner = stage
        .create(
            &maps,
            &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"}}),
        )
        .await;
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "theirs"}, "metadata": {
        "name": "theirs", "annotations": {"crossplane.io/composition-resource-name": "first"},
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"], "controller": true,
        }],
    }});
    let theirs = stage.create(&maps, &theirs).await;
    let mut with_theirs = refs(&before);
    with_theirs.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "theirs"}));
    let edit = json!({"spec": {"crossplane": {"resourceRefs": with_theirs}}});
    stage.admin.patch(&path, &edit).await.unwrap();
    stage.object(&path, |order| refs(order) == refs(&before)).await;
    let dropped = format!(
        "dropped the reference to ConfigMap \"{namespace}/theirs\", which ConfigMap \"owner\" controls"
    );
    stage.event(&namespace, "ComposeResources", &dropped).await;
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    let left = stage.admin.get(&format!("{maps}/theirs")).await.unwrap();
    assert_eq!(left, theirs);
    bridge.end().await;
}

#[tokio::test]
async fn what_lost_its_owner_gets_it_back_and_goes_with_it() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    let (namespace, path, before) = composed(&bridge, &stage, &json!({"first": "1"})).await;
    let name = refs(&before)[0]["name"].as_str().unwrap().to_owned();
    let map = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");
    let uid = stage.admin.get(&map).await.unwrap()["metadata"]["uid"].clone();
    let stripped = json!({"metadata": {"ownerReferences": null}});
    stage.admin.patch(&map, &stripped).await.unwrap();
    let is_owned = |map: &Value| map["metadata"]["ownerReferences"][0]["uid"] == before["metadata"]["uid"];
    let owned = stage.object(&map, is_owned).await;
    assert_eq!(owned["metadata"]["uid"], uid, "the same object");
    stage.event(&namespace, "Adopted", &name).await;
    bridge.rests().await;
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    assert!(stage.admin.get(&map).await.is_err());
    bridge.end().await;
}

#[tokio::test]
async fn an_object_of_a_former_kind_stays_is_named_and_goes_in_the_end() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    let values = json!({"case": "kind", "kind": "ConfigMap"});
    let (namespace, path, before) = composed(&bridge, &stage, &values).await;
    let name = refs(&before)[0]["name"].as_str().unwrap().to_owned();
    let edit = json!({"spec": {"values": {"kind": "ServiceAccount"}}});
    stage.admin.patch(&path, &edit).await.unwrap();
    let says = |order: &Value| {
        let synced = order["status"]["conditions"].to_string();
        synced.contains("of another kind than is desired now, and left as they are: ConfigMap")
    };
    stage.object(&path, says).await;
    bridge.rests().await;
    let of = |plural: &str| format!("/api/v1/namespaces/{namespace}/{plural}/{name}");
    for plural in ["configmaps", "serviceaccounts"] {
        stage.admin.get(&of(plural)).await.unwrap();
    }
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    for plural in ["configmaps", "serviceaccounts"] {
        assert!(stage.admin.get(&of(plural)).await.is_err(), "{plural}");
    }
    bridge.end().await;
}

#[tokio::test]
async fn a_function_that_answers_otherwise_each_time_is_called_more_slowly() {
    let stage = Stage::installed().await;
    let settings = Settings {
        circuit: CircuitSettings {
            burst: 5,
            refill: Duration::from_secs(10),
            cooldown: Duration::from_mins(1),
        },
        ..Settings::default()
    };
    let bridge = Bridge::start_with(&stage.plane, settings).await;
    let (namespace, _, good) = composed(&bridge, &stage, &json!({"first": "1"})).await;
    let wanted = order("restless", &json!({"case": "restless"}));
    stage.create(&orders(&namespace), &wanted).await;
    let path = format!("{}/restless", orders(&namespace));
    stage.condition(&path, "Responsive", "WatchCircuitOpen").await;
    bridge.rests().await;
    let before = stage
        .admin
        .get(&format!("{}/a", orders(&namespace)))
        .await
        .unwrap();
    assert_eq!(before, good);
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    assert_eq!(stage.values(&namespace).await, ["1"]);
    bridge.end().await;
}

/// As a backup that was taken before the references were stored would restore it.
#[tokio::test]
async fn a_secret_without_a_reference_is_found_and_goes_with_its_order() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    let values = json!({"case": "kind", "kind": "Secret"});
    let (namespace, path, before) = composed(&bridge, &stage, &values).await;
    let name = refs(&before)[0]["name"].as_str().unwrap().to_owned();
    let secret = format!("/api/v1/namespaces/{namespace}/secrets/{name}");
    stage.admin.get(&secret).await.unwrap();
    bridge.end().await;

    let restored = json!({"spec": {"crossplane": {"resourceRefs": null}}});
    stage.admin.patch(&path, &restored).await.unwrap();
    stage.admin.delete(&path).await.unwrap();
    let bridge = Bridge::start(&stage.plane).await;
    stage.gone(&path).await;
    // No garbage collector runs here.
    assert!(stage.admin.get(&secret).await.is_err());
    bridge.end().await;
}
