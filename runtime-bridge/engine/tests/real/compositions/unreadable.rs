//! What cannot be read is left as it is: what a reading lacks, the next write would take out.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    claims::{claim, claims, composite_of},
    stage::{Bridge, Stage},
};
use crate::harness::within;

#[derive(Deserialize)]
struct Stored {
    metadata: Meta,
    spec: Box<RawValue>,
    status: Value,
}

/// What a write from a wrong reading would lose.
#[derive(Debug, PartialEq, Deserialize)]
struct Meta {
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    labels: BTreeMap<String, String>,
    finalizers: Vec<String>,
}

async fn stored(stage: &Stage, path: &str) -> Stored {
    stage.admin.read(path).await.unwrap()
}

/// Waits until `Synced` is False for this.
async fn says_so(stage: &Stage, path: &str, why: &str) {
    let says = |stored: &Stored| {
        let conditions = stored.status["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| {
            let message = condition["message"].as_str().unwrap_or_default();
            condition["type"] == "Synced" && condition["status"] == "False" && message.contains(why)
        })
    };
    within(async {
        while !says(&stored(stage, path).await) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_unreadable_spec_of_a_claim_or_composite_resource_loses_nothing() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let wanted = claim("a", &json!({"first": "1"}));
    stage.create(&claims(&namespace), &wanted).await;
    let claim = format!("{}/a", claims(&namespace));
    let xr = composite_of(&stage.ready(&claim).await);
    let deep = (0..200).fold(json!("user's"), |inner, _| json!({ "a": inner }));
    let reserved = |inner: &str| json!({"$serde_json::private::RawValue": inner});
    let cases = [
        (deep, "is nested more than 127 levels deep"),
        (reserved("no JSON"), "has a key that begins with"),
        (reserved("{}"), "has a key that begins with"),
    ];
    let each = cases.iter().flat_map(|case| [(&claim, case), (&xr, case)]);
    for (path, (free, why)) in each {
        let change = json!({"metadata": {"annotations": {"user": "own"}}, "spec": {"free": free}});
        bridge.rests().await;
        stage.admin.patch_deeply(path, &change).await;
        let before = stored(&stage, path).await;
        says_so(&stage, path, why).await;
        bridge.rests().await;
        let after = stored(&stage, path).await;
        assert_eq!(after.spec.get(), before.spec.get(), "{path}: {why}");
        assert_eq!(after.metadata, before.metadata, "{path}: {why}");
        let shallow = json!({"spec": {"free": null}});
        stage.admin.patch(path, &shallow).await.unwrap();
        stage.ready(path).await;
    }
    assert_eq!(stage.values(&namespace).await, ["1"]);
    stage.admin.delete(&claim).await.unwrap();
    stage.gone(&claim).await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);
    bridge.end().await;
}
