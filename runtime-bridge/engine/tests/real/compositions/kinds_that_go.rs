//! Versions and kinds that the cluster serves no more, while something of them is composed or protected.

use bridge_core::{
    function::{Readiness, Resource},
    watch_plan::GroupKind,
};
use bridge_engine::object::Key;
use serde_json::{Value, json};

use super::stage::{Bridge, GROUP, Stage, order, orders};
use crate::{
    admin::{self, TestKind},
    harness::{LIMIT, within},
};

/// Of a kind that a test defines, in the API version that the value names.
pub fn bucket(api_version: &Value) -> Resource {
    let object = json!({
        "apiVersion": api_version, "kind": "Bucket", "metadata": {"name": "shop-bucket"}, "spec": {"size": 1},
    });
    Resource {
        ready: Readiness::Ready,
        ..Resource::of(object)
    }
}

/// A kind that is served as `v1` and, first, as `v1alpha1` too.
struct MovingKind(TestKind);

impl MovingKind {
    fn definition(&self, serves_alpha: bool) -> Value {
        let mut definition = self.0.definition();
        let mut alpha = definition["spec"]["versions"][0].clone();
        alpha["name"] = "v1alpha1".into();
        alpha["served"] = serves_alpha.into();
        alpha["storage"] = false.into();
        definition["spec"]["versions"].as_array_mut().unwrap().push(alpha);
        definition
    }

    fn alpha(&self) -> String {
        format!("{}/v1alpha1", self.0.api.kind.group())
    }

    fn bucket(&self, namespace: &str) -> String {
        format!("{}/shop-bucket", self.0.collection(namespace))
    }

    /// From now on the API server knows `v1` alone.
    async fn move_on(&self, stage: &Stage, namespace: &str) {
        let spec = json!({"spec": self.definition(false)["spec"]});
        stage.admin.patch(&self.0.path(), &spec).await.unwrap();
        stage
            .gone(&self.bucket(namespace).replace("/v1/", "/v1alpha1/"))
            .await;
    }
}

/// An order that composes a bucket, in the version of then, and a map.
async fn composed() -> (Stage, Bridge, String, MovingKind) {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let kind = MovingKind(TestKind::new());
    stage.create(admin::DEFINITIONS, &kind.definition(true)).await;
    let namespace = stage.admin.namespace("one").await;
    let values = json!({"bucket": kind.alpha(), "other": "1"});
    stage.create(&orders(&namespace), &order("shop", &values)).await;
    stage.ready(&format!("{}/shop", orders(&namespace))).await;
    (stage, bridge, namespace, kind)
}

fn hold(finalizers: &Value) -> Value {
    json!({"metadata": {"finalizers": finalizers}})
}

async fn all_gone(stage: &Stage, namespace: &str) {
    stage.gone(&format!("{}/shop", orders(namespace))).await;
    assert_eq!(stage.values(namespace).await, [""; 0]);
}

#[tokio::test]
async fn what_was_composed_in_a_version_of_then_is_deleted() {
    let (stage, bridge, namespace, kind) = composed().await;
    kind.move_on(&stage, &namespace).await;
    stage.admin.get(&kind.bucket(&namespace)).await.unwrap();
    let path = format!("{}/shop", orders(&namespace));
    stage.admin.delete(&path).await.unwrap();
    all_gone(&stage, &namespace).await;
    stage.gone(&kind.bucket(&namespace)).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_usage_in_a_version_of_then_protects_and_ends() {
    let (stage, bridge, namespace, kind) = composed().await;
    let usages = format!("/apis/protection.crossplane.io/v1beta1/namespaces/{namespace}/usages");
    let protect = format!("{usages}/protect");
    let of = json!({"apiVersion": kind.alpha(), "kind": "Bucket", "resourceRef": {"name": "shop-bucket"}});
    let usage = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage",
        "metadata": {"name": "protect"}, "spec": {"of": of, "reason": "why"},
    });
    stage.create(&usages, &usage).await;
    stage.condition(&protect, "Ready", "Available").await;
    kind.move_on(&stage, &namespace).await;
    let path = format!("{}/shop", orders(&namespace));
    stage.admin.delete(&path).await.unwrap();
    stage.condition(&path, "DeletionBlocked", "InUse").await;
    stage.admin.delete(&protect).await.unwrap();
    stage.gone(&protect).await;
    all_gone(&stage, &namespace).await;
    stage.gone(&kind.bucket(&namespace)).await;
    bridge.end().await;
}

/// In which version the kind is watched, and whether its order looks again by the clock.
fn watched(bridge: &Bridge, namespace: &str, kind: &MovingKind) -> (Option<String>, bool) {
    let watched = bridge.engine.watches.wanted_api(&kind.0.api.kind);
    let due =
        bridge
            .engine
            .dispatcher
            .due(&Key::new(GroupKind::new(GROUP, "Order"), Some(namespace), "shop"));
    let looks = due.is_some_and(|due| due.running || due.next.is_some());
    (watched.map(|api| api.version.clone()), looks)
}

/// Both versions stay served, as in the usual upgrade of a provider.
#[tokio::test]
async fn a_composed_kind_of_two_versions_is_followed_without_looking_again() {
    let (stage, bridge, namespace, kind) = composed().await;
    let usages = format!("/apis/protection.crossplane.io/v1beta1/namespaces/{namespace}/usages");
    let of = json!({"apiVersion": kind.alpha(), "kind": "Bucket", "resourceRef": {"name": "other"}});
    let usage = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage",
        "metadata": {"name": "former"}, "spec": {"of": of, "reason": "why"},
    });
    stage.create(&usages, &usage).await;
    let current = kind.alpha().replace("v1alpha1", "v1");
    let values = json!({"spec": {"values": {"bucket": current}}});
    let path = format!("{}/shop", orders(&namespace));
    stage.admin.patch(&path, &values).await.unwrap();
    let is_applied = |bucket: &Value| {
        let mut managers = bucket["metadata"]["managedFields"]
            .as_array()
            .into_iter()
            .flatten();
        managers.any(|one| one["apiVersion"] == current)
    };
    stage.object(&kind.bucket(&namespace), is_applied).await;
    let becomes = async |version: &str| {
        let wanted = (Some(version.to_owned()), false);
        let wait = async {
            while watched(&bridge, &namespace, &kind) != wanted {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        let became = tokio::time::timeout(LIMIT, wait).await;
        let (is, state) = (watched(&bridge, &namespace, &kind), bridge.engine.state());
        assert!(became.is_ok(), "{is:?} is not {wanted:?}: {state:#?}");
    };
    // The usage needs that version.
    becomes("v1alpha1").await;
    let size = json!({"spec": {"size": 7}});
    let bucket = kind.bucket(&namespace);
    stage.admin.patch(&bucket, &size).await.unwrap();
    stage.object(&bucket, |bucket| bucket["spec"]["size"] == 1).await;
    // Nothing does any more.
    let path = format!("{usages}/former");
    stage.admin.delete(&path).await.unwrap();
    stage.gone(&path).await;
    becomes("v1").await;
    stage.admin.patch(&bucket, &size).await.unwrap();
    stage.object(&bucket, |bucket| bucket["spec"]["size"] == 1).await;
    let path = format!("{}/shop", orders(&namespace));
    stage.admin.delete(&path).await.unwrap();
    all_gone(&stage, &namespace).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_kind_that_goes_before_the_deletion_holds_nothing_up() {
    let (stage, bridge, namespace, kind) = composed().await;
    stage.admin.delete(&kind.0.path()).await.unwrap();
    stage.gone(&kind.0.path()).await;
    // Nor does a function that does not answer.
    let path = format!("{}/shop", orders(&namespace));
    let dead = json!({"spec": {"values": {"case": "unreachable"}}});
    stage.admin.patch(&path, &dead).await.unwrap();
    stage.condition(&path, "Synced", "ReconcileError").await;
    stage.admin.delete(&path).await.unwrap();
    all_gone(&stage, &namespace).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_kind_that_goes_during_the_deletion_holds_nothing_up() {
    let (stage, bridge, namespace, kind) = composed().await;
    let (path, bucket) = (format!("{}/shop", orders(&namespace)), kind.bucket(&namespace));
    stage
        .admin
        .patch(&bucket, &hold(&json!(["test/held"])))
        .await
        .unwrap();
    stage.admin.delete(&path).await.unwrap();
    stage
        .object(&bucket, |bucket| {
            !bucket["metadata"]["deletionTimestamp"].is_null()
        })
        .await;
    stage.admin.delete(&kind.0.path()).await.unwrap();
    stage
        .object(&kind.0.path(), |crd| {
            !crd["metadata"]["deletionTimestamp"].is_null()
        })
        .await;
    assert!(stage.admin.get(&path).await.is_ok(), "its bucket is still there");
    within(async {
        // Until the controller of CRDs has seen to it, it writes the bucket too.
        while stage.admin.patch(&bucket, &hold(&Value::Null)).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    })
    .await;
    all_gone(&stage, &namespace).await;
    stage.gone(&kind.0.path()).await;
    bridge.end().await;
}

#[tokio::test]
async fn a_kind_that_goes_after_the_deletion_troubles_nobody() {
    let (stage, bridge, namespace, kind) = composed().await;
    stage
        .admin
        .delete(&format!("{}/shop", orders(&namespace)))
        .await
        .unwrap();
    all_gone(&stage, &namespace).await;
    stage.gone(&kind.bucket(&namespace)).await;
    stage.admin.delete(&kind.0.path()).await.unwrap();
    stage.gone(&kind.0.path()).await;
    bridge.rests().await;
    // Of another kind the bridge composes as before.
    let again = json!({"other": "1"});
    stage.create(&orders(&namespace), &order("again", &again)).await;
    stage.ready(&format!("{}/again", orders(&namespace))).await;
    bridge.end().await;
}

/// Its reference names that version by then: mended, or moved on, the composition goes on all the same.
#[tokio::test]
async fn a_version_that_is_not_served_stops_nothing_for_good() {
    let (stage, bridge, namespace, kind) = composed().await;
    let shop = format!("{}/shop", orders(&namespace));
    let (alpha, current) = (kind.alpha(), kind.alpha().replace("v1alpha1", "v1"));
    let in_version = async |version: &str| {
        let values = json!({"spec": {"values": {"bucket": version}}});
        stage.admin.patch(&shop, &values).await.unwrap();
    };
    let synced = async |status: &str, version: &str| {
        let of_version = |order: &Value| {
            let refs = order["spec"]["crossplane"]["resourceRefs"].as_array();
            refs.is_some_and(|refs| refs.iter().any(|one| one["apiVersion"] == version))
        };
        let is_it = |order: &Value| synced_is(order, status) && of_version(order);
        stage.object(&shop, is_it).await;
    };
    let beyond = alpha.replace("v1alpha1", "v9");
    in_version(&beyond).await;
    synced("False", &beyond).await;
    let why = format!("the cluster does not serve Bucket in {beyond}");
    stage.event(&namespace, "ComposeResources", &why).await;
    in_version(&alpha).await;
    synced("True", &alpha).await;
    kind.move_on(&stage, &namespace).await;
    in_version(&current).await;
    synced("True", &current).await;
    let is_applied = |bucket: &Value| {
        let mut managers = bucket["metadata"]["managedFields"]
            .as_array()
            .into_iter()
            .flatten();
        managers.any(|one| one["apiVersion"] == current)
    };
    stage.object(&kind.bucket(&namespace), is_applied).await;
    stage.admin.delete(&shop).await.unwrap();
    all_gone(&stage, &namespace).await;
    bridge.end().await;
}

fn synced_is(order: &Value, status: &str) -> bool {
    let conditions = order["status"]["conditions"].as_array();
    conditions.is_some_and(|all| {
        let mut all = all.iter();
        all.any(|one| one["type"] == "Synced" && one["status"] == status)
    })
}
