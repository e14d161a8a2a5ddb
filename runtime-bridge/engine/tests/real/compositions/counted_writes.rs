//! How many writes it takes (design 13), counted where they are sent.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    claims::{claim, claims, counted, since},
    stage::{Bridge, Stage, order, orders},
};

async fn begin() -> (Stage, Bridge, String) {
    let stage = Stage::new().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.install().await;
    stage.define().await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    bridge.rests().await;
    (stage, bridge, namespace)
}

#[tokio::test]
async fn a_claim_with_a_secret_takes_four_writes_of_its_own() {
    let (stage, bridge, namespace) = begin().await;
    let before = bridge.writes();
    let mut wanted = claim("a", &json!({"connect": "u", "first": "1"}));
    wanted["spec"]["writeConnectionSecretToRef"] = json!({"name": "mine"});
    stage.create(&claims(&namespace), &wanted).await;
    stage.ready(&format!("{}/a", claims(&namespace))).await;
    bridge.rests().await;
    let writes = counted([
        // The claim itself, and its status; its composite resource; its Secret.
        ("update purchases", 2),
        ("create xpurchases", 1),
        // Its own Secret and that of its composite resource.
        ("create secrets", 2),
        ("update xpurchases", 2),
        ("create configmaps", 1),
    ]);
    assert_eq!(since(&bridge, &before), writes);
    bridge.end().await;
}

#[tokio::test]
async fn a_composite_resource_of_three_is_deleted_by_five_writes() {
    let (stage, bridge, namespace) = begin().await;
    let path = format!("{}/a", orders(&namespace));
    let values = json!({"first": "1", "second": "2", "third": "3"});
    stage.create(&orders(&namespace), &order("a", &values)).await;
    stage.ready(&path).await;
    bridge.rests().await;
    let before = bridge.writes();
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    bridge.rests().await;
    let writes: BTreeMap<String, u64> = counted([("update orders", 2), ("delete configmaps", 3)]);
    assert_eq!(since(&bridge, &before), writes);
    bridge.end().await;
}

#[tokio::test]
async fn what_is_desired_no_more_takes_two_writes() {
    let (stage, bridge, namespace) = begin().await;
    let path = format!("{}/a", orders(&namespace));
    let values = json!({"first": "1", "second": "2"});
    stage.create(&orders(&namespace), &order("a", &values)).await;
    stage.ready(&path).await;
    bridge.rests().await;
    let before = bridge.writes();
    let less = json!({"spec": {"values": {"second": null}}});
    stage.admin.patch(&path, &less).await.unwrap();
    stage
        .object(&path, |order: &Value| {
            let refs = order["spec"]["crossplane"]["resourceRefs"].as_array();
            refs.is_some_and(|refs| refs.len() == 1)
        })
        .await;
    bridge.rests().await;
    // Its reference is taken off; the status is of the new generation.
    assert_eq!(
        since(&bridge, &before),
        counted([("delete configmaps", 1), ("update orders", 2)])
    );
    bridge.end().await;
}
