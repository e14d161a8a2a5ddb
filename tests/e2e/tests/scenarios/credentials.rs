//! Wrong credentials never read as absence, and never create anything.

use aws_emulator::{Credentials, Options, Service};
use bridge_e2e::{Stack, StackOptions, condition, is_ready, is_synced, message, reason};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::manifests;

fn with_signatures(credentials: Option<Credentials>) -> StackOptions {
    StackOptions {
        aws: Options {
            auth: true,
            ..Options::default()
        },
        credentials,
        ..StackOptions::default()
    }
}

/// Since when the config has been ready, to the second.
fn ready_since(config: &Value) -> Timestamp {
    let since = condition(config, "Ready")["lastTransitionTime"].as_str();
    since.expect("a time").parse().expect("a time")
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_keys_create_nothing_and_name_the_fix() {
    let wrong = Credentials {
        access_key_id: "AKIANOBODYKNOWSTHIS0".to_owned(),
        secret_access_key: "wrong".to_owned(),
    };
    let stack = Stack::start(with_signatures(Some(wrong))).await;
    stack.bucket("rejected").create(manifests::bucket()).await;
    stack
        .distribution("rejected")
        .create(manifests::distribution())
        .await;
    let bucket = stack
        .bucket("rejected")
        .until("to report that it is not synced", |seen| {
            reason(seen, "Synced") == "Unauthenticated"
        })
        .await;
    stack
        .distribution("rejected")
        .until("to report that it is not synced", |seen| {
            reason(seen, "Synced") == "Unauthenticated"
        })
        .await;
    assert!(
        message(&bucket, "Synced").contains("InvalidAccessKeyId")
            || message(&bucket, "Synced").contains("InvalidClientTokenId"),
        "{bucket:#}"
    );
    assert_eq!(stack.aws.calls(Service::S3, "CreateBucket"), 0);
    assert_eq!(
        stack.aws.calls(Service::CloudFront, "CreateDistributionWithTags"),
        0
    );

    let config = stack.config("default");
    let is_rejected = |seen: &Value| reason(seen, "Ready") == "Unauthenticated";
    config.until("to be rejected", is_rejected).await;
    // The right keys in the same Secret: everything goes on by itself, and the config is the first to say so.
    stack.rotate(&stack.aws.credentials()).await;
    let written = Timestamp::now();
    let corrected = config.until("to be ready with the right keys", is_ready).await;
    let after = ready_since(&corrected).duration_since(written);
    // A condition's time is cut to the second.
    assert!(after <= SignedDuration::from_secs(2), "{after}: {corrected:#}");
    stack
        .bucket("rejected")
        .until("to be ready with the right keys", is_ready)
        .await;
    stack
        .distribution("rejected")
        .until("to be ready with the right keys", is_ready)
        .await;

    // Without a Secret it says which one is missing, until there is one again.
    stack.cluster.secret("aws").delete().await;
    let missing = config
        .until("to miss its Secret", |seen| {
            reason(seen, "Ready") == "SecretNotFound"
        })
        .await;
    assert!(message(&missing, "Ready").contains("default/aws"), "{missing:#}");
    stack.create_secret(&stack.aws.credentials()).await;
    config.until("to be ready with its Secret", is_ready).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revoked_keys_never_read_as_absence() {
    let stack = Stack::start(with_signatures(None)).await;
    stack.bucket("kept").create(manifests::bucket()).await;
    stack.distribution("kept").create(manifests::distribution()).await;
    stack.bucket("kept").until("to be ready", is_ready).await;
    stack.distribution("kept").until("to be ready", is_ready).await;

    let right = stack.aws.credentials();
    stack
        .rotate(&Credentials {
            secret_access_key: "turned bad".to_owned(),
            ..right.clone()
        })
        .await;
    stack
        .bucket("kept")
        .until("to report that it is not synced", |seen| !is_synced(seen))
        .await;
    stack
        .distribution("kept")
        .until("to report that it is not synced", |seen| !is_synced(seen))
        .await;
    // A deletion does not take a rejected Observe for an absence.
    stack.bucket("kept").delete().await;
    stack
        .bucket("kept")
        .until("to report that it is being deleted", |seen| {
            reason(seen, "Ready") == "Deleting"
        })
        .await;
    assert_eq!(stack.aws.buckets().await.expect("a list"), ["kept"]);
    assert_eq!(stack.aws.distributions().await.expect("a list").len(), 1);
    assert_eq!(stack.aws.calls(Service::S3, "CreateBucket"), 1);
    assert_eq!(
        stack.aws.calls(Service::CloudFront, "CreateDistributionWithTags"),
        1
    );

    stack.rotate(&right).await;
    stack.bucket("kept").until_deleted().await;
    stack
        .distribution("kept")
        .until("to be synced again", is_synced)
        .await;
    assert_eq!(stack.aws.buckets().await.expect("a list"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_config_is_named_and_awaited() {
    let stack = Stack::start(StackOptions::default()).await;
    let mut manifest = manifests::bucket();
    manifest["spec"]["providerConfigRef"] = json!({"kind": "ClusterProviderConfig", "name": "later"});
    stack.bucket("waits").create(manifest).await;
    let seen = stack
        .bucket("waits")
        .until("to name the config", |seen| {
            message(seen, "Synced").contains("later")
        })
        .await;
    assert_eq!(reason(&seen, "Synced"), "ProviderConfigNotFound");
    let mut config = stack.config("default").get().await.expect("the config");
    config["metadata"] = json!({});
    stack.config("later").create(config).await;
    stack
        .bucket("waits")
        .until("to be ready once the config is there", is_ready)
        .await;
}
