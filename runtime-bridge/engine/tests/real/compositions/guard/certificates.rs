//! The Secret with the certificates of the webhook: what else stands in it, and who shares it.

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bridge_control_plane::Options;
use bridge_core::composite::Settings;
use bridge_engine::{
    lease::Leadership,
    protection::{UsageGuard, WebhookOptions},
};
use serde_json::{Value, json};

use super::{
    GuardStage, MAPS, Replica, SYSTEM,
    webhook::{USAGES, ask, certificates, install_usages, options},
};
use crate::{
    compositions::stage::{Bridge, Stage},
    harness::{LIMIT, until, within},
};

const SECRETS: &str = "/api/v1/namespaces/system/secrets";
const SECRET: &str = "/api/v1/namespaces/system/secrets/crossbridge-usage-webhook";

fn secret(certificates: &[u8]) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "crossbridge-usage-webhook"},
        "data": {"certificates.json": STANDARD.encode(certificates)},
    })
}

#[tokio::test]
async fn a_secret_that_holds_no_certificates_is_named_until_it_is_deleted() {
    let stage = GuardStage::new(Options::default()).await;
    install_usages(&stage).await;
    stage.admin.create(SECRETS, &secret(b"garbage")).await.unwrap();
    let bridge = stage.webhook(options(0)).await;
    bridge
        .says("the Secret system/crossbridge-usage-webhook holds no certificates of the bridge (")
        .await;
    bridge.says("); delete it to have new ones created").await;
    // It is a person's to delete.
    let left = stage.admin.get(SECRET).await.unwrap();
    assert_eq!(left["data"], secret(b"garbage")["data"]);
    stage.admin.delete(SECRET).await.unwrap();
    bridge.proved().await;
}

/// A pair whose authority has not signed it.
async fn mix(stage: &GuardStage) {
    let mut pairs = Vec::new();
    for _ in 0..2 {
        let bridge = stage.webhook(options(0)).await;
        bridge.proved().await;
        drop(bridge);
        pairs.push(certificates(stage).await);
        stage.admin.delete(SECRET).await.unwrap();
    }
    let mut mixed = pairs.remove(0);
    mixed.current.authority = pairs.remove(0).current.authority;
    let mixed = serde_json::to_vec(&mixed).unwrap();
    stage.admin.create(SECRETS, &secret(&mixed)).await.unwrap();
}

#[tokio::test]
async fn a_usage_says_that_the_certificate_of_the_webhook_is_not_trusted() {
    let stage = Stage::bare().await;
    stage.install().await;
    let Stage { admin, plane } = stage;
    let guarded = GuardStage { admin, plane };
    for namespace in [SYSTEM, "shop"] {
        guarded.admin.namespace(namespace).await;
    }
    mix(&guarded).await;
    guarded.map("db", false).await;
    let GuardStage { admin, plane } = guarded;
    let stage = Stage { admin, plane };
    let bridge = Bridge::start_guarded(stage.plane.kubeconfig(), Settings::default(), |engine| {
        let leads = super::options(Leadership::unopposed());
        Arc::new(UsageGuard::webhook(engine, leads, options(0)))
    })
    .await;
    let of = json!({"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "db"}});
    let usage = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": {"name": "protect"},
        "spec": {"of": of, "reason": "why"},
    });
    stage.create(USAGES, &usage).await;
    let path = format!("{USAGES}/protect");
    let untrusted = stage.condition(&path, "Ready", "GuardNotProved").await;
    let conditions = untrusted["status"]["conditions"].as_array().unwrap();
    let said = conditions[0]["message"].as_str().unwrap();
    for words in [
        "the API server does not trust the certificate of the webhook: ",
        "x509: certificate signed by unknown authority",
        "delete the Secret crossbridge-usage-webhook in the namespace of the bridge to have new ones created",
    ] {
        assert!(said.contains(words), "{said}");
    }
    stage.admin.delete(SECRET).await.unwrap();
    stage.condition(&path, "Ready", "Available").await;
    let refused = stage.admin.try_delete(&format!("{MAPS}/db")).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("in-use by 1 usage(s)"), "{refused}");
    bridge.end().await;
}

/// What may be asked of any replica.
fn question() -> Value {
    json!({"uid": "q", "operation": "UPDATE", "kind": {"group": "", "version": "v1", "kind": "ConfigMap"}})
}

/// Waits until the replica answers one that trusts this authority alone.
async fn answers(bridge: &Replica, authority: &str) {
    until("the replica listens", || bridge.guard.webhook_port().is_some()).await;
    let answered = async {
        while ask(bridge, authority, question()).await.is_err() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    within(answered).await;
}

#[tokio::test]
async fn two_replicas_that_begin_at_once_share_one_pair() {
    let stage = GuardStage::new(Options::default()).await;
    install_usages(&stage).await;
    let (leader, standby) = tokio::join!(stage.webhook(options(0)), stage.standby(options(0)));
    leader.proved().await;
    let pair = certificates(&stage).await;
    assert_eq!(pair.next, None);
    for replica in [&leader, &standby] {
        answers(replica, &pair.current.authority).await;
    }
    assert_eq!(certificates(&stage).await, pair);
    let secrets = stage.admin.get(SECRETS).await.unwrap();
    assert_eq!(secrets["items"].as_array().unwrap().len(), 1, "{secrets:#}");
}

#[tokio::test]
async fn a_standby_answers_with_the_pair_that_the_leader_renewed() {
    let stage = GuardStage::new(Options::default()).await;
    install_usages(&stage).await;
    let short_lived = || WebhookOptions {
        certificate_life: Duration::from_secs(30),
        ..options(0)
    };
    let standby = stage.standby(short_lived()).await;
    let leader = stage.webhook(short_lived()).await;
    leader.proved().await;
    let first = certificates(&stage).await.current;
    answers(&standby, &first.authority).await;
    let renewed = async {
        loop {
            let now = certificates(&stage).await.current;
            if now != first {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let renewed = tokio::time::timeout(LIMIT * 2, renewed).await.unwrap();
    answers(&standby, &renewed.authority).await;
    assert!(ask(&standby, &first.authority, question()).await.is_err());
}
