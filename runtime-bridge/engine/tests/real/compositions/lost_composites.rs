//! Claims whose composite resource another one deletes.

use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite, composite_of, counted, since},
    endings::hold,
    stage::{Bridge, GROUP, Stage},
};

async fn claimed() -> (Stage, Bridge, String, String) {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let path = format!("{}/a", claims(&namespace));
    stage.ready(&path).await;
    (stage, bridge, namespace, path)
}

/// Uids of all composite resources.
async fn composites(stage: &Stage) -> Vec<Value> {
    let all = stage.admin.get(&format!("/apis/{GROUP}/v1/xpurchases")).await;
    let all = all.unwrap();
    let items = all["items"].as_array().unwrap().iter();
    items.map(|xr| xr["metadata"]["uid"].clone()).collect()
}

#[tokio::test]
async fn a_claim_gets_one_new_composite_resource_for_one_that_is_deleted() {
    let (stage, bridge, namespace, path) = claimed().await;
    bridge.rests().await;
    let before = bridge.writes();
    let made = stage.admin.get(&path).await.unwrap();
    let xr = composite_of(&made);
    let former = composites(&stage).await;
    hold(&stage, &namespace, true).await;
    stage.admin.delete(&xr).await.unwrap();
    let name = made["spec"]["resourceRef"]["name"].as_str().unwrap();
    let expected =
        format!("composite resource {name:?} is being deleted, and is created anew when it is gone");
    let says_so = |claim: &Value| {
        let mut conditions = claim["status"]["conditions"].as_array().into_iter().flatten();
        conditions.any(|one| {
            (&one["type"], &one["reason"], &one["message"])
                == (&json!("Ready"), &json!("Waiting"), &json!(expected))
        })
    };
    let waiting = stage.object(&path, says_so).await;
    assert_eq!(waiting["metadata"]["deletionTimestamp"], Value::Null);
    assert_eq!(composites(&stage).await, former);

    hold(&stage, &namespace, false).await;
    let is_new = |xr: &Value| !former.contains(&xr["metadata"]["uid"]);
    stage.object(&composite(name), is_new).await;
    let again = stage.ready(&path).await;
    assert_eq!(composite_of(&again), xr);
    bridge.rests().await;
    assert_eq!(composites(&stage).await.len(), 1);
    assert_eq!(stage.values(&namespace).await, ["1"]);
    let writes = since(&bridge, &before);
    assert_eq!(writes["create xpurchases"], 1, "{writes:?}");
    assert_eq!(writes["create configmaps"], 1, "{writes:?}");
    bridge.end().await;
}

#[tokio::test]
async fn a_composite_resource_deleted_by_force_is_created_anew() {
    let (stage, bridge, namespace, path) = claimed().await;
    bridge.end().await;
    let made = stage.admin.get(&path).await.unwrap();
    let former = composites(&stage).await;
    let xr = composite_of(&made);
    let unheld = json!({"metadata": {"finalizers": null}});
    stage.admin.patch(&xr, &unheld).await.unwrap();
    stage.admin.delete(&xr).await.unwrap();
    stage.gone(&xr).await;

    let bridge = Bridge::start(&stage.plane).await;
    let is_new = |xr: &Value| !former.contains(&xr["metadata"]["uid"]);
    stage.object(&xr, is_new).await;
    stage.ready(&xr).await;
    stage.ready(&path).await;
    bridge.rests().await;
    assert_eq!(composites(&stage).await.len(), 1);
    assert_eq!(since(&bridge, &counted([]))["create xpurchases"], 1);
    // What the former one composed is the garbage collector's, and none runs here.
    assert_eq!(stage.values(&namespace).await, ["1", "1"]);
    bridge.end().await;
}
