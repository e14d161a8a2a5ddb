//! Resident memory of the bridge and the AWS plugin.

use std::time::Instant;

use bridge_e2e::{Stack, StackOptions, eventually, is_ready};
use futures::StreamExt;
use kube::{
    Api,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams},
};
use serde_json::json;

use crate::usage::resident_kb;

/// Buckets that are created at the same time.
const AT_ONCE: usize = 20;

pub(crate) async fn measure(buckets: usize) {
    let stack = Stack::start(StackOptions::default()).await;
    // The first bucket opens what is opened once: connections, caches of credentials.
    create_bucket(&stack, "first").await;
    all_ready(&stack, 1).await;
    print_memory(&stack, "1 bucket");

    let begun = Instant::now();
    futures::stream::iter(0..buckets)
        .for_each_concurrent(AT_ONCE, async |number| {
            create_bucket(&stack, &format!("bucket-{number}")).await;
        })
        .await;
    all_ready(&stack, buckets + 1).await;
    println!(
        "{buckets} more created and Ready after {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    print_memory(&stack, &format!("{} buckets", buckets + 1));
}

async fn create_bucket(stack: &Stack, name: &str) {
    let manifest = json!({
        "apiVersion": "s3.aws.crossbridge.dev/v1alpha1",
        "kind": "Bucket",
        "spec": {"forProvider": {"tags": {"team": "web"}, "versioning": "Enabled"}},
    });
    stack.bucket(name).create(manifest).await;
}

/// Waits until so many buckets are Ready.
async fn all_ready(stack: &Stack, wanted: usize) {
    let kind = GroupVersionKind::gvk("s3.aws.crossbridge.dev", "v1alpha1", "Bucket");
    let kind = ApiResource::from_gvk_with_plural(&kind, "buckets");
    let buckets: Api<DynamicObject> =
        Api::namespaced_with(stack.cluster.client.clone(), &stack.cluster.namespace, &kind);
    // As many waits as there are hundreds, since each has its own limit.
    let steps = (0..wanted).step_by(100).skip(1).chain([wanted]);
    for step in steps {
        eventually(&format!("{step} buckets are Ready"), async || {
            let all = buckets
                .list(&ListParams::default())
                .await
                .expect("a list of buckets");
            let ready = all
                .items
                .iter()
                .filter_map(|bucket| serde_json::to_value(bucket).ok())
                .filter(is_ready)
                .count();
            ready >= step
        })
        .await;
    }
}

fn print_memory(stack: &Stack, with: &str) {
    println!(
        "{with}: bridge {:.1} MB, plugin {:.1} MB resident",
        resident_kb(stack.bridge()) / 1024.0,
        resident_kb(stack.plugin()) / 1024.0
    );
}
