//! How many writes it takes (design 13), counted where they are sent.

use std::collections::BTreeMap;

use serde_json::json;

use super::{
    claims::{counted, since},
    stage::{Bridge, Stage, order, orders},
};

async fn begin() -> (Stage, Bridge, String) {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    bridge.rests().await;
    (stage, bridge, namespace)
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
