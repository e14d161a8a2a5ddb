//! A label that outlives its usage.

use bridge_engine::{lease::Leadership, protection::UsageGuard};
use serde_json::{Value, json};

use super::{GuardStage, MAPS, SYSTEM, options, proved, webhook::USAGES};
use crate::compositions::stage::{Bridge, Stage};

fn named(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": name}})
}

fn finalizers(finalizers: &Value) -> Value {
    json!({"metadata": {"finalizers": finalizers}})
}

/// Its finalizer is taken off while it waits for what uses the resource, as people do with what does not go.
#[tokio::test]
async fn the_refusal_of_a_stale_label_has_the_command_that_takes_it_off() {
    let stage = Stage::bare().await;
    stage.install().await;
    for namespace in [SYSTEM, "shop"] {
        stage.admin.namespace(namespace).await;
    }
    let bridge = Bridge::start(&stage.plane).await;
    let guard = UsageGuard::policy(&bridge.engine, options(Leadership::unopposed()));
    proved(&guard).await;
    for name in ["db", "app"] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        stage.create(MAPS, &map).await;
    }
    let (db, app, usage) = (
        format!("{MAPS}/db"),
        format!("{MAPS}/app"),
        format!("{USAGES}/protect-db"),
    );
    let protect = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": {"name": "protect-db"},
        "spec": {"of": named("db"), "by": named("app")},
    });
    stage.create(USAGES, &protect).await;
    stage.condition(&usage, "Ready", "Available").await;
    let held = finalizers(&json!(["test/held"]));
    stage.admin.patch(&app, &held).await.unwrap();
    for path in [&app, &usage] {
        stage.admin.delete(path).await.unwrap();
    }
    stage.condition(&usage, "Ready", "Deleting").await;
    stage
        .admin
        .patch(&usage, &finalizers(&Value::Null))
        .await
        .unwrap();
    stage.gone(&usage).await;
    stage.admin.patch(&app, &finalizers(&Value::Null)).await.unwrap();
    stage.gone(&app).await;
    bridge.rests().await;

    let Stage { admin, plane } = stage;
    let stage = GuardStage { admin, plane };
    let deletion = ["delete", "configmap", "db", "-n", "shop"];
    let refused = stage.kubectl(&deletion).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success(), "{said}");
    let expected = "in-use by Usage shop/protect-db: ConfigMap/app uses ConfigMap/db. Delete what uses it, or its usage, first. \
        If there is no such usage, take the label off: kubectl label configmaps db -n shop crossplane.io/in-use-";
    assert!(said.trim_end().ends_with(expected), "{said}");
    assert!(stage.admin.get(&db).await.is_ok());

    let words: Vec<&str> = expected.split("kubectl ").nth(1).unwrap().split(' ').collect();
    let unlabelled = stage.kubectl(&words).await;
    assert!(unlabelled.status.success(), "{unlabelled:?}");
    let deleted = stage.kubectl(&deletion).await;
    assert!(deleted.status.success(), "{deleted:?}");
    drop(guard);
    bridge.end().await;
}
