use bridge_control_plane::Options;
use bridge_engine::{
    api_error::ApiError,
    protection::{Guard, GuardState},
};
use serde_json::{Value, json};

use super::{GuardStage, MAPS, Replica, SYSTEM};
use crate::harness::{engine, within};

const POLICY: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/crossbridge-no-usages";
const BINDING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/crossbridge-no-usages";

/// Waits until an object is as it should be.
pub(super) async fn becomes(stage: &GuardStage, path: &str, is_it: impl Fn(&Value) -> bool) {
    let wait = async {
        loop {
            match stage.admin.get(path).await {
                Ok(object) if is_it(&object) => return,
                _ => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            }
        }
    };
    within(wait).await;
}

pub(super) async fn gone(stage: &GuardStage, path: &str) {
    let wait = async {
        while stage.admin.get(path).await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    within(wait).await;
}

#[tokio::test]
async fn a_policy_refuses_people_collections_and_the_garbage_collector() {
    let options = Options {
        controller_manager: true,
        ..Options::default()
    };
    let stage = GuardStage::new(options).await;
    let bridge = stage.policy().await;
    bridge.proved().await;
    gone(
        &stage,
        &format!("/api/v1/namespaces/{SYSTEM}/configmaps/crossbridge-usage-guard"),
    )
    .await;

    stage.map("db", true).await;
    stage.map("free", false).await;
    let refused = stage.kubectl(&["delete", "configmap", "db", "-n", "shop"]).await;
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success());
    let expected = "denied request: This resource is in-use by Usage shop/protect-db: app uses db. Delete what uses it, or its usage, first. \
        If there is no such usage, take the label off: kubectl label configmaps db -n shop crossplane.io/in-use-";
    assert!(said.trim_end().ends_with(expected), "{said}");
    let path = format!("{MAPS}/db");
    for refused in [
        stage.admin.try_delete(&path).await,
        stage.admin.delete(&format!("{MAPS}?labelSelector=set=a")).await,
    ] {
        assert!(
            matches!(&refused, Err(ApiError::Denied(why)) if why.contains("protect-db")),
            "{refused:?}"
        );
    }
    stage.delete("free").await.unwrap();

    // The garbage collector is refused, too, and comes back when the label is off.
    let owner = stage.map("owner", false).await;
    let owners = json!({"metadata": {"ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
    }]}});
    stage.map("other", false).await;
    for owned in ["db", "other"] {
        let path = format!("{MAPS}/{owned}");
        stage.admin.patch(&path, &owners).await.unwrap();
    }
    stage.delete("owner").await.unwrap();
    gone(&stage, &format!("{MAPS}/other")).await;
    assert!(stage.admin.get(&path).await.is_ok());

    let words: Vec<&str> = expected.split("kubectl ").nth(1).unwrap().split(' ').collect();
    let unlabelled = stage.kubectl(&words).await;
    assert!(unlabelled.status.success(), "{unlabelled:?}");
    gone(&stage, &path).await;
}

#[tokio::test]
async fn an_edited_or_deleted_policy_is_put_back() {
    let stage = GuardStage::new(Options::default()).await;
    let bridge = stage.policy().await;
    bridge.proved().await;
    stage.map("db", true).await;
    let narrowed = json!({"spec": {"matchConditions": [{"name": "never", "expression": "false"}]}});
    stage.admin.patch(POLICY, &narrowed).await.unwrap();
    becomes(&stage, POLICY, |policy| {
        policy["spec"]["matchConditions"].is_null()
    })
    .await;
    let harmless = json!({"spec": {"validationActions": ["Warn"]}});
    stage.admin.patch(BINDING, &harmless).await.unwrap();
    becomes(&stage, BINDING, |binding| {
        binding["spec"]["validationActions"] == json!(["Deny"])
    })
    .await;
    for path in [POLICY, BINDING] {
        stage.admin.delete(path).await.unwrap();
        becomes(&stage, path, |object| object["spec"].is_object()).await;
    }
    // It takes a moment to be in force again, and the bridge finds out when.
    refused_again(&stage).await;
    bridge.proved().await;

    // Without a bridge it stays.
    drop(bridge);
    assert!(
        stage
            .refusal("db")
            .await
            .contains("This resource is in-use by Usage shop/protect-db")
    );
    stage.map("free", false).await;
    stage.delete("free").await.unwrap();
    let bare = json!({"metadata": {"annotations": {"crossbridge.dev/in-use-by": null}}});
    stage.admin.patch(&format!("{MAPS}/db"), &bare).await.unwrap();
    assert!(
        stage
            .refusal("db")
            .await
            .contains("in-use by a usage that it does not name.")
    );
    let awkward = json!({"metadata": {"annotations": {"crossbridge.dev/in-use-by": format!("one\n{}", "x".repeat(9000))}}});
    stage.admin.patch(&format!("{MAPS}/db"), &awkward).await.unwrap();
    let refusal = stage.refusal("db").await;
    assert!(
        refusal.contains("in-use by one x") && refusal.contains("kubectl label"),
        "{refusal}"
    );
}

async fn refused_again(stage: &GuardStage) {
    let path = format!("{MAPS}/db");
    let wait = async {
        while stage.admin.try_delete(&path).await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    within(wait).await;
}

#[tokio::test]
async fn a_policy_that_is_not_enforced_is_not_proved() {
    let flags = ["--disable-admission-plugins=ValidatingAdmissionPolicy".to_owned()];
    let stage = GuardStage::new(Options {
        api_server_flags: flags.to_vec(),
        ..Options::default()
    })
    .await;
    let bridge = stage.policy().await;
    bridge
        .says("was not refused. The API server needs a moment to take up the policy crossbridge-no-usages")
        .await;
    // Also not when its objects change.
    stage.admin.delete(BINDING).await.unwrap();
    becomes(&stage, BINDING, |object| object["spec"].is_object()).await;
    bridge.says("run with --usage-guard=webhook").await;
    assert_ne!(bridge.guard.proved(), GuardState::Proved);
}

#[tokio::test]
async fn an_api_server_without_policies_is_named() {
    let flags = [
        "--runtime-config=admissionregistration.k8s.io/v1=false",
        "--disable-admission-plugins=ValidatingAdmissionPolicy,ValidatingAdmissionWebhook,MutatingAdmissionWebhook,MutatingAdmissionPolicy",
    ];
    let stage = GuardStage::new(Options {
        api_server_flags: flags.map(str::to_owned).to_vec(),
        ..Options::default()
    })
    .await;
    let bridge = stage.policy().await;
    bridge
        .says("does not serve ValidatingAdmissionPolicy in admissionregistration.k8s.io/v1, as Kubernetes does from 1.30 on: run with \
               --usage-guard=webhook")
        .await;
}

#[tokio::test]
async fn a_bridge_without_rights_names_them() {
    let mut stage = GuardStage::new(Options::default()).await;
    let nobody = stage.plane.user_kubeconfig("nobody", None).unwrap();
    let (engine, gate) = engine(nobody).await;
    let bridge = Replica {
        guard: bridge_engine::protection::UsageGuard::policy(
            &engine,
            super::options(bridge_engine::lease::Leadership::unopposed()),
        ),
        engine,
        _gate: gate,
    };
    bridge
        .says("Apply what `runtime-bridge rbac --compositions` prints")
        .await;
    drop(bridge.engine);
}
