//! Compatibility with Crossplane: pause, import, orphan, connection Secret.

use bridge_e2e::{AwsClients, Stack, StackOptions, annotation, condition, is_ready, is_synced, reason};
use serde_json::{Value, json};

use super::manifests;

#[tokio::test(flavor = "multi_thread")]
async fn pause_import_orphan_and_connection_secret() {
    let stack = Stack::start(StackOptions {
        controller_manager: true,
        ..StackOptions::default()
    })
    .await;
    let clients = AwsClients::of(&stack.aws).await;

    // Paused before it begins: nothing is created. Deleted while paused: it stays.
    let paused = stack.bucket("paused");
    let mut manifest = manifests::bucket();
    manifest["metadata"] = json!({"annotations": {"crossplane.io/paused": "true"}});
    paused.create(manifest).await;
    let seen = paused
        .until("to report that it is paused", |seen| {
            reason(seen, "Synced") == "ReconcilePaused"
        })
        .await;
    assert!(annotation(&seen, "crossbridge.dev/record").is_empty());
    assert!(stack.aws.buckets().await.expect("a list").is_empty());
    paused
        .merge(json!({"metadata": {"annotations": {"crossplane.io/paused": null}}}))
        .await;
    paused.until("to be ready once it is not paused", is_ready).await;
    paused.merge(json!({"spec": {"managementPolicies": []}})).await;
    paused
        .until("to be paused by its policies", |seen| {
            reason(seen, "Synced") == "ReconcilePaused"
        })
        .await;
    paused.merge(json!({"spec": {"managementPolicies": ["*"]}})).await;
    paused.until("to be synced again", is_synced).await;

    // Only observed: what exists is shown, nothing is changed, and it outlives its object.
    clients
        .s3
        .create_bucket()
        .bucket("theirs")
        .send()
        .await
        .expect("created by hand");
    let observed = stack.bucket("import");
    let mut manifest = manifests::bucket();
    manifest["metadata"] = json!({"annotations": {"crossplane.io/external-name": "theirs"}});
    manifest["spec"] = json!({"managementPolicies": ["Observe"], "forProvider": {}});
    observed.create(manifest).await;
    let seen = observed.until("to be ready", is_ready).await;
    assert_eq!(seen["status"]["atProvider"]["arn"], "arn:aws:s3:::theirs");
    observed.delete().await;
    observed.until_deleted().await;
    assert!(
        stack
            .aws
            .buckets()
            .await
            .expect("a list")
            .contains(&"theirs".to_owned())
    );

    // Only observed, and absent: reported, not created.
    let missing = stack.bucket("missing");
    let mut manifest = manifests::bucket();
    manifest["spec"]["managementPolicies"] = json!(["Observe"]);
    missing.create(manifest).await;
    missing
        .until("to report that it is absent", |seen| {
            condition(seen, "Synced")["message"] == "observe failed: external resource does not exist"
        })
        .await;
    missing.delete().await;
    missing.until_deleted().await;

    // Connection details go to a Secret of the right type, owned by the object.
    let queue = stack.queue("connected");
    let mut manifest = manifests::queue();
    manifest["spec"]["writeConnectionSecretToRef"] = json!({"name": "queue-connection"});
    queue.create(manifest).await;
    let ready = queue.until("to be ready", is_ready).await;
    let secret = stack
        .cluster
        .secret("queue-connection")
        .get()
        .await
        .expect("published before Ready");
    assert_eq!(secret["type"], "connection.crossplane.io/v1alpha1");
    assert_eq!(
        secret["metadata"]["ownerReferences"][0]["uid"],
        ready["metadata"]["uid"]
    );
    assert!(!secret["data"].as_object().expect("data").is_empty());
    queue.delete().await;
    queue.until_deleted().await;
    stack.cluster.secret("queue-connection").until_deleted().await;

    // Asked for now: the token is handed back.
    let token = json!({"metadata": {"annotations": {"crossplane.io/reconcile-requested-at": "now-please"}}});
    paused.merge(token).await;
    paused
        .until("to have handled the request", |seen| {
            seen["status"]["lastHandledReconcileAt"] == "now-please"
        })
        .await;

    let events = stack.events("paused").await;
    for expected in ["CreatedExternalResource", "ReconciliationPaused"] {
        assert!(
            events.iter().any(|event| event == expected),
            "{expected} in {events:?}"
        );
    }
    no_secret_leaked(&stack).await;
}

/// The secret key is in no log of plugin or bridge, and in no object but its own Secret.
async fn no_secret_leaked(stack: &Stack) {
    let secret = stack.aws.credentials().secret_access_key;
    assert!(!stack.logged().contains(&secret), "a secret in a log");
    let bucket: Value = stack.bucket("paused").get().await.expect("the bucket");
    assert!(!bucket.to_string().contains(&secret), "a secret in an object");
    assert!(
        !stack.admin("/debug/state").await.contains(&secret),
        "a secret in /debug/state"
    );
    assert!(
        !stack.admin("/metrics").await.contains(&secret),
        "a secret in /metrics"
    );
}
