//! A built-in kind, of which the API server sets most fields by itself.

use bridge_core::function::{Readiness, Resource};
use serde_json::{Value, json};

use super::stage::{Bridge, Stage, order, orders};

/// Of as many replicas as the text says.
pub fn deployment(replicas: &Value) -> Resource {
    let replicas: u32 = replicas
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    let labels = json!({"app": "web"});
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "web", "image": "registry.example.org/web:1"}]},
            },
        },
    });
    Resource {
        ready: Readiness::Ready,
        ..Resource::of(object)
    }
}

#[tokio::test]
async fn a_deployment_is_composed_changed_and_deleted() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/web", orders(&namespace));
    let of = |replicas: &str| json!({"deployment": replicas});
    stage.create(&orders(&namespace), &order("web", &of("1"))).await;
    stage.ready(&path).await;
    let deployments = format!("/apis/apps/v1/namespaces/{namespace}/deployments");
    let list = stage.admin.get(&deployments).await.unwrap();
    let created = &list["items"][0];
    assert_eq!(created["spec"]["replicas"], 1);
    assert_eq!(created["spec"]["strategy"]["type"], "RollingUpdate");
    let deployment = format!("{deployments}/{}", created["metadata"]["name"].as_str().unwrap());
    // What the API server has set by itself is not fought.
    bridge.rests().await;
    let kept = stage.admin.get(&deployment).await.unwrap();
    assert_eq!(kept["metadata"], created["metadata"]);

    let change = json!({"spec": {"values": of("2")}});
    stage.admin.patch(&path, &change).await.unwrap();
    let changed = stage
        .object(&deployment, |found| found["spec"]["replicas"] == 2)
        .await;
    assert_eq!(changed["metadata"]["uid"], created["metadata"]["uid"]);
    bridge.rests().await;

    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    stage.gone(&deployment).await;
    bridge.end().await;
}
