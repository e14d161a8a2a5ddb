//! Composite resources of claims that the bridge may read one at a time only.

use bridge_core::composite::Settings;
use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite_of},
    edited_claims::keep,
    stage::{Bridge, Stage},
};
use crate::harness::within;

const USER: &str = "bridge";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// All rights, or all but those to list and watch composite resources.
fn role(may_list: bool) -> Value {
    let all = |groups: Value| json!({"apiGroups": groups, "resources": ["*"], "verbs": ["*"]});
    let rules = if may_list {
        json!([all(json!(["*"]))])
    } else {
        json!([
            all(json!([
                "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiextensions.crossplane.io",
                "apiregistration.k8s.io", "events.k8s.io", "protection.crossplane.io",
            ])),
            {"apiGroups": ["shop.example.org"], "resources": ["purchases", "purchases/status"], "verbs": ["*"]},
            {"apiGroups": ["shop.example.org"], "resources": ["xpurchases"], "verbs": ["get", "update", "patch", "delete"]},
        ])
    };
    json!({"metadata": {"name": USER}, "rules": rules})
}

async fn may_list(stage: &Stage, expected: bool) {
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": USER, "resourceAttributes": {"verb": "list", "group": "shop.example.org", "resource": "xpurchases"}},
    });
    let known = async {
        loop {
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let answer = stage.admin.create(path, &review).await.unwrap();
            if answer["status"]["allowed"] == expected {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    within(known).await;
}

/// What its store does not hold is in use all the same.
#[tokio::test]
async fn a_claim_keeps_a_composite_resource_in_use_that_is_not_watched() {
    let mut stage = Stage::new().await;
    let kubeconfig = stage.plane.user_kubeconfig(USER, None).unwrap();
    stage.create(&format!("{RBAC}/clusterroles"), &role(true)).await;
    let binding = json!({
        "metadata": {"name": USER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": USER},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    });
    stage
        .create(&format!("{RBAC}/clusterrolebindings"), &binding)
        .await;
    may_list(&stage, true).await;
    let bridge = Bridge::start_as(kubeconfig.clone(), Settings::default()).await;
    stage.install().await;
    stage.define_claimed().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", claims(&namespace));
    stage
        .create(&claims(&namespace), &claim("a", &json!({"first": "1"})))
        .await;
    let made = composite_of(&stage.ready(&path).await);
    let usage = keep(&stage, &made).await;
    bridge.end().await;

    let role_path = format!("{RBAC}/clusterroles/{USER}");
    stage.admin.patch(&role_path, &role(false)).await.unwrap();
    may_list(&stage, false).await;
    let bridge = Bridge::start_as(kubeconfig.clone(), Settings::default()).await;
    stage.admin.delete(&path).await.unwrap();
    let blocked = stage.condition(&path, "DeletionBlocked", "InUse").await;
    let conditions = blocked["status"]["conditions"].as_array().unwrap();
    let said = conditions
        .iter()
        .find(|one| one["type"] == "DeletionBlocked")
        .unwrap();
    let message = said["message"].as_str().unwrap();
    // By itself, and not because the guard refuses what it asks for.
    assert!(message.contains("Z, is in use by ClusterUsage keep"), "{message}");

    // What was forbidden is tried more and more seldom: the next process does so at once.
    bridge.end().await;
    stage.admin.patch(&role_path, &role(true)).await.unwrap();
    may_list(&stage, true).await;
    let bridge = Bridge::start_as(kubeconfig, Settings::default()).await;
    stage.admin.delete(&usage).await.unwrap();
    for path in [&path, &made] {
        stage.gone(path).await;
    }
    bridge.end().await;
}
