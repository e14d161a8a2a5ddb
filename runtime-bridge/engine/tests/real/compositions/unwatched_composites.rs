//! Composite resources of claims that the bridge may read one at a time only.

use bridge_core::composite::Settings;
use serde_json::{Value, json};

use super::{
    claims::{claim, claims, composite_of},
    edited_claims::keep,
    rights::{Known, credentials, grant},
    stage::{Bridge, Stage},
};

/// Gives the bridge all rights, or all but those to list and watch composite resources.
async fn may_list(stage: &Stage, is_allowed: bool) {
    let all = |groups: Value| json!({"apiGroups": groups, "resources": ["*"], "verbs": ["*"]});
    let but = json!([
        all(json!([
            "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiextensions.crossplane.io",
            "apiregistration.k8s.io", "events.k8s.io", "protection.crossplane.io",
        ])),
        {"apiGroups": ["shop.example.org"], "resources": ["purchases", "purchases/status"], "verbs": ["*"]},
        {"apiGroups": ["shop.example.org"], "resources": ["xpurchases"], "verbs": ["get", "update", "patch", "delete"]},
    ]);
    let rules = if is_allowed {
        json!([all(json!(["*"]))])
    } else {
        but
    };
    let known = Known {
        attributes: json!({"verb": "list", "group": "shop.example.org", "resource": "xpurchases"}),
        is_allowed,
    };
    grant(stage, &rules, &known).await;
}

/// What its store does not hold is in use all the same.
#[tokio::test]
async fn a_claim_keeps_a_composite_resource_in_use_that_is_not_watched() {
    let mut stage = Stage::bare().await;
    let kubeconfig = credentials(&mut stage);
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
    may_list(&stage, true).await;
    let bridge = Bridge::start_as(kubeconfig, Settings::default()).await;
    stage.admin.delete(&usage).await.unwrap();
    for path in [&path, &made] {
        stage.gone(path).await;
    }
    bridge.end().await;
}
