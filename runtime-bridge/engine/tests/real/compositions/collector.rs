//! Deletions as users ask for them, with the garbage collector and the namespace controller of Kubernetes beside the bridge.

use bridge_control_plane::Options;
use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite_of},
    stage::{Bridge, DEFINITIONS, GROUP, Stage, crd_path, definition, definition_path, order, orders},
};

pub(super) async fn begin() -> (Stage, Bridge) {
    let stage = Stage::with(Options {
        controller_manager: true,
        ..Options::default()
    })
    .await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.install().await;
    (stage, bridge)
}

/// An order of two objects in a namespace of its own.
async fn composed_order(stage: &Stage, namespace: &str, name: &str) -> String {
    let path = format!("{}/{name}", orders(namespace));
    let wanted = order(name, &json!({"first": "1", "second": "2"}));
    stage.create(&orders(namespace), &wanted).await;
    stage.ready(&path).await;
    path
}

/// What it prints; it must succeed.
pub(super) async fn kubectl(stage: &Stage, words: &[&str]) -> String {
    let mut kubectl = tokio::process::Command::new(stage.plane.kubectl());
    kubectl
        .arg("--kubeconfig")
        .arg(stage.plane.kubeconfig())
        .args(words);
    let output = kubectl.output().await.unwrap();
    assert!(output.status.success(), "kubectl {words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test]
async fn a_composite_resource_ends_whatever_the_cascade() {
    let (stage, bridge) = begin().await;
    stage.define().await;
    for (cascade, left) in [("background", 0), ("foreground", 0), ("orphan", 2)] {
        let namespace = stage.admin.namespace(cascade).await;
        let path = composed_order(&stage, &namespace, "a").await;
        let flag = format!("--cascade={cascade}");
        // It waits until the order is gone.
        kubectl(
            &stage,
            &["delete", "order", "a", "-n", &namespace, &flag, "--timeout=60s"],
        )
        .await;
        stage.gone(&path).await;
        bridge.rests().await;
        let maps = format!("/api/v1/namespaces/{namespace}/configmaps?labelSelector=crossplane.io/composite");
        let maps = stage.admin.get(&maps).await.unwrap();
        let maps = maps["items"].as_array().unwrap();
        assert_eq!(maps.len(), left, "{cascade}: {maps:#?}");
        for map in maps {
            let metadata = &map["metadata"];
            assert_eq!(metadata["ownerReferences"], Value::Null, "{cascade}");
            assert_eq!(metadata["deletionTimestamp"], Value::Null, "{cascade}");
        }
    }
    bridge.end().await;
}

/// Whoever is faster, the bridge or the garbage collector.
#[tokio::test]
async fn a_definition_that_leaves_its_dependants_deletes_nothing_and_is_made_again() {
    let (stage, bridge) = begin().await;
    stage.define().await;
    let namespace = stage.admin.namespace("left").await;
    let path = composed_order(&stage, &namespace, "a").await;
    let path_of_definition = definition_path();
    let name = path_of_definition.rsplit('/').next().unwrap();
    let words = [
        "delete",
        "compositeresourcedefinition.v2.apiextensions.crossplane.io",
        name,
    ];
    kubectl(
        &stage,
        &[&words[..], &["--cascade=orphan", "--timeout=60s"]].concat(),
    )
    .await;
    stage.gone(&path_of_definition).await;
    let left = stage.admin.get(&path).await.unwrap();
    assert_eq!(left["metadata"]["deletionTimestamp"], Value::Null);
    let crd = stage.admin.get(&crd_path()).await.unwrap();
    assert_eq!(
        (
            &crd["metadata"]["ownerReferences"],
            &crd["metadata"]["deletionTimestamp"]
        ),
        (&Value::Null, &Value::Null)
    );
    stage.create(DEFINITIONS, &definition()).await;
    stage
        .condition(&path_of_definition, "Established", "WatchingCompositeResource")
        .await;
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_namespace_and_a_collection_go_with_all_that_was_composed() {
    let (stage, bridge) = begin().await;
    stage.define().await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("collected").await;
    for name in ["a", "b", "c"] {
        composed_order(&stage, &namespace, name).await;
    }
    kubectl(
        &stage,
        &["delete", "orders", "--all", "-n", &namespace, "--timeout=60s"],
    )
    .await;
    assert_eq!(stage.values(&namespace).await, [""; 0]);

    // Of its claim a composite resource is left that is in no namespace.
    let namespace = stage.admin.namespace("ended").await;
    composed_order(&stage, &namespace, "a").await;
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let xr = composite_of(&stage.ready(&format!("{}/a", claims(&namespace))).await);
    kubectl(&stage, &["delete", "namespace", &namespace, "--timeout=60s"]).await;
    stage.gone(&xr).await;
    bridge.end().await;
}

/// A claim owns nothing by reference: its composite resource goes with it, in whatever way it is deleted.
#[tokio::test]
async fn a_claim_ends_with_all_it_made_whatever_the_cascade() {
    let (stage, bridge) = begin().await;
    stage.define_claimed().await;
    for cascade in ["background", "foreground", "orphan"] {
        let namespace = stage.admin.namespace(cascade).await;
        let path = format!("{}/a", claims(&namespace));
        stage
            .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
            .await;
        let xr = composite_of(&stage.ready(&path).await);
        assert_eq!(stage.values(&namespace).await, ["1"]);
        let flag = format!("--cascade={cascade}");
        kubectl(
            &stage,
            &[
                "delete",
                "purchase",
                "a",
                "-n",
                &namespace,
                &flag,
                "--timeout=60s",
            ],
        )
        .await;
        assert!(
            stage.admin.get(&xr).await.is_err(),
            "{cascade}: the claim outlives it"
        );
        assert_eq!(stage.values(&namespace).await, [""; 0], "{cascade}");
    }
    bridge.end().await;
}

/// With `orphan` the collector takes the owner off the nested one, which then lives on its own.
#[tokio::test]
async fn a_nested_composite_resource_goes_or_stays_as_the_cascade_says() {
    let (stage, bridge) = begin().await;
    stage.define().await;
    for (cascade, stays) in [("background", false), ("foreground", false), ("orphan", true)] {
        let namespace = stage.admin.namespace(cascade).await;
        let collection = orders(&namespace);
        let wanted = order("a", &json!({"first": "1", "nest": "user"}));
        stage.create(&collection, &wanted).await;
        let path = format!("{collection}/a");
        stage.ready(&path).await;
        let all = stage.admin.get(&collection).await.unwrap();
        let nested = all["items"].as_array().unwrap().iter();
        let nested: Vec<_> = nested.filter(|one| one["metadata"]["name"] != "a").collect();
        let [nested] = nested[..] else { panic!("{all:#}") };
        let nested = format!("{collection}/{}", nested["metadata"]["name"].as_str().unwrap());
        let flag = format!("--cascade={cascade}");
        kubectl(
            &stage,
            &["delete", "order", "a", "-n", &namespace, &flag, "--timeout=60s"],
        )
        .await;
        stage.gone(&path).await;
        bridge.rests().await;
        let left = stage.admin.get(&nested).await;
        assert_eq!(left.is_ok(), stays, "{cascade}: {left:?}");
        if let Ok(left) = left {
            let metadata = &left["metadata"];
            assert_eq!(metadata["ownerReferences"], Value::Null, "{left:#}");
            assert_eq!(metadata["deletionTimestamp"], Value::Null, "{left:#}");
            // It is composed as before, and ends like any other.
            let change = json!({"spec": {"values": {"second": "2"}}});
            stage.admin.patch(&nested, &change).await.unwrap();
            stage.values_become(&namespace, &["1", "2"]).await;
            stage.admin.delete(&nested).await.unwrap();
            stage.gone(&nested).await;
            stage.values_become(&namespace, &["1"]).await;
        }
    }
    bridge.end().await;
}

/// In each of three namespaces an order that composes another one, too.
#[tokio::test]
async fn a_definition_that_is_deleted_in_the_foreground_takes_nested_orders_along() {
    let (stage, bridge) = begin().await;
    stage.define().await;
    for namespace in ["one", "two", "three"] {
        let namespace = stage.admin.namespace(namespace).await;
        let path = format!("{}/a", orders(&namespace));
        let wanted = order("a", &json!({"first": "1", "nest": "user"}));
        stage.create(&orders(&namespace), &wanted).await;
        stage.ready(&path).await;
        let all = stage.admin.get(&orders(&namespace)).await.unwrap();
        assert_eq!(all["items"].as_array().map(Vec::len), Some(2), "{all:#}");
    }
    let name = format!("orders.{GROUP}");
    kubectl(
        &stage,
        &["delete", "xrd", &name, "--cascade=foreground", "--timeout=60s"],
    )
    .await;
    stage.gone(&definition_path()).await;
    stage.gone(&crd_path()).await;
    for namespace in ["one", "two", "three"] {
        assert_eq!(stage.values(namespace).await, [""; 0], "{namespace}");
    }
    bridge.end().await;
}

/// Of what the namespace controller deletes all at once, the usage and what it protects, too.
#[tokio::test]
async fn a_namespace_with_a_usage_ends() {
    let (stage, bridge) = begin().await;
    stage.define().await;
    let namespace = stage.admin.namespace("used").await;
    let wanted = order("a", &json!({"app": "1", "db": "2", "usage": "app"}));
    stage.create(&orders(&namespace), &wanted).await;
    stage.ready(&format!("{}/a", orders(&namespace))).await;
    let usages = format!("/apis/protection.crossplane.io/v1beta1/namespaces/{namespace}/usages");
    stage
        .condition(&format!("{usages}/shop-usage"), "Ready", "Available")
        .await;
    let standalone = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": {"name": "kept"},
        "spec": {
            "of": {"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "shop-app"}},
            "reason": "kept by hand",
        },
    });
    stage.create(&usages, &standalone).await;
    stage
        .condition(&format!("{usages}/kept"), "Ready", "Available")
        .await;
    kubectl(&stage, &["delete", "namespace", &namespace, "--timeout=60s"]).await;
    stage.gone(&format!("/api/v1/namespaces/{namespace}")).await;
    bridge.end().await;
}
