//! Create, drift correction, update, delete: each kind, from end to end, with changes made in AWS directly.

use aws_sdk_sqs::types::QueueAttributeName;
use bridge_e2e::{AwsClients, Stack, StackOptions, annotation, condition, eventually, is_ready, is_synced};
use serde_json::{Value, json};

use super::manifests;

const NAME: &str = "crossplane.io/external-name";

/// With drift searched for every two seconds.
async fn start_with_fast_polls() -> (Stack, AwsClients) {
    let flags = ["--poll", "2s", "--poll-jitter", "0s"]
        .map(str::to_owned)
        .to_vec();
    let stack = Stack::start(StackOptions {
        bridge_flags: flags,
        ..StackOptions::default()
    })
    .await;
    let clients = AwsClients::of(&stack.aws).await;
    (stack, clients)
}

fn settled(object: &Value) -> bool {
    is_ready(object) && is_synced(object)
}

/// Ready, and what the user wrote last was seen.
fn settled_at(object: &Value, written: &Value) -> bool {
    settled(object) && condition(object, "Synced")["observedGeneration"] == written["metadata"]["generation"]
}

async fn bucket_tag(clients: &AwsClients, bucket: &str) -> Option<String> {
    let tags = clients
        .s3
        .get_bucket_tagging()
        .bucket(bucket)
        .send()
        .await
        .ok()?
        .tag_set;
    tags.into_iter()
        .find(|tag| tag.key == "team")
        .map(|tag| tag.value)
}

#[tokio::test(flavor = "multi_thread")]
async fn bucket() {
    let (stack, clients) = start_with_fast_polls().await;
    let bucket = stack.bucket("life-of-a-bucket");
    bucket.create(manifests::bucket()).await;
    let created = bucket.until("to be ready", settled).await;
    assert_eq!(annotation(&created, NAME), "life-of-a-bucket");
    assert_eq!(
        bucket_tag(&clients, "life-of-a-bucket").await.as_deref(),
        Some("web")
    );
    assert_eq!(
        created["status"]["atProvider"]["arn"],
        "arn:aws:s3:::life-of-a-bucket"
    );

    let suspended = aws_sdk_s3::types::VersioningConfiguration::builder()
        .status("Suspended".into())
        .build();
    clients
        .s3
        .put_bucket_versioning()
        .bucket("life-of-a-bucket")
        .versioning_configuration(suspended)
        .send()
        .await
        .expect("suspended by hand");
    eventually("versioning is put right", async || {
        let versioning = clients
            .s3
            .get_bucket_versioning()
            .bucket("life-of-a-bucket")
            .send()
            .await
            .expect("versioning");
        versioning
            .status
            .is_some_and(|status| status.as_str() == "Enabled")
    })
    .await;

    let changed = bucket
        .merge(json!({"spec": {"forProvider": {"tags": {"team": "shop"}}}}))
        .await;
    bucket
        .until("to have seen the change", |seen| settled_at(seen, &changed))
        .await;
    assert_eq!(
        bucket_tag(&clients, "life-of-a-bucket").await.as_deref(),
        Some("shop")
    );

    bucket.delete().await;
    bucket.until_deleted().await;
    assert!(stack.aws.buckets().await.expect("a list").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn queue() {
    let (stack, clients) = start_with_fast_polls().await;
    let queue = stack.queue("orders");
    queue.create(manifests::queue()).await;
    let created = queue.until("to be ready", settled).await;
    let url = annotation(&created, NAME).to_owned();
    assert!(
        url.starts_with("http") && url.ends_with("/orders"),
        "the name is the URL: {url}"
    );
    let timeout = async || {
        let answer = clients
            .sqs
            .get_queue_attributes()
            .queue_url(&url)
            .attribute_names(QueueAttributeName::VisibilityTimeout)
            .send()
            .await
            .expect("attributes");
        answer
            .attributes
            .and_then(|all| all.get(&QueueAttributeName::VisibilityTimeout).cloned())
    };
    assert_eq!(timeout().await.as_deref(), Some("45"));

    clients
        .sqs
        .set_queue_attributes()
        .queue_url(&url)
        .attributes(QueueAttributeName::VisibilityTimeout, "7")
        .send()
        .await
        .expect("set by hand");
    eventually("the timeout is put right", async || {
        timeout().await.as_deref() == Some("45")
    })
    .await;

    let changed = queue
        .merge(json!({"spec": {"forProvider": {"visibilityTimeoutSeconds": 60}}}))
        .await;
    queue
        .until("to have seen the change", |seen| settled_at(seen, &changed))
        .await;
    assert_eq!(timeout().await.as_deref(), Some("60"));

    queue.delete().await;
    queue.until_deleted().await;
    assert!(stack.aws.queues("us-east-1").await.expect("a list").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn table() {
    let (stack, clients) = start_with_fast_polls().await;
    let table = stack.table("ledger");
    table.create(manifests::table()).await;
    table
        .until("to show its operation", |seen| {
            condition(seen, "AsyncOperation")["reason"] == "Ongoing"
        })
        .await;
    let created = table.until("to be ready", settled).await;
    assert_eq!(annotation(&created, NAME), "ledger");
    assert!(
        condition(&created, "AsyncOperation").is_null(),
        "the operation is over"
    );
    let arn = created["status"]["atProvider"]["arn"]
        .as_str()
        .expect("an ARN")
        .to_owned();
    let team = async || {
        let tags = clients
            .dynamodb
            .list_tags_of_resource()
            .resource_arn(&arn)
            .send()
            .await
            .expect("tags")
            .tags
            .unwrap_or_default();
        tags.into_iter()
            .find(|tag| tag.key == "team")
            .map(|tag| tag.value)
    };
    assert_eq!(team().await.as_deref(), Some("web"));

    let drifted = aws_sdk_dynamodb::types::Tag::builder()
        .key("team")
        .value("drifted")
        .build()
        .expect("a tag");
    clients
        .dynamodb
        .tag_resource()
        .resource_arn(&arn)
        .tags(drifted)
        .send()
        .await
        .expect("tagged by hand");
    eventually("the tag is put right", async || {
        team().await.as_deref() == Some("web")
    })
    .await;

    let changed = table
        .merge(json!({"spec": {"forProvider": {"tags": {"team": "shop"}}}}))
        .await;
    table
        .until("to have seen the change", |seen| settled_at(seen, &changed))
        .await;
    // An update of a table is an operation: Synced does not wait for its end.
    eventually("the tag is changed", async || {
        team().await.as_deref() == Some("shop")
    })
    .await;

    table.delete().await;
    table.until_deleted().await;
    assert!(stack.aws.tables("us-east-1").await.expect("a list").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn distribution() {
    let (stack, clients) = start_with_fast_polls().await;
    let distribution = stack.distribution("site");
    distribution.create(manifests::distribution()).await;
    distribution
        .until("to show its operation", |seen| {
            condition(seen, "AsyncOperation")["reason"] == "Ongoing"
        })
        .await;
    let created = distribution.until("to be ready", settled).await;
    let id = annotation(&created, NAME).to_owned();
    assert_eq!(stack.aws.distributions().await.expect("a list")[0].id, id);
    assert!(!annotation(&created, "crossplane.io/external-create-succeeded").is_empty());
    let comment = async || {
        clients
            .cloudfront
            .get_distribution_config()
            .id(&id)
            .send()
            .await
            .expect("a config")
    };

    let now = comment().await;
    let mut config = now.distribution_config.expect("a config");
    config.comment = "drifted".to_owned();
    clients
        .cloudfront
        .update_distribution()
        .id(&id)
        .if_match(now.e_tag.expect("an etag"))
        .distribution_config(config)
        .send()
        .await
        .expect("updated by hand");
    let is = async |expected: &str| {
        comment()
            .await
            .distribution_config
            .is_some_and(|config| config.comment == expected)
    };
    eventually("the comment is put right", async || is("site").await).await;

    let changed = distribution
        .merge(json!({"spec": {"forProvider": {"comment": "shop"}}}))
        .await;
    distribution
        .until("to have seen the change", |seen| settled_at(seen, &changed))
        .await;
    eventually("the comment is changed", async || is("shop").await).await;

    distribution.delete().await;
    distribution.until_deleted().await;
    assert!(stack.aws.distributions().await.expect("a list").is_empty());
}
