//! A CRD that goes and comes back is served again, without a restart and under load.

use bridge_e2e::{Stack, StackOptions, is_ready};

use super::manifests;

#[tokio::test(flavor = "multi_thread")]
async fn a_recreated_definition_is_served_again_under_load() {
    let stack = Stack::start(StackOptions {
        controller_manager: true,
        ..StackOptions::default()
    })
    .await;
    for number in 0..20 {
        stack
            .bucket(&format!("before-{number}"))
            .create(manifests::bucket())
            .await;
    }
    stack.bucket("before-0").until("to be ready", is_ready).await;

    let definition = stack.cluster.definition("buckets.s3.aws.crossbridge.dev");
    let mut created = definition.get().await.expect("the CRD");
    let uid = created["metadata"]["uid"].clone();
    // A deleted CRD takes its objects along: their finalizers are the bridge's to remove, while it goes.
    definition.delete().await;
    definition.until_deleted().await;
    assert!(
        stack.aws.buckets().await.expect("a list").is_empty(),
        "the buckets went with their objects"
    );

    for field in [
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "finalizers",
        "deletionTimestamp",
    ] {
        created["metadata"]
            .as_object_mut()
            .expect("metadata")
            .remove(field);
    }
    created.as_object_mut().expect("an object").remove("status");
    definition.create(created).await;
    definition
        .until("to be established anew", |seen| {
            bridge_e2e::condition(seen, "Established")["status"] == "True" && seen["metadata"]["uid"] != uid
        })
        .await;
    stack.bucket("after").create(manifests::bucket()).await;
    stack.bucket("after").until("to be ready", is_ready).await;
    assert_eq!(stack.aws.buckets().await.expect("a list"), ["after"]);
}
