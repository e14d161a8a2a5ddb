use bridge_core::queue::Priority;
use bridge_engine::{object::Key, secret::SecretError, watch::WatchState};
use serde_json::json;

use crate::harness::{RealHarness, until, within};

async fn make(stage: &RealHarness, name: &str, value: &str) {
    let path = format!("/api/v1/namespaces/{}/secrets", stage.namespace);
    let secret = json!({
        "metadata": {"name": name, "annotations": {"kubectl.kubernetes.io/last-applied-configuration": value}},
        "stringData": {"key": value},
    });
    stage.admin.create(&path, &secret).await.unwrap();
}

async fn edit(stage: &RealHarness, name: &str, value: &str) {
    let path = format!("/api/v1/namespaces/{}/secrets/{name}", stage.namespace);
    stage
        .admin
        .patch(&path, &json!({"stringData": {"key": value}}))
        .await
        .unwrap();
}

fn reads(stage: &RealHarness) -> u64 {
    let start = r#"crossbridge_api_requests_total{verb="get",resource="secrets",code="200"} "#;
    let metrics = stage.engine.encode_metrics();
    metrics
        .lines()
        .find_map(|line| line.strip_prefix(start))
        .map_or(0, |count| count.parse().unwrap())
}

#[tokio::test]
async fn a_secret_is_read_once_per_version_and_never_shown() {
    let stage = RealHarness::live().await;
    let secrets = &stage.engine.secrets;
    until("Secrets are watched", || secrets.state() == WatchState::Live).await;
    make(&stage, "s", "canary-1").await;
    let key = Key::secret(&stage.namespace, "s");
    until("it is seen", || secrets.version(&key).is_some()).await;
    let first = secrets.read(&stage.namespace, "s").await.unwrap();
    assert_eq!(first.data.0["key"], b"canary-1");
    for _ in 0..5 {
        secrets.read(&stage.namespace, "s").await.unwrap();
    }
    assert_eq!(reads(&stage), 1);
    assert!(!format!("{first:?}").contains("canary"), "{first:?}");

    edit(&stage, "s", "canary-2").await;
    until("the edit is seen", || secrets.version(&key) > Some(first.version)).await;
    let second = secrets.read(&stage.namespace, "s").await.unwrap();
    assert_eq!(
        (second.data.0["key"].as_slice(), reads(&stage)),
        (b"canary-2".as_slice(), 2)
    );

    // What is kept of it is neither data nor what repeats data.
    let kept = stage.engine.store.get(&key).unwrap();
    assert!(!serde_json::to_string(&*kept).unwrap().contains("canary"));
    assert!(
        !serde_json::to_string(&stage.engine.state())
            .unwrap()
            .contains("canary")
    );
}

#[tokio::test]
async fn a_missing_secret_differs_from_an_unreadable_one() {
    let stage = RealHarness::live().await;
    let missing = stage
        .engine
        .secrets
        .read(&stage.namespace, "nobody")
        .await
        .unwrap_err();
    assert!(matches!(missing, SecretError::NotFound { .. }), "{missing}");
    make(&stage, "late", "x").await;
    assert_eq!(
        stage
            .engine
            .secrets
            .read(&stage.namespace, "late")
            .await
            .unwrap()
            .data
            .0["key"],
        b"x"
    );
    let elsewhere = stage
        .engine
        .secrets
        .read(&stage.namespace, "../configmaps/kube-root-ca.crt")
        .await
        .unwrap_err();
    assert!(matches!(elsewhere, SecretError::Api { .. }), "{elsewhere}");
}

#[tokio::test]
async fn a_changed_secret_wakes_its_referrers() {
    let mut stage = RealHarness::live().await;
    until("Secrets are watched", || {
        stage.engine.secrets.state() == WatchState::Live
    })
    .await;
    make(&stage, "s", "1").await;
    let key = Key::secret(&stage.namespace, "s");
    until("it is seen", || stage.engine.secrets.version(&key).is_some()).await;
    stage.create("with").await;
    stage.create("without").await;
    stage
        .admin
        .patch(&stage.path("with"), &json!({"spec": {"secret": "s"}}))
        .await
        .unwrap();
    let refers =
        |found: &crate::harness::SeenReconcile| found.object.as_ref().unwrap().spec_value()["secret"] == "s";
    while !refers(&stage.pass("with").await) {}
    stage.pass("without").await;
    edit(&stage, "s", "2").await;
    let found = within(stage.passes.recv()).await.unwrap();
    assert_eq!(
        (found.key.name(), found.pass.priority),
        ("with", Priority::Dependency)
    );
}
