//! The scenarios of endings, by their names in docs/reliability.md. What one of them leaves to other tests is listed there.

use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite_of},
    crd_path, definition_path, order, orders,
    stage::{Bridge, Stage},
};
use crate::harness::within;

fn says(object: &Value, type_: &str, reason: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == type_ && condition["reason"] == reason)
}

fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

fn maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// Composed objects as they are.
async fn composed(stage: &Stage, namespace: &str) -> Vec<Value> {
    let path = format!("{}?labelSelector=crossplane.io/composite", maps(namespace));
    let list = stage.admin.get(&path).await.unwrap();
    list["items"].as_array().unwrap().clone()
}

/// Puts a finalizer on the first composed object, or takes it off; the path of it.
pub(super) async fn hold(stage: &Stage, namespace: &str, is_held: bool) -> String {
    let all = composed(stage, namespace).await;
    let path = format!(
        "{}/{}",
        maps(namespace),
        all[0]["metadata"]["name"].as_str().unwrap()
    );
    let finalizers = if is_held {
        json!(["test.example.org/held"])
    } else {
        Value::Null
    };
    let change = json!({"metadata": {"finalizers": finalizers}});
    stage.admin.patch(&path, &change).await.unwrap();
    path
}

/// An order of two objects, one of which is held.
async fn held_order(stage: &Stage) -> (String, String) {
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    let wanted = order("a", &json!({"first": "1", "second": "2"}));
    stage.create(&orders(&namespace), &wanted).await;
    stage.ready(&path).await;
    hold(stage, &namespace, true).await;
    (namespace, path)
}

async fn begin() -> (Stage, Bridge) {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    (stage, bridge)
}

mod visible_deletion {
    use super::*;

    #[tokio::test]
    async fn a_claim_and_its_composite_resource_say_deleting_before_anything_goes() {
        let (stage, bridge) = begin().await;
        stage.define_claimed().await;
        let namespace = stage.admin.namespace("one").await;
        let path = format!("{}/a", claims(&namespace));
        let wanted = claim("a", &json!({"first": "1", "second": "2"}));
        stage.create(&claims(&namespace), &wanted).await;
        let xr = composite_of(&stage.ready(&path).await);
        hold(&stage, &namespace, true).await;
        let whole = composed(&stage, &namespace).await.len();
        stage.admin.delete(&path).await.unwrap();
        let began = std::time::Instant::now();
        let mut is_told = false;
        // In this order: what is read later may only be further.
        let sampled = async {
            loop {
                let below = composed(&stage, &namespace).await;
                let composite = stage.admin.get(&xr).await.unwrap();
                let claim = stage.admin.get(&path).await.unwrap();
                let has_begun = below.len() < whole || below.iter().any(is_deleting);
                assert!(
                    !has_begun || says(&composite, "Ready", "Deleting"),
                    "{composite:#}"
                );
                assert!(
                    !is_deleting(&composite) || says(&claim, "Ready", "Deleting"),
                    "{claim:#}"
                );
                is_told |= says(&claim, "Ready", "Deleting");
                let took = began.elapsed();
                assert!(
                    is_told || took < std::time::Duration::from_secs(1),
                    "{took:?}: {claim:#}"
                );
                if has_begun {
                    return;
                }
                // The first sample was taken at once.
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
        };
        within(sampled).await;
        hold(&stage, &namespace, false).await;
        stage.gone(&path).await;
        stage.gone(&xr).await;
        bridge.end().await;
    }
}

mod overdue_and_released {
    use super::*;

    #[tokio::test]
    async fn what_is_overdue_says_so_and_can_be_released() {
        let (stage, bridge) = begin().await;
        stage.define().await;
        let (namespace, path) = held_order(&stage).await;
        let deadline = json!({"metadata": {"annotations": {"crossbridge.dev/deletion-deadline": "1s"}}});
        stage.admin.patch(&path, &deadline).await.unwrap();
        stage.admin.delete(&path).await.unwrap();
        let overdue = stage
            .condition(&path, "DeletionOverdue", "DeadlineExceeded")
            .await;
        // Nothing is given up.
        assert_eq!(composed(&stage, &namespace).await.len(), 1);
        let later = json!({"metadata": {"annotations": {"crossbridge.dev/deletion-deadline": "1h"}}});
        stage.admin.patch(&path, &later).await.unwrap();
        stage
            .condition(&path, "DeletionOverdue", "DeadlineExtended")
            .await;
        // Of another one nothing is released.
        let release = |what: String| json!({"metadata": {"annotations": {"crossbridge.dev/release": what}}});
        stage
            .admin
            .patch(&path, &release("all/somebody".to_owned()))
            .await
            .unwrap();
        bridge.rests().await;
        stage.admin.get(&path).await.unwrap();
        let all = format!("all/{}", overdue["metadata"]["uid"].as_str().unwrap());
        stage.admin.patch(&path, &release(all)).await.unwrap();
        stage.gone(&path).await;
        let left = stage.admin.get(&maps(&namespace)).await.unwrap();
        let left = left["items"].as_array().unwrap().iter();
        let held: Vec<&Value> = left
            .filter(|map| !map["metadata"]["finalizers"].is_null())
            .collect();
        assert_eq!(held.len(), 1);
        assert_eq!(held[0]["metadata"]["ownerReferences"], Value::Null);
        bridge.end().await;
    }
}

mod definition_deleted {
    use super::*;

    #[tokio::test]
    async fn a_crd_that_is_deleted_by_hand_ends_with_its_definition() {
        let (stage, bridge) = begin().await;
        stage.define().await;
        let (namespace, path) = held_order(&stage).await;
        stage.admin.delete(&crd_path()).await.unwrap();
        stage.object(&path, is_deleting).await;
        stage.condition(&path, "Ready", "Deleting").await;
        stage.admin.delete(&definition_path()).await.unwrap();
        stage
            .condition(&definition_path(), "Established", "TerminatingCompositeResource")
            .await;
        hold(&stage, &namespace, false).await;
        stage.gone(&path).await;
        stage.gone(&definition_path()).await;
        stage.gone(&crd_path()).await;
        assert_eq!(stage.values(&namespace).await, [""; 0]);
        bridge.end().await;
    }
}

mod bridge_away {
    use super::*;

    #[tokio::test]
    async fn what_is_deleted_while_no_bridge_runs_waits_for_the_next_one() {
        let (stage, bridge) = begin().await;
        stage.define().await;
        let (namespace, path) = held_order(&stage).await;
        bridge.end().await;
        stage.admin.delete(&path).await.unwrap();
        stage.admin.delete(&definition_path()).await.unwrap();
        let (waiting, below) = (
            stage.admin.get(&path).await.unwrap(),
            composed(&stage, &namespace).await,
        );
        assert!(is_deleting(&waiting) && below.len() == 2 && !below.iter().any(is_deleting));
        let bridge = Bridge::start(&stage.plane).await;
        stage.condition(&path, "Ready", "Deleting").await;
        hold(&stage, &namespace, false).await;
        for path in [&path, &definition_path(), &crd_path()] {
            stage.gone(path).await;
        }
        assert_eq!(stage.values(&namespace).await, [""; 0]);
        bridge.end().await;
    }
}
