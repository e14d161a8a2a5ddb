//! Names that are still being deleted: nothing is created beside them.

use serde_json::{Value, json};

use super::stage::{Bridge, Stage, order, orders};

async fn composed(stage: &Stage) -> Vec<Value> {
    let maps = "/api/v1/namespaces/one/configmaps?labelSelector=crossplane.io/composite";
    let list = stage.admin.get(maps).await.unwrap();
    list["items"].as_array().unwrap().clone()
}

/// Waits until `Synced` says so.
async fn says(stage: &Stage, path: &str, words: &str) {
    let says = |order: &Value| {
        let conditions = order["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|one| {
            let message = one["message"].as_str().unwrap_or_default();
            one["type"] == "Synced" && one["status"] == "False" && message.contains(words)
        })
    };
    stage.object(path, says).await;
}

#[tokio::test]
async fn names_that_are_being_deleted_are_waited_for() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "outside:x"})))
        .await;
    stage.ready(&path).await;

    // Its own name, deleted by a person.
    let map_path = |map: &Value| {
        let name = map["metadata"]["name"].as_str().unwrap();
        format!("/api/v1/namespaces/one/configmaps/{name}")
    };
    let hold = json!({"metadata": {"finalizers": ["example.org/hold"]}});
    let let_go = json!({"metadata": {"finalizers": null}});
    let first = composed(&stage).await.remove(0);
    let uid = |map: &Value| map["metadata"]["uid"].as_str().unwrap().to_owned();
    stage.admin.patch(&map_path(&first), &hold).await.unwrap();
    stage.admin.delete(&map_path(&first)).await.unwrap();
    let words = format!("(uid {}) is being deleted since ", uid(&first));
    says(&stage, &path, &words).await;
    stage.admin.patch(&map_path(&first), &let_go).await.unwrap();
    stage.ready(&path).await;
    let second = composed(&stage).await.remove(0);
    assert_eq!(map_path(&second), map_path(&first));
    assert_ne!(uid(&second), uid(&first));

    // Its external name, under another composition resource name.
    stage.admin.patch(&map_path(&second), &hold).await.unwrap();
    let renamed = json!({"spec": {"values": {"first": null, "other": "outside:x"}}});
    stage.admin.patch(&path, &renamed).await.unwrap();
    let words = format!("(uid {}) is gone, which has the same external name", uid(&second));
    says(&stage, &path, &words).await;
    let left: Vec<String> = composed(&stage).await.iter().map(uid).collect();
    assert_eq!(left, [uid(&second)]);
    stage.admin.patch(&map_path(&second), &let_go).await.unwrap();
    stage.ready(&path).await;
    let third = composed(&stage).await;
    assert_eq!(third.len(), 1);
    assert_ne!(map_path(&third[0]), map_path(&first));
    bridge.end().await;
}
