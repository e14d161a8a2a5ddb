//! A deletion that the webhook refused, and that is done in the end.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    GuardStage, MAPS, SYSTEM,
    policy::{becomes, gone},
    webhook::{ATTEMPT, USAGES, options},
};
use crate::{
    compositions::stage::{Bridge, Stage},
    harness::within,
};

#[tokio::test]
async fn what_the_webhook_refused_is_deleted_when_nothing_uses_it() {
    let stage = Stage::bare().await;
    stage.install().await;
    let Stage { admin, plane } = stage;
    let stage = GuardStage { admin, plane };
    for namespace in [SYSTEM, "shop"] {
        stage.admin.namespace(namespace).await;
    }
    let webhook = stage.webhook(options(0)).await;
    webhook.proved().await;
    let bridge = Bridge::start(&stage.plane).await;
    for name in ["db", "app"] {
        stage.map(name, false).await;
    }
    let of = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": name}});
    let usage = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": {"name": "protect"},
        "spec": {"of": of("db"), "by": of("app"), "replayDeletion": true},
    });
    within(async {
        while stage.admin.create(USAGES, &usage).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let usage = format!("{USAGES}/protect");
    becomes(&stage, &usage, |usage| {
        let conditions = usage["status"]["conditions"].as_array().into_iter().flatten();
        conditions
            .clone()
            .any(|one| one["type"] == "Ready" && one["status"] == "True")
    })
    .await;
    let db = format!("{MAPS}/db");
    within(async {
        // The webhook sees the usage within a moment.
        while stage.admin.try_delete(&db).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    stage.refusal("db").await;
    let noted = stage.admin.get(&db).await.unwrap();
    assert_eq!(noted["metadata"]["annotations"][ATTEMPT], "Background");
    assert_eq!(noted["metadata"]["ownerReferences"], Value::Null);

    stage.delete("app").await.unwrap();
    stage.admin.delete(&usage).await.unwrap();
    gone(&stage, &usage).await;
    gone(&stage, &db).await;
    bridge.end().await;
}
