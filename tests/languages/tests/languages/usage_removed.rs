//! `function-pythonic`, unmodified: its script composes a usage, and in the next revision it does not.

use std::{fs, path::PathBuf};

use bridge_languages::Function;
use kube::{
    Api,
    api::{DeleteParams, DynamicObject},
    runtime::wait::await_condition,
};
use serde_json::json;

use crate::{LIMIT, composed::Composed, test_object::is_true};

/// A queue that a `ConfigMap` uses.
const SCRIPT: &str = "
class Shop(BaseComposite):
    def compose(self):
        queue = self.resources.queue('Queue', 'sqs.aws.crossbridge.dev/v1alpha1', name='orders')
        queue.spec.forProvider.name = 'orders'
        queue.spec.forProvider.visibilityTimeoutSeconds = 45
        page = self.resources.page('ConfigMap', 'v1', name='page')
        page.data.queue = 'orders'
";
const USAGE: &str = "
        usage = self.resources.usage('Usage', 'protection.crossplane.io/v1beta1', name='page-uses-orders')
        usage.spec.of.apiVersion = 'sqs.aws.crossbridge.dev/v1alpha1'
        usage.spec.of.kind = 'Queue'
        usage.spec.of.resourceRef.name = 'orders'
        usage.spec.by.apiVersion = 'v1'
        usage.spec.by.kind = 'ConfigMap'
        usage.spec.by.resourceRef.name = 'page'
";

impl Composed {
    fn manifest(&self, name: &str, object: &serde_json::Value) -> PathBuf {
        let file = self.scratch.path().join(name);
        fs::write(&file, object.to_string()).expect("it is written");
        file
    }

    async fn compose(&self, script: &str) {
        let composition = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "Composition",
            "metadata": {"name": "shops"},
            "spec": {
                "compositeTypeRef": {"apiVersion": "example.org/v1alpha1", "kind": "Shop"},
                "mode": "Pipeline",
                "pipeline": [{
                    "step": "compose", "functionRef": {"name": "scripts"},
                    "input": {
                        "apiVersion": "pythonic.fn.crossplane.io/v1alpha1", "kind": "Composite", "composite": script,
                    },
                }],
            },
        });
        let file = self.manifest("composition.yaml", &composition);
        self.cluster.apply(&file).await;
    }
}

async fn until(
    what: &str,
    api: &Api<DynamicObject>,
    name: &str,
    holds: impl Fn(Option<&DynamicObject>) -> bool,
) -> Option<DynamicObject> {
    let waited = tokio::time::timeout(LIMIT, await_condition(api.clone(), name, holds)).await;
    waited
        .unwrap_or_else(|_| panic!("{name}: {what}"))
        .expect("a watch")
}

fn is_labelled(object: Option<&DynamicObject>) -> bool {
    let labels = object.and_then(|object| object.metadata.labels.as_ref());
    labels.is_some_and(|labels| labels.contains_key("crossplane.io/in-use"))
}

#[tokio::test]
async fn a_usage_that_a_script_composes_no_more_goes_and_both_resources_stay() {
    let served = Composed::start(&[(Function::Pythonic, "scripts")], None).await;
    let cluster = &served.cluster;
    cluster.apply(&served.account()).await;
    let definition = json!({
        "apiVersion": "apiextensions.crossplane.io/v2", "kind": "CompositeResourceDefinition",
        "metadata": {"name": "shops.example.org"},
        "spec": {
            "group": "example.org", "names": {"kind": "Shop", "plural": "shops"}, "scope": "Namespaced",
            "versions": [{
                "name": "v1alpha1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
            }],
        },
    });
    let file = served.manifest("definition.yaml", &definition);
    cluster.apply(&file).await;
    served.compose(&format!("{SCRIPT}{USAGE}")).await;
    let shop = json!({"metadata": {"name": "shop"}, "spec": {}});
    cluster.create("example.org", "v1alpha1", "Shop", shop).await;

    let shops = cluster.api("example.org", "v1alpha1", "Shop");
    let usages = cluster.api("protection.crossplane.io", "v1beta1", "Usage");
    let queues = cluster.api("sqs.aws.crossbridge.dev", "v1alpha1", "Queue");
    let ready = |object: Option<&DynamicObject>| object.is_some_and(|object| is_true(object, "Ready"));
    until("ready", &usages, "page-uses-orders", ready).await;
    let queue = until("ready", &queues, "orders", ready).await.expect("a queue");
    assert!(is_labelled(Some(&queue)) || is_labelled(queues.get("orders").await.ok().as_ref()));
    let refused = queues.delete("orders", &DeleteParams::default()).await;
    let refusal = refused.expect_err("it is in use").to_string();
    assert!(refusal.contains("in-use"), "{refusal}");

    served.compose(SCRIPT).await;
    until("gone", &usages, "page-uses-orders", |usage| usage.is_none()).await;
    let free = until("free", &queues, "orders", |queue| !is_labelled(queue)).await;
    let free = free.expect("the queue stays").metadata;
    assert_eq!((free.uid, free.deletion_timestamp), (queue.metadata.uid, None));
    let page = cluster
        .api("", "v1", "ConfigMap")
        .get("page")
        .await
        .expect("the page stays");
    assert_eq!(page.metadata.deletion_timestamp, None);

    // The collector deletes what it owns, beside the bridge.
    let deleted = shops.delete("shop", &DeleteParams::foreground()).await;
    deleted.expect("it can be deleted");
    until("gone", &shops, "shop", |shop| shop.is_none()).await;
    assert!(queues.get_opt("orders").await.expect("an answer").is_none());
    assert!(served.bridge.stop(LIMIT).await.success());
}
