//! As few writes as safety allows, counted by the API server itself: design 4.1.

use std::time::Duration;

use bridge_e2e::{Handle, Requests, Stack, StackOptions, annotation, is_ready, is_synced};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::manifests;

fn settled(object: &Value) -> bool {
    is_ready(object) && is_synced(object)
}

/// Writes to the objects of one kind, our own creation left out.
async fn writes_to_ready(stack: &Stack, handle: &Handle, plural: &str, manifest: Value) -> u64 {
    let before = Requests::of(&stack.cluster.client, plural).await;
    handle.create(manifest).await;
    handle.until("to be ready", settled).await;
    Requests::of(&stack.cluster.client, plural)
        .await
        .writes_since(&before)
        - 1
}

/// Waits until the consistency window of the creation is over: deleted sooner, the bridge reports the wait, which costs one more status write.
async fn wait_for_consistency(bucket: &Handle) {
    let object = bucket.get().await.expect("a bucket");
    let record: Value =
        serde_json::from_str(annotation(&object, "crossbridge.dev/record")).expect("a record");
    let deadline = record["intent"]["deadline"].as_str().expect("of its create");
    let deadline: Timestamp = deadline.parse().expect("a time");
    // --clock-skew, and the consistency window of the kind.
    let seen = deadline + Duration::from_secs(1) + Duration::from_secs(5);
    bridge_e2e::eventually("the time of its create is over", async || Timestamp::now() > seen).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_from_create_to_ready_and_none_at_rest() {
    let flags = ["--poll", "1s", "--poll-jitter", "0s"]
        .map(str::to_owned)
        .to_vec();
    let stack = Stack::start(StackOptions {
        bridge_flags: flags,
        ..StackOptions::default()
    })
    .await;
    let all = [
        ("buckets", stack.bucket("counted"), manifests::bucket(), 2),
        ("queues", stack.queue("counted"), manifests::queue(), 2),
        // One status more when the operation begins.
        ("tables", stack.table("counted"), manifests::table(), 3 + 1),
        (
            "distributions",
            stack.distribution("counted"),
            manifests::distribution(),
            4 + 1,
        ),
    ];
    for (plural, handle, manifest, expected) in &all {
        let writes = writes_to_ready(&stack, handle, plural, manifest.clone()).await;
        println!("{plural}: {writes} writes from create to Ready");
        assert_eq!(writes, *expected, "{plural}");
    }

    for (plural, handle, ..) in &all {
        let before = Requests::of(&stack.cluster.client, plural).await;
        let polls = stack.polls(plural);
        bridge_e2e::eventually("three polls have come", async || stack.polls(plural) >= polls + 3).await;
        let after = Requests::of(&stack.cluster.client, plural).await;
        assert_eq!(after.writes_since(&before), 0, "{plural} at rest");
        assert_eq!(after.reads_since(&before), 0, "{plural} at rest: no reads either");
        drop(handle.get().await);
    }

    let before = Requests::of(&stack.cluster.client, "buckets").await;
    let changed = stack
        .bucket("counted")
        .merge(json!({"spec": {"forProvider": {"tags": {"team": "shop"}}}}))
        .await;
    stack
        .bucket("counted")
        .until("to have seen the change", |seen| {
            settled(seen)
                && bridge_e2e::condition(seen, "Synced")["observedGeneration"]
                    == changed["metadata"]["generation"]
        })
        .await;
    assert_eq!(
        Requests::of(&stack.cluster.client, "buckets")
            .await
            .writes_since(&before)
            - 1,
        1,
        "a spec change"
    );

    wait_for_consistency(&stack.bucket("counted")).await;
    for (plural, handle, expected) in [
        ("buckets", stack.bucket("counted"), 2),
        ("distributions", stack.distribution("counted"), 2 + 1),
    ] {
        let before = Requests::of(&stack.cluster.client, plural).await;
        handle.delete().await;
        handle.until_deleted().await;
        let writes = Requests::of(&stack.cluster.client, plural)
            .await
            .writes_since(&before)
            - 1;
        println!("{plural}: {writes} writes from delete to gone");
        assert_eq!(writes, expected, "deletion of {plural}");
    }
}
