//! Usages as the binary serves them: a real guard refuses the deletion of what is in use, with a bridge and without one.

use kube::api::DeleteParams;
use serde_json::json;

use crate::{
    admin::Bridge,
    cluster::{Cluster, is_true, until, until_gone},
    compositions::{CRDS, api, create},
};

#[tokio::test]
async fn what_is_in_use_cannot_be_deleted_with_a_bridge_or_without() {
    let cluster = Cluster::own().await;
    let bridge = Bridge::start_without_plugins(&cluster, &["--compositions"]).await;
    for name in CRDS {
        let is_established = |crd: &_| is_true(crd, "Established");
        until(&cluster.definitions(), name, "established", is_established).await;
    }
    bridge.until_ready().await;
    let config_maps = api(&cluster, "", "v1", "ConfigMap", true);
    let usages = api(&cluster, "protection.crossplane.io", "v1beta1", "Usage", true);
    create(
        &config_maps,
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "used" } }),
    )
    .await;
    let of = json!({ "apiVersion": "v1", "kind": "ConfigMap", "resourceRef": { "name": "used" } });
    create(
        &usages,
        json!({
            "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": { "name": "kept" },
            "spec": { "of": of, "reason": "production" },
        }),
    )
    .await;
    until(&usages, "kept", "ready", |usage| is_true(usage, "Ready")).await;

    let refused = async || {
        let deleted = config_maps.delete("used", &DeleteParams::default()).await;
        let why = deleted.expect_err("it is in use").to_string();
        assert!(why.contains("in-use"), "{why}");
    };
    refused().await;
    bridge.process.kill();
    bridge.process.wait().await;
    drop(bridge);
    refused().await;

    let bridge = Bridge::start_without_plugins(&cluster, &["--compositions"]).await;
    usages.delete("kept", &DeleteParams::default()).await.unwrap();
    until_gone(usages, "kept").await;
    config_maps
        .delete("used", &DeleteParams::default())
        .await
        .unwrap();
    until_gone(config_maps, "used").await;
    assert_eq!(bridge.stop().await, Some(0));
}
