//! Compositions from the definition to the composed objects and back.

mod at_rest;
mod bad_definitions;
mod bad_input;
mod claims;
mod collected;
mod collector;
mod config_maps;
mod connection_details;
mod counted_writes;
mod crossplane_kinds;
mod definitions;
mod deployments;
mod edited_by_hand;
mod edited_claims;
mod ending_badly;
mod endings;
mod forbidden;
mod guard;
mod interrupted_leadership;
mod kinds_that_go;
mod lost_composites;
mod other_version;
mod reserved;
mod responsive;
mod rights;
mod schemas;
mod stage;
mod takeover;
mod tenants;
mod unreadable;
mod unwatched_composites;
mod usages;
mod vanishing_parents;

use serde_json::{Value, json};

use self::stage::{
    Bridge, COMPOSITIONS, REVISIONS, Stage, composition, crd_path, definition_path, order, orders,
};

fn count(bridge: &Bridge, write: &str) -> u64 {
    bridge.writes().get(write).copied().unwrap_or_default()
}

#[tokio::test]
async fn an_order_is_composed_changed_and_deleted() {
    let stage = Stage::bare().await;
    let bridge = Bridge::start(&stage.plane).await;
    // They come after the bridge, which waits for them.
    stage.install().await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    let wanted = order("a", &json!({"first": "1", "second": "2"}));
    stage.create(&orders(&namespace), &wanted).await;
    stage.ready(&path).await;
    assert_eq!(stage.values(&namespace).await, ["1", "2"]);
    bridge.rests().await;
    assert_eq!(count(&bridge, "create configmaps"), 2);
    assert_eq!(count(&bridge, "update orders"), 2, "{:?}", bridge.writes());
    assert_eq!(count(&bridge, "update compositeresourcedefinitions"), 2);
    assert_eq!(count(&bridge, "create customresourcedefinitions"), 1);
    assert_eq!(count(&bridge, "create compositionrevisions"), 1);
    assert_eq!(count(&bridge, "update compositionrevisions"), 1);
    assert_eq!(bridge.writes().values().sum::<u64>(), 9, "{:?}", bridge.writes());

    let changed = json!({"spec": {"values": {"first": "one", "second": null}}});
    stage.admin.patch(&path, &changed).await.unwrap();
    let has_one = |order: &Value| {
        let refs = order["spec"]["crossplane"]["resourceRefs"].as_array();
        refs.is_some_and(|refs| refs.len() == 1)
    };
    stage.object(&path, has_one).await;
    stage.ready(&path).await;
    assert_eq!(stage.values(&namespace).await, ["one"]);

    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

#[tokio::test]
async fn a_bridge_that_is_restarted_writes_nothing() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    stage.ready(&path).await;
    bridge.end().await;

    let before = stage.admin.get(&path).await.unwrap();
    let bridge = Bridge::start(&stage.plane).await;
    let settled = stage.create(&orders(&namespace), &order("b", &json!({}))).await;
    assert_eq!(settled["kind"], "Order");
    stage.ready(&format!("{}/b", orders(&namespace))).await;
    bridge.rests().await;
    assert_eq!(stage.admin.get(&path).await.unwrap(), before);
    // Those of the second order alone.
    assert_eq!(bridge.writes(), [("update orders".to_owned(), 2)].into());
    bridge.end().await;
}

#[tokio::test]
async fn a_changed_composition_moves_its_orders_to_a_new_revision() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    let of = |order: &Value| order["spec"]["crossplane"]["compositionRevisionRef"]["name"].clone();
    let first = of(&stage.ready(&path).await);
    for input in ["2", "3", "4"] {
        let before = of(&stage.admin.get(&path).await.unwrap());
        let spec = &composition(input)["spec"];
        let change = json!({"spec": {"pipeline": spec["pipeline"]}});
        stage
            .admin
            .patch(&format!("{COMPOSITIONS}/orders"), &change)
            .await
            .unwrap();
        stage.object(&path, |order| of(order) != before).await;
    }
    let of_limit = |list: &Value| list["items"].as_array().is_some_and(|items| items.len() <= 3);
    let left = stage.object(REVISIONS, of_limit).await;
    let names: Vec<&Value> = left["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|revision| &revision["metadata"]["name"])
        .collect();
    assert!(!names.contains(&&first), "{names:?}");
    bridge.end().await;
}

#[tokio::test]
async fn a_definition_is_deleted_with_its_orders_of_all_namespaces() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    for namespace in ["one", "two"] {
        let namespace = stage.admin.namespace(namespace).await;
        for name in ["a", "b"] {
            stage
                .create(&orders(&namespace), &order(name, &json!({"first": "1"})))
                .await;
        }
        stage.ready(&format!("{}/b", orders(&namespace))).await;
    }
    stage.admin.delete(&definition_path()).await.unwrap();
    stage.gone(&definition_path()).await;
    stage.gone(&crd_path()).await;
    for namespace in ["one", "two"] {
        assert_eq!(stage.values(namespace).await, [""; 0], "{namespace}");
    }
    bridge.end().await;
}

#[tokio::test]
async fn a_required_object_and_schema_are_shown_and_followed() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"require": "x"})))
        .await;
    stage.ready(&path).await;
    stage.values_become(&namespace, &[" of object"]).await;

    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let shared = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "shared", "labels": {"shared": "x"}}, "data": {"value": "one"},
    });
    stage.create(&maps, &shared).await;
    stage.values_become(&namespace, &["one of object"]).await;
    let change = json!({"data": {"value": "two"}});
    stage
        .admin
        .patch(&format!("{maps}/shared"), &change)
        .await
        .unwrap();
    stage.values_become(&namespace, &["two of object"]).await;
    stage.admin.delete(&format!("{maps}/shared")).await.unwrap();
    stage.values_become(&namespace, &[" of object"]).await;
    bridge.end().await;
}
