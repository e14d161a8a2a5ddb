//! What the garbage collector deletes since its owner is gone, and what people delete by kind.

use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite_of},
    collector::{begin, kubectl},
    stage::{GROUP, Stage, crd_path, definition_path, order, orders},
    usages::{app_uses_db, is_in_use, map, maps, named, usage, usages},
};

/// Puts a finalizer on all composed objects of a namespace, or takes it off.
async fn hold_all(stage: &Stage, namespace: &str, finalizers: &Value) {
    let path = format!("{}?labelSelector=crossplane.io/composite", maps(namespace));
    let all = stage.admin.get(&path).await.unwrap();
    for one in all["items"].as_array().unwrap() {
        let path = format!(
            "{}/{}",
            maps(namespace),
            one["metadata"]["name"].as_str().unwrap()
        );
        let change = json!({"metadata": {"finalizers": finalizers}});
        stage.admin.patch(&path, &change).await.unwrap();
    }
}

/// Waits until its `Ready` names so many objects that are left.
async fn remain(stage: &Stage, path: &str, words: &str) {
    let says_so = |object: &Value| {
        let mut conditions = object["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|one| {
            let message = one["message"].as_str().unwrap_or_default();
            one["type"] == "Ready" && one["reason"] == "Deleting" && message.starts_with(words)
        })
    };
    stage.object(path, says_so).await;
}

/// The collector learns of new kinds each 30 s, so that `kubectl` waits for it.
#[tokio::test]
async fn what_a_user_gave_an_owner_ends_when_that_goes() {
    let (stage, bridge) = begin().await;
    stage.define().await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("owned").await;
    let owner = stage.create(&maps(&namespace), &map("owner")).await;
    let references = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
    }]);
    let mut wanted = claim("a", &json!({"first": "1"}));
    let mut ordered = order("b", &json!({"second": "2"}));
    for owned in [&mut wanted, &mut ordered] {
        owned["metadata"]["ownerReferences"] = references.clone();
    }
    stage.create(&claims(&namespace), &wanted).await;
    stage.create(&orders(&namespace), &ordered).await;
    let (claimed, path) = (
        format!("{}/a", claims(&namespace)),
        format!("{}/b", orders(&namespace)),
    );
    let xr = composite_of(&stage.ready(&claimed).await);
    let made = stage.ready(&path).await;
    assert_eq!(made["metadata"]["ownerReferences"], references);
    hold_all(&stage, &namespace, &json!(["test/held"])).await;
    stage
        .admin
        .delete(&format!("{}/owner", maps(&namespace)))
        .await
        .unwrap();
    for what in ["purchase/a", "order/b"] {
        let reason = "--for=jsonpath={.status.conditions[?(@.type==\"Ready\")].reason}=Deleting";
        kubectl(&stage, &["wait", what, "-n", &namespace, reason, "--timeout=90s"]).await;
    }
    for path in [&claimed, &xr, &path] {
        remain(
            &stage,
            path,
            "1 of 1 composed resources remain: ConfigMap \"owned/",
        )
        .await;
    }
    hold_all(&stage, &namespace, &Value::Null).await;
    for path in [&claimed, &xr, &path] {
        stage.gone(path).await;
    }
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}

#[tokio::test]
async fn all_claims_and_all_usages_end_by_one_command() {
    let (stage, bridge) = begin().await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("collected").await;
    let all = |kind: &'static str| ["delete", kind, "--all", "-n", "collected", "--timeout=60s"];
    for name in ["a", "b", "c"] {
        let wanted = claim(name, &json!({"value": name}));
        stage.create(&claims(&namespace), &wanted).await;
    }
    for name in ["a", "b", "c"] {
        stage.ready(&format!("{}/{name}", claims(&namespace))).await;
    }
    assert_eq!(stage.values(&namespace).await, ["a", "b", "c"]);
    let said = kubectl(&stage, &all("purchases")).await;
    for name in ["a", "b", "c"] {
        let line = format!("purchase.{GROUP} \"{name}\" deleted");
        assert!(said.contains(&line), "{said}");
    }
    let left = stage.admin.get(&format!("/apis/{GROUP}/v1/xpurchases")).await;
    assert_eq!(left.unwrap()["items"], json!([]));
    assert_eq!(stage.values(&namespace).await, [""; 0]);

    for name in ["db", "app"] {
        stage.create(&maps(&namespace), &map(name)).await;
    }
    let kept = usage("kept", &json!({"of": named("app"), "reason": "kept by hand"}));
    for one in [&app_uses_db(), &kept] {
        stage.create(&usages(&namespace), one).await;
    }
    for name in ["protect-db", "kept"] {
        let path = format!("{}/{name}", usages(&namespace));
        stage.condition(&path, "Ready", "Available").await;
    }
    kubectl(&stage, &all("usages.protection.crossplane.io")).await;
    for name in ["db", "app"] {
        let left = stage.admin.get(&format!("{}/{name}", maps(&namespace))).await;
        assert!(!is_in_use(&left.unwrap()), "{name}");
    }
    bridge.end().await;
}

/// Its definition stays, and defines it again.
#[tokio::test]
async fn a_crd_that_kubectl_deletes_goes_after_its_orders() {
    let (stage, bridge) = begin().await;
    stage.define().await;
    let namespace = stage.admin.namespace("defined").await;
    let path = format!("{}/a", orders(&namespace));
    let wanted = order("a", &json!({"first": "1", "second": "2"}));
    stage.create(&orders(&namespace), &wanted).await;
    stage.ready(&path).await;
    let uid = stage.admin.get(&crd_path()).await.unwrap()["metadata"]["uid"].clone();
    hold_all(&stage, &namespace, &json!(["test/held"])).await;
    let crd = format!("orders.{GROUP}");
    kubectl(&stage, &["delete", "crd", &crd, "--wait=false"]).await;
    remain(
        &stage,
        &path,
        "2 of 2 composed resources remain: ConfigMap \"defined/",
    )
    .await;
    let is_terminating = |crd: &Value| !crd["metadata"]["deletionTimestamp"].is_null();
    stage.object(&crd_path(), is_terminating).await;
    hold_all(&stage, &namespace, &Value::Null).await;
    let is_new = |crd: &Value| crd["metadata"]["uid"] != uid;
    stage.object(&crd_path(), is_new).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    stage
        .condition(&definition_path(), "Established", "WatchingCompositeResource")
        .await;
    let again = order("a", &json!({"first": "again"}));
    stage.create(&orders(&namespace), &again).await;
    stage.ready(&path).await;
    assert_eq!(stage.values(&namespace).await, ["again"]);
    bridge.end().await;
}
