//! Usages that a composite resource composes.

use super::*;

/// An order that composes `db`, `app` and a usage between them, by a function that is steered by its values.
async fn composed(by: &str) -> (Stage, Bridge, String, String) {
    let (stage, bridge, namespace) = begin().await;
    stage.define().await;
    let path = format!("{}/shop", orders(&namespace));
    let values = json!({"db": "1", "app": "1", "usage": by});
    stage.create(&orders(&namespace), &order("shop", &values)).await;
    stage.ready(&path).await;
    let usage = format!("{}/shop-usage", usages(&namespace));
    ready(&stage, &usage).await;
    (stage, bridge, namespace, path)
}

#[tokio::test]
async fn a_decomposed_usage_goes_though_what_uses_the_resource_lives() {
    let (stage, bridge, namespace, path) = composed("app").await;
    let change = json!({"spec": {"values": {"usage": null}}});
    stage.admin.patch(&path, &change).await.unwrap();
    stage.gone(&format!("{}/shop-usage", usages(&namespace))).await;
    stage
        .admin
        .get(&format!("{}/shop-app", maps(&namespace)))
        .await
        .unwrap();
    let db = stage
        .admin
        .get(&format!("{}/shop-db", maps(&namespace)))
        .await
        .unwrap();
    assert!(!is_in_use(&db));
    bridge.end().await;
}

#[tokio::test]
async fn under_the_deletion_of_its_composite_resource_a_usage_outlives_what_uses() {
    let (stage, bridge, namespace, path) = composed("app").await;
    let (db, app) = (
        format!("{}/shop-db", maps(&namespace)),
        format!("{}/shop-app", maps(&namespace)),
    );
    let usage = format!("{}/shop-usage", usages(&namespace));
    stage
        .admin
        .patch(&app, &hold(&json!(["test/held"])))
        .await
        .unwrap();
    stage.admin.delete(&path).await.unwrap();
    stage.condition(&usage, "Ready", "Deleting").await;
    // Not what it uses: that waits for it, and goes by itself.
    let blocked = stage.condition(&path, "DeletionBlocked", "Finalizers").await;
    let said = message(&blocked, "DeletionBlocked");
    assert!(
        said.starts_with("ConfigMap \"one/shop-app\" is being deleted since "),
        "{said}"
    );
    let held = stage.admin.get(&db).await.unwrap();
    assert_eq!(
        (is_in_use(&held), &held["metadata"]["deletionTimestamp"]),
        (true, &Value::Null)
    );
    let waits = r#"Waiting for the using resource (which is a "ConfigMap" named "shop-app") to be deleted."#;
    stage.event(&namespace, "WaitingUsingDeleted", waits).await;
    stage.admin.patch(&app, &hold(&Value::Null)).await.unwrap();
    for path in [&usage, &db, &path] {
        stage.gone(path).await;
    }
    bridge.end().await;
}

#[tokio::test]
async fn a_usage_by_its_own_composite_resource_holds_nothing_up() {
    let (stage, bridge, namespace, path) = composed("parent").await;
    let db = format!("{}/shop-db", maps(&namespace));
    let app = format!("{}/shop-app", maps(&namespace));
    stage
        .admin
        .patch(&app, &hold(&json!(["test/held"])))
        .await
        .unwrap();
    stage.admin.delete(&path).await.unwrap();
    stage
        .object(&app, |app| !app["metadata"]["deletionTimestamp"].is_null())
        .await;
    bridge.rests().await;
    let usage = stage
        .admin
        .get(&format!("{}/shop-usage", usages(&namespace)))
        .await
        .unwrap();
    assert_eq!(
        usage["metadata"]["deletionTimestamp"],
        Value::Null,
        "it goes last"
    );
    assert!(is_in_use(&stage.admin.get(&db).await.unwrap()));
    stage.admin.patch(&app, &hold(&Value::Null)).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&db).await;
    bridge.end().await;
}

#[tokio::test]
async fn what_is_in_use_is_not_decomposed_before_its_usage_goes() {
    let (stage, bridge, namespace, path) = composed("app").await;
    let db = format!("{}/shop-db", maps(&namespace));
    let change = json!({"spec": {"values": {"db": null}}});
    stage.admin.patch(&path, &change).await.unwrap();
    let stays = |order: &Value| {
        message(order, "Synced").contains("stays as long as it is in use by Usage one/shop-usage")
    };
    stage.object(&path, stays).await;
    stage.admin.get(&db).await.unwrap();
    let change = json!({"spec": {"values": {"usage": null}}});
    stage.admin.patch(&path, &change).await.unwrap();
    stage.gone(&db).await;
    bridge.end().await;
}
