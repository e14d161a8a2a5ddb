//! The label of what is in use: who holds it, and that none is left.

use serde_json::{Value, json};

use super::{begin, is_in_use, map, maps, named, ready, usage, usages};
use crate::compositions::{count, stage::Bridge};

#[tokio::test]
async fn two_usages_share_a_label_and_the_last_takes_it_off() {
    let (stage, bridge, namespace) = begin().await;
    stage.create(&maps(&namespace), &map("db")).await;
    let path = |name: &str| format!("{}/{name}", usages(&namespace));
    for name in ["a", "b"] {
        let one = usage(name, &json!({"of": named("db"), "reason": name}));
        stage.create(&usages(&namespace), &one).await;
    }
    for name in ["a", "b"] {
        ready(&stage, &path(name)).await;
    }
    let db = format!("{}/db", maps(&namespace));
    let by = |text: &'static str| {
        move |db: &Value| db["metadata"]["annotations"]["crossbridge.dev/in-use-by"] == text
    };
    stage.object(&db, by("Usage one/a: a (and 1 more)")).await;
    stage.admin.delete(&path("a")).await.unwrap();
    stage.gone(&path("a")).await;
    let left = stage.object(&db, by("Usage one/b: b")).await;
    assert!(is_in_use(&left));
    stage.admin.delete(&path("b")).await.unwrap();
    stage.gone(&path("b")).await;
    stage.object(&db, |db| !is_in_use(db)).await;
    // Both at once.
    for name in ["a", "b"] {
        let one = usage(name, &json!({"of": named("db"), "reason": name}));
        stage.create(&usages(&namespace), &one).await;
        ready(&stage, &path(name)).await;
    }
    stage.admin.delete(&usages(&namespace)).await.unwrap();
    for name in ["a", "b"] {
        stage.gone(&path(name)).await;
    }
    stage.object(&db, |db| !is_in_use(db)).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_usage_that_names_another_object_lets_the_former_one_go() {
    let (stage, bridge, namespace) = begin().await;
    for name in ["db", "new"] {
        stage.create(&maps(&namespace), &map(name)).await;
    }
    let path = format!("{}/a", usages(&namespace));
    let one = usage("a", &json!({"of": named("db"), "reason": "why"}));
    stage.create(&usages(&namespace), &one).await;
    ready(&stage, &path).await;
    let other = json!({"spec": {"of": {"resourceRef": {"name": "new"}}}});
    stage.admin.patch(&path, &other).await.unwrap();
    stage
        .object(&format!("{}/new", maps(&namespace)), is_in_use)
        .await;
    bridge.rests().await;
    let db = stage
        .admin
        .get(&format!("{}/db", maps(&namespace)))
        .await
        .unwrap();
    assert!(!is_in_use(&db), "{db:#}");
    // The label of both, and that of the former one taken off.
    assert_eq!(count(&bridge, "patch configmaps"), 3, "{:?}", bridge.writes());
    bridge.end().await;
}

/// A former bridge may have sent a write of the label that is still on its way.
#[tokio::test]
async fn what_a_former_bridge_has_sent_is_rejected_once_the_usage_is_gone() {
    let (stage, bridge, namespace) = begin().await;
    stage.create(&maps(&namespace), &map("db")).await;
    let (path, db) = (
        format!("{}/a", usages(&namespace)),
        format!("{}/db", maps(&namespace)),
    );
    let one = usage("a", &json!({"of": named("db"), "reason": "why"}));
    stage.create(&usages(&namespace), &one).await;
    ready(&stage, &path).await;
    bridge.end().await;
    // As if it had never been set.
    let bare = json!({"metadata": {"labels": null, "annotations": null}});
    let bare = stage.admin.patch(&db, &bare).await.unwrap();
    let version = bare["metadata"]["resourceVersion"].clone();
    stage.admin.delete(&path).await.unwrap();
    let bridge = Bridge::start(&stage.plane).await;
    stage.gone(&path).await;
    bridge.rests().await;
    assert_eq!(count(&bridge, "patch configmaps"), 2, "{:?}", bridge.writes());
    let late = json!({"metadata": {
        "resourceVersion": version,
        "labels": {"crossplane.io/in-use": "true"},
    }});
    let rejected = stage.admin.patch(&db, &late).await.unwrap_err();
    assert!(
        rejected.to_string().contains("the object has been modified"),
        "{rejected}"
    );
    assert!(!is_in_use(&stage.admin.get(&db).await.unwrap()));
    bridge.end().await;
}
