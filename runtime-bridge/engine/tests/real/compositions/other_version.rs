//! Required objects in a version that is not the one in which their kind is watched.

use bridge_core::function::{Requirements, ResourceMatch, ResourceSelector};
use serde_json::{Value, json};

use super::stage::{Bridge, Stage, order, orders};

/// The autoscaler of a namespace in this version.
pub fn autoscaler(version: &str, namespace: &str) -> Requirements {
    let selector = ResourceSelector {
        api_version: format!("autoscaling/{version}"),
        kind: "HorizontalPodAutoscaler".to_owned(),
        matching: ResourceMatch::Name("shared".to_owned()),
        namespace: Some(namespace.to_owned()),
    };
    Requirements {
        resources: [("autoscaler".to_owned(), selector)].into(),
        ..Requirements::default()
    }
}

/// What an order holds of it.
pub fn shown(autoscaler: Option<&Value>) -> Value {
    let shown =
        autoscaler.map(|object| format!("{} of {}", object["apiVersion"], object["spec"]["maxReplicas"]));
    json!(shown.unwrap_or_default().replace('"', ""))
}

/// Either version is watched, and the other one is not.
#[tokio::test]
async fn a_required_object_is_followed_in_each_version_that_anybody_asks_for() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let shared = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "shared"},
        "spec": {"maxReplicas": 1, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}},
    });
    let collection = format!("/apis/autoscaling/v1/namespaces/{namespace}/horizontalpodautoscalers");
    stage.create(&collection, &shared).await;
    for version in ["v1", "v2"] {
        stage
            .create(
                &orders(&namespace),
                &order(version, &json!({"autoscaler": version})),
            )
            .await;
        stage.ready(&format!("{}/{version}", orders(&namespace))).await;
    }
    for replicas in [1, 2, 3] {
        let change = json!({"spec": {"maxReplicas": replicas}});
        let path = format!("{collection}/shared");
        stage.admin.patch(&path, &change).await.unwrap();
        let expected = ["v1", "v2"].map(|version| format!("autoscaling/{version} of {replicas}"));
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        stage.values_become(&namespace, &expected).await;
    }
    stage.admin.delete(&format!("{collection}/shared")).await.unwrap();
    stage.values_become(&namespace, &["", ""]).await;
    bridge.end().await;
}
