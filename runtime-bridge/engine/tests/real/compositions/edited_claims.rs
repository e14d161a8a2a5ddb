//! Claims that a person edits or deletes while something speaks against it.

use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite, composite_of},
    stage::{Bridge, GROUP, Stage},
};

async fn composites(stage: &Stage) -> usize {
    let all = stage
        .admin
        .get(&format!("/apis/{GROUP}/v1/xpurchases"))
        .await
        .unwrap();
    all["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_claim_keeps_its_composite_resource_whatever_it_is_made_to_name() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let reference = stage.ready(&path).await["spec"]["resourceRef"].clone();
    let other = json!({"apiVersion": reference["apiVersion"], "kind": reference["kind"], "name": "another"});
    for named in [other.clone(), Value::Null] {
        let edited = stage
            .admin
            .patch(&path, &json!({"spec": {"resourceRef": named}}))
            .await
            .unwrap();
        let set_back = |claim: &Value| {
            claim["metadata"]["resourceVersion"] != edited["metadata"]["resourceVersion"]
                && claim["spec"]["resourceRef"] == reference
        };
        stage.object(&path, set_back).await;
        bridge.rests().await;
        assert_eq!(composites(&stage).await, 1);
    }
    // In the midst of its end, too.
    stage.admin.patch(&path, &json!({"metadata": {"finalizers": ["test.example.org/hold", "finalizer.apiextensions.crossplane.io"]}})).await.unwrap();
    stage.admin.delete(&path).await.unwrap();
    stage
        .admin
        .patch(&path, &json!({"spec": {"resourceRef": other}}))
        .await
        .unwrap();
    stage.gone(&composite(reference["name"].as_str().unwrap())).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    // Nobody touches the claim: the bridge comes back to it by itself.
    let is_let_go = |claim: &Value| claim["metadata"]["finalizers"] == json!(["test.example.org/hold"]);
    stage.object(&path, is_let_go).await;
    stage
        .admin
        .patch(&path, &json!({"metadata": {"finalizers": null}}))
        .await
        .unwrap();
    stage.gone(&path).await;
    assert_eq!(composites(&stage).await, 0);
    bridge.end().await;
}

/// A usage of this composite resource. Answers its path.
pub async fn keep(stage: &Stage, composite: &str) -> String {
    let (_, name) = composite.rsplit_once('/').unwrap();
    let usages = "/apis/protection.crossplane.io/v1beta1/clusterusages";
    let usage = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "ClusterUsage", "metadata": {"name": "keep"},
        "spec": {
            "of": {"apiVersion": "shop.example.org/v1", "kind": "XPurchase", "resourceRef": {"name": name}},
            "reason": "why",
        },
    });
    stage.create(usages, &usage).await;
    let usage = format!("{usages}/keep");
    stage.condition(&usage, "Ready", "Available").await;
    usage
}

#[tokio::test]
async fn a_claim_waits_for_the_end_of_what_uses_its_composite_resource() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let made = composite_of(&stage.ready(&path).await);
    let usage = keep(&stage, &made).await;
    stage.admin.delete(&path).await.unwrap();
    let blocked = stage.condition(&path, "DeletionBlocked", "InUse").await;
    let conditions = blocked["status"]["conditions"].as_array().unwrap();
    for type_ in ["Ready", "DeletionBlocked"] {
        let condition = conditions
            .iter()
            .find(|condition| condition["type"] == type_)
            .unwrap();
        let message = condition["message"].as_str().unwrap();
        assert!(message.contains("is in use by ClusterUsage keep"), "{message}");
    }
    bridge.rests().await;
    assert_eq!(
        stage.admin.get(&made).await.unwrap()["metadata"]["deletionTimestamp"],
        Value::Null
    );
    stage.admin.delete(&usage).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&made).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_label_that_no_usage_holds_keeps_no_claim() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let made = composite_of(&stage.ready(&path).await);
    let label = json!({"metadata": {"labels": {"crossplane.io/in-use": "true"}}});
    stage.admin.patch(&made, &label).await.unwrap();
    bridge.rests().await;
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&made).await;
    bridge.end().await;
}
