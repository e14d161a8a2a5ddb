//! Usages whose using resource is of a kind that is not served.

use super::*;

/// `db`, and a usage of it by the bucket of an own kind.
async fn used_by(api_version: &str) -> (Stage, Bridge, String, String, String) {
    let (stage, bridge, namespace) = begin().await;
    stage.create(&maps(&namespace), &map("db")).await;
    let by = json!({"apiVersion": api_version, "kind": "Bucket", "resourceRef": {"name": "b"}});
    let protect = usage("protect", &json!({"of": named("db"), "by": by}));
    stage.create(&usages(&namespace), &protect).await;
    let (path, db) = (
        format!("{}/protect", usages(&namespace)),
        format!("{}/db", maps(&namespace)),
    );
    (stage, bridge, namespace, path, db)
}

#[tokio::test]
async fn a_usage_by_an_unknown_kind_says_so_and_protects_nothing() {
    let (stage, bridge, _, path, db) = used_by("none.example.org/v1").await;
    let missing = stage.condition(&path, "Ready", "ResourceNotFound").await;
    assert_eq!(
        message(&missing, "Ready"),
        "cannot get using resource: the cluster does not serve Bucket in none.example.org/v1"
    );
    assert!(!is_in_use(&stage.admin.get(&db).await.unwrap()));
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_usage_by_a_kind_that_goes_away_protects_until_it_is_deleted() {
    let kind = crate::admin::TestKind::new();
    let (stage, bridge, namespace, path, db) = used_by(&kind.api.api_version()).await;
    stage.condition(&path, "Ready", "ResourceNotFound").await;
    stage.create(crate::admin::DEFINITIONS, &kind.definition()).await;
    stage
        .create(&kind.collection(&namespace), &kind.bucket("b"))
        .await;
    ready(&stage, &path).await;
    assert!(is_in_use(&stage.admin.get(&db).await.unwrap()));
    stage.admin.delete(&kind.path()).await.unwrap();
    stage.gone(&kind.path()).await;
    bridge.rests().await;
    // It is not known whether anything uses the resource any more: that is for a person to say.
    ready(&stage, &path).await;
    let used = stage.admin.get(&db).await.unwrap();
    assert!(is_in_use(&used));
    let by = &used["metadata"]["annotations"]["crossbridge.dev/in-use-by"];
    assert_eq!(by, "Usage one/protect: Bucket/b uses ConfigMap/db");
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    assert!(!is_in_use(&stage.admin.get(&db).await.unwrap()));
    bridge.end().await;
}

#[tokio::test]
async fn a_using_resource_that_is_named_while_no_bridge_runs_is_waited_for() {
    let (stage, bridge, namespace) = begin().await;
    for name in ["db", "app"] {
        stage.create(&maps(&namespace), &map(name)).await;
    }
    let [db, app] = ["db", "app"].map(|name| format!("{}/{name}", maps(&namespace)));
    let path = format!("{}/protect", usages(&namespace));
    let protect = usage("protect", &json!({"of": named("db"), "reason": "kept"}));
    stage.create(&usages(&namespace), &protect).await;
    ready(&stage, &path).await;
    bridge.end().await;
    let held = hold(&json!(["test/held"]));
    stage.admin.patch(&app, &held).await.unwrap();
    let by = json!({"spec": {"by": named("app")}});
    stage.admin.patch(&path, &by).await.unwrap();
    stage.admin.delete(&path).await.unwrap();
    stage.admin.delete(&app).await.unwrap();
    let bridge = Bridge::start(&stage.plane).await;
    goes_once_released(&stage, &path, [&db, &app]).await;
    bridge.end().await;
}
