//! Deletions in which somebody gets in the way.

use bridge_core::composite::Settings;
use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite_of},
    rights::{Known, credentials, grant},
    stage::{Bridge, Stage, order, orders},
};

fn says(object: &Value, type_: &str, words: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| {
        let message = condition["message"].as_str().unwrap_or_default();
        condition["type"] == type_ && message.contains(words)
    })
}

fn hold(finalizers: &Value) -> Value {
    json!({"metadata": {"finalizers": finalizers}})
}

/// Waits until an event tells what the order left.
async fn tells_what_it_left(stage: &Stage, message: &str) {
    let path = "/api/v1/namespaces/one/events?fieldSelector=reason=LeftComposed,involvedObject.name=shop";
    let is_reported = |list: &Value| {
        let items = list["items"].as_array().unwrap();
        items.len() == 1 && items[0]["type"] == "Warning" && items[0]["message"] == message
    };
    stage.object(path, is_reported).await;
}

/// Gives the bridge all rights, or all but the deletion of `ConfigMap`s.
async fn may_delete(stage: &Stage, is_allowed: bool) {
    let all = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]);
    let but = json!([
        {"apiGroups": [""], "resources": ["*"], "verbs": ["get", "list", "watch", "create", "update", "patch"]},
        {"apiGroups": [
            "apiextensions.k8s.io", "apiextensions.crossplane.io", "protection.crossplane.io", "shop.example.org",
            "apiregistration.k8s.io", "events.k8s.io",
        ], "resources": ["*"], "verbs": ["*"]},
    ]);
    let attributes = json!({"verb": "delete", "resource": "configmaps", "namespace": "one"});
    let rules = if is_allowed { all } else { but };
    let known = Known {
        attributes,
        is_allowed,
    };
    grant(stage, &rules, &known).await;
}

#[tokio::test]
async fn rights_that_are_revoked_in_the_middle_are_named() {
    let mut stage = Stage::bare().await;
    let kubeconfig = credentials(&mut stage);
    may_delete(&stage, true).await;
    let bridge = Bridge::start_as(kubeconfig, Settings::default()).await;
    stage.install().await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/shop", orders(&namespace));
    let values = json!({"db": "1", "app": "1", "usage": "app"});
    stage.create(&orders(&namespace), &order("shop", &values)).await;
    stage.ready(&path).await;
    let usages = "/apis/protection.crossplane.io/v1beta1/namespaces/one/usages/shop-usage";
    stage.condition(usages, "Ready", "Available").await;
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let app = format!("{maps}/shop-app");
    stage
        .admin
        .patch(&app, &hold(&json!(["test/held"])))
        .await
        .unwrap();
    stage.admin.delete(&path).await.unwrap();
    stage.condition(&path, "DeletionBlocked", "Finalizers").await;
    // What uses goes; what is used must not be deleted any more.
    may_delete(&stage, false).await;
    stage.admin.patch(&app, &hold(&Value::Null)).await.unwrap();
    let blocked = stage.condition(&path, "DeletionBlocked", "Forbidden").await;
    assert!(
        says(
            &blocked,
            "DeletionBlocked",
            "ConfigMap \"one/shop-db\" is not deleted: "
        ),
        "{blocked:#}"
    );
    stage.admin.get(&format!("{maps}/shop-db")).await.unwrap();
    may_delete(&stage, true).await;
    stage.gone(&path).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

#[tokio::test]
async fn a_claim_names_that_its_composite_resource_is_paused() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let xr = composite_of(&stage.ready(&path).await);
    let paused = |value: Value| json!({"metadata": {"annotations": {"crossplane.io/paused": value}}});
    stage.admin.patch(&xr, &paused(json!("true"))).await.unwrap();
    stage.condition(&xr, "Synced", "ReconcilePaused").await;
    stage.admin.delete(&path).await.unwrap();
    stage
        .object(&path, |claim| {
            says(claim, "Ready", "is paused via the pause annotation")
        })
        .await;
    // Nothing of it is deleted meanwhile.
    assert_eq!(stage.values(&namespace).await, ["1"]);
    stage.admin.patch(&xr, &paused(Value::Null)).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&xr).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

#[tokio::test]
async fn what_is_created_in_the_place_of_a_composed_object_is_left() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/shop", orders(&namespace));
    let values = json!({"db": "1", "app": "2"});
    stage.create(&orders(&namespace), &order("shop", &values)).await;
    stage.ready(&path).await;
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let (db, app) = (format!("{maps}/shop-db"), format!("{maps}/shop-app"));
    for path in [&db, &app] {
        let held = hold(&json!(["test/held"]));
        stage.admin.patch(path, &held).await.unwrap();
    }
    stage.admin.delete(&path).await.unwrap();
    stage
        .object(&db, |map| !map["metadata"]["deletionTimestamp"].is_null())
        .await;
    stage.admin.patch(&db, &hold(&Value::Null)).await.unwrap();
    let successor = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shop-db"}});
    let uid = stage.create(&maps, &successor).await["metadata"]["uid"].clone();
    let counts_it_no_more = |order: &Value| {
        let words = "1 of 2 composed resources remain: ConfigMap \"one/shop-app\"";
        says(order, "Ready", words)
    };
    stage.object(&path, counts_it_no_more).await;
    stage.admin.patch(&app, &hold(&Value::Null)).await.unwrap();
    stage.gone(&path).await;
    let left = "Left 1 of 2 objects that it referred to: ConfigMap \"one/shop-db\", which nobody controls";
    tells_what_it_left(&stage, left).await;
    bridge.rests().await;
    let left = stage.admin.get(&db).await.unwrap();
    assert_eq!(left["metadata"]["uid"], uid);
    assert_eq!(left["metadata"]["deletionTimestamp"], Value::Null);
    bridge.end().await;
}

fn another_owner() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "name": "owner", "controller": true,
        "uid": "4e2b56f2-2f6f-4b16-9b58-6a2f4d3a5c11",
    })
}

#[tokio::test]
async fn what_another_owner_took_over_is_left() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/shop", orders(&namespace));
    stage
        .create(
            &orders(&namespace),
            &order("shop", &json!({"db": "1", "app": "2"})),
        )
        .await;
    stage.ready(&path).await;
    // So that it is taken over before the deletion begins.
    let paused = |value: Value| json!({"metadata": {"annotations": {"crossplane.io/paused": value}}});
    stage.admin.patch(&path, &paused(json!("true"))).await.unwrap();
    stage.condition(&path, "Synced", "ReconcilePaused").await;
    stage.admin.delete(&path).await.unwrap();
    let taken = json!({"metadata": {"ownerReferences": [another_owner()]}});
    let db = format!("/api/v1/namespaces/{namespace}/configmaps/shop-db");
    let uid = stage.admin.patch(&db, &taken).await.unwrap()["metadata"]["uid"].clone();
    stage.admin.patch(&path, &paused(Value::Null)).await.unwrap();
    stage.gone(&path).await;
    let left =
        "Left 1 of 2 objects that it referred to: ConfigMap \"one/shop-db\", which Secret \"owner\" controls";
    tells_what_it_left(&stage, left).await;
    bridge.rests().await;
    let left = stage.admin.get(&db).await.unwrap();
    assert_eq!(left["metadata"]["uid"], uid);
    assert_eq!(left["metadata"]["deletionTimestamp"], Value::Null);
    assert_eq!(stage.values(&namespace).await, ["1"]);
    bridge.end().await;
}

#[tokio::test]
async fn what_gets_another_owner_or_none_while_it_is_deleted_is_waited_for_no_more() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/shop", orders(&namespace));
    let values = json!({"db": "1", "app": "2"});
    stage.create(&orders(&namespace), &order("shop", &values)).await;
    stage.ready(&path).await;
    let object = |name: &str| format!("/api/v1/namespaces/{namespace}/configmaps/shop-{name}");
    let (db, app) = (object("db"), object("app"));
    for path in [&db, &app] {
        let held = hold(&json!(["test/held"]));
        stage.admin.patch(path, &held).await.unwrap();
    }
    stage.admin.delete(&path).await.unwrap();
    for path in [&db, &app] {
        stage
            .object(path, |map| !map["metadata"]["deletionTimestamp"].is_null())
            .await;
    }
    let waits_for_both = |order: &Value| {
        says(
            order,
            "Ready",
            "2 of 2 composed resources remain: ConfigMap \"one/shop-app\"",
        )
    };
    stage.object(&path, waits_for_both).await;
    let orphaned = json!({"metadata": {"ownerReferences": null}});
    let uid = stage.admin.patch(&db, &orphaned).await.unwrap()["metadata"]["uid"].clone();
    let waits_for_one = |order: &Value| {
        says(
            order,
            "Ready",
            "1 of 2 composed resources remain: ConfigMap \"one/shop-app\"",
        )
    };
    stage.object(&path, waits_for_one).await;
    let owned = json!({"metadata": {"ownerReferences": [another_owner()]}});
    stage.admin.patch(&app, &owned).await.unwrap();
    stage.gone(&path).await;
    let left = "Left 2 of 2 objects that it referred to: ConfigMap \"one/shop-app\", which Secret \"owner\" controls, ConfigMap \"one/shop-db\", \
                which nobody controls";
    tells_what_it_left(&stage, left).await;
    // It goes when who holds it lets it go.
    assert_eq!(stage.admin.get(&db).await.unwrap()["metadata"]["uid"], uid);
    for path in [&db, &app] {
        stage.admin.patch(path, &hold(&Value::Null)).await.unwrap();
        stage.gone(path).await;
    }
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}
