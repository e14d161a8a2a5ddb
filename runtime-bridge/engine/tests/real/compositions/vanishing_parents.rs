//! `--vanishing-parents`: who composes goes at once, and the garbage collector of Kubernetes sees to the rest.

use bridge_control_plane::Options;
use bridge_core::composite::Settings;
use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite_of},
    stage::{Bridge, Stage},
};

#[tokio::test]
async fn a_claim_and_its_composite_resource_go_before_what_they_composed() {
    let stage = Stage::with(Options {
        controller_manager: true,
        ..Options::default()
    })
    .await;
    let settings = Settings {
        vanishing_parents: true,
        ..Settings::default()
    };
    let bridge = Bridge::start_with(&stage.plane, settings).await;
    stage.install().await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    let wanted = claim("a", &json!({"first": "1", "second": "2"}));
    stage.create(&claims(&namespace), &wanted).await;
    let xr = composite_of(&stage.ready(&path).await);
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let composed = format!("{maps}?labelSelector=crossplane.io/composite");
    let list = stage.admin.get(&composed).await.unwrap();
    let held = list["items"][0]["metadata"]["name"].as_str().unwrap();
    let (held, hold) = (
        format!("{maps}/{held}"),
        |finalizers| json!({"metadata": {"finalizers": finalizers}}),
    );
    let on = hold(json!(["test.example.org/held"]));
    stage.admin.patch(&held, &on).await.unwrap();

    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&xr).await;
    let left = stage.admin.get(&held).await.unwrap();
    assert!(!left["metadata"]["deletionTimestamp"].is_null(), "{left:#}");
    stage.admin.patch(&held, &hold(Value::Null)).await.unwrap();
    stage.gone(&held).await;
    let list = stage.admin.get(&composed).await.unwrap();
    assert_eq!(list["items"], json!([]));
    bridge.end().await;
}
