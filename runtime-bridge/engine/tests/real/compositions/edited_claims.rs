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
    let stage = Stage::new().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.install().await;
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

#[tokio::test]
async fn a_claim_waits_for_the_end_of_what_uses_its_composite_resource() {
    let stage = Stage::new().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.install().await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let made = composite_of(&stage.ready(&path).await);
    let label = |value: Value| json!({"metadata": {"labels": {"crossplane.io/in-use": value}}});
    stage.admin.patch(&made, &label(json!("true"))).await.unwrap();
    bridge.rests().await;
    stage.admin.delete(&path).await.unwrap();
    let says_so = |claim: &Value| {
        let conditions = claim["status"]["conditions"].as_array().into_iter().flatten();
        conditions.clone().any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            condition["reason"] == "Deleting"
                && message.contains("is in use: it is deleted once no usage of it is left")
        })
    };
    stage.object(&path, says_so).await;
    bridge.rests().await;
    assert_eq!(
        stage.admin.get(&made).await.unwrap()["metadata"]["deletionTimestamp"],
        Value::Null
    );
    stage.admin.patch(&made, &label(Value::Null)).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&made).await;
    bridge.end().await;
}
