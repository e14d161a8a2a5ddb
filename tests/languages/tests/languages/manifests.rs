//! The manifests of the examples, as a user applies them: by kubectl, in any order.

use std::{
    cmp::Reverse,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bridge_control_plane::process::{Output, Spawn};
use bridge_languages::{Function, Language};
use kube::{
    Api,
    api::{DynamicObject, ListParams},
    runtime::wait::await_condition,
};
use serde_json::json;

use crate::{
    LIMIT, Testbed,
    composed::Composed,
    processes::{Cluster, group},
    test_object,
};

impl Testbed {
    /// The files of a language's example, that which others depend on last, with a folder of this test for the one that they name.
    fn manifests(&self, language: Language) -> Vec<PathBuf> {
        let named = match language {
            Language::Python => "/tmp/garden",
            Language::Go => "/tmp/press",
            Language::TypeScript => "/tmp/bakery",
        };
        let to = self.scratch.path().join(format!("manifests-{}", language.name()));
        fs::create_dir(&to).expect("it is created");
        let folder = self.folder(group(language)).display().to_string();
        let files = fs::read_dir(language.source().join("manifests")).expect("the manifests");
        let mut files: Vec<PathBuf> = files
            .map(|entry| entry.expect("an entry").path())
            .map(|file| {
                let text = fs::read_to_string(&file).expect("a manifest");
                let copy = to.join(file.file_name().expect("a name"));
                fs::write(&copy, text.replace(named, &folder)).expect("it is written");
                copy
            })
            .collect();
        files.sort();
        files.reverse();
        files
    }
}

impl Cluster {
    /// Whether kubectl succeeds, and what it says if it does not.
    async fn kubectl(&self, arguments: &[&str], file: &Path) -> Result<(), String> {
        let (say, said) = std::sync::mpsc::channel();
        let kubectl = Spawn::new(self.plane.kubectl())
            .args(arguments)
            .arg("-f")
            .arg(file)
            .env("KUBECONFIG", self.plane.kubeconfig())
            .stderr(Output::lines(move |line| drop(say.send(format!("{line}\n")))));
        let ended = kubectl.spawn().expect("it starts").wait_for(LIMIT).await;
        if ended.is_ok_and(|status| status.success()) {
            return Ok(());
        }
        Err(format!(
            "kubectl {arguments:?} {}: {}",
            file.display(),
            said.iter().collect::<String>()
        ))
    }

    /// Applies it as soon as its kinds are served.
    pub(crate) async fn apply(&self, file: &Path) {
        self.until_served(&["apply", "--validate=strict"], file).await;
    }

    /// Runs kubectl as soon as the kinds of the file are served.
    pub(crate) async fn until_served(&self, arguments: &[&str], file: &Path) {
        let begun = Instant::now();
        while let Err(why) = self.kubectl(arguments, file).await {
            let is_not_served_yet = ["no matches for kind", "could not find the requested resource"];
            assert!(
                is_not_served_yet.iter().any(|part| why.contains(part)) && begun.elapsed() < LIMIT,
                "{why}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    pub(crate) async fn go_ready_and_are_deleted(&self, files: &[PathBuf]) {
        self.go_ready(files).await;
        self.are_deleted(files).await;
    }

    /// Applies them in this order: what waits for what comes after it goes Ready all the same.
    async fn go_ready(&self, files: &[PathBuf]) {
        for file in files {
            self.apply(file).await;
        }
        let limit = format!("--timeout={}s", LIMIT.as_secs());
        for file in files {
            let text = fs::read_to_string(file).expect("a manifest");
            let Some(condition) = condition(&text) else {
                continue;
            };
            let condition = format!("--for=condition={condition}");
            let wait = ["wait", &condition, &limit];
            self.kubectl(&wait, file).await.expect("it becomes ready");
        }
    }

    /// Of each folder what others need goes last. What is gone already is passed over.
    async fn are_deleted(&self, files: &[PathBuf]) {
        let limit = format!("--timeout={}s", LIMIT.as_secs());
        let mut last_first: Vec<&PathBuf> = files.iter().collect();
        last_first.sort_by_key(|file| Reverse(file.file_name()));
        for file in last_first {
            self.kubectl(&["delete", "--ignore-not-found", &limit], file)
                .await
                .expect("it is deleted");
        }
    }
}

/// What a manifest's objects are waited for; `None`: they have no condition.
fn condition(text: &str) -> Option<&'static str> {
    if text.contains("kind: CompositeResourceDefinition") {
        Some("Established")
    } else if ["Composition", "Secret", "ServiceAccount"]
        .iter()
        .any(|kind| text.contains(&format!("\nkind: {kind}\n")))
    {
        None
    } else {
        Some("Ready")
    }
}

#[tokio::test]
async fn every_example_becomes_ready_and_is_deleted() {
    let testbed = Testbed::start().await;
    let manifests = Language::ALL.map(|language| testbed.manifests(language));
    testbed
        .cluster
        .go_ready_and_are_deleted(&manifests.concat())
        .await;
    testbed.stop().await;
}

/// The files of an example of a function, the composition before the definition of its type.
fn manifests_of(function: Function) -> Vec<PathBuf> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = fs::read_dir(examples.join(function.name()).join("manifests")).expect("the manifests");
    let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files.swap(0, 1);
    files
}

#[tokio::test]
async fn every_example_of_a_function_becomes_ready_and_is_deleted() {
    let served = Composed::start(
        &[
            (Function::Example, "notices"),
            (Function::TypeScript, "timetables"),
        ],
        None,
    )
    .await;
    let manifests = [Function::Example, Function::TypeScript].map(manifests_of);
    served.cluster.go_ready_and_are_deleted(&manifests.concat()).await;
    assert!(served.bridge.stop(LIMIT).await.success());
}

/// The message of `DeletionBlocked`, once it is True.
async fn blocked(claims: &Api<DynamicObject>, name: &str) -> String {
    let message = |claim: &DynamicObject| {
        let blocked = test_object::condition(claim, "DeletionBlocked")?;
        (blocked["status"] == "True").then(|| blocked["message"].to_string())
    };
    let is_blocked = |claim: Option<&DynamicObject>| claim.and_then(message).is_some();
    let blocked = tokio::time::timeout(LIMIT, await_condition(claims.clone(), name, is_blocked)).await;
    let claim = blocked.expect("it says what blocks it").expect("a watch");
    claim.as_ref().and_then(message).unwrap_or_default()
}

const QUEUE: &str = "crossbridge-demo-shop-events";
const HUNG: &str = "hung-on-the-queue";

/// An object of a user that goes with another one: by the garbage collector, which thereby is seen to run.
async fn hang_on(cluster: &Cluster, owners: &Api<DynamicObject>, owner: &str) {
    let owner = owners.get(owner).await.expect("the owner");
    let types = owner.types.expect("its type");
    let reference = json!({
        "apiVersion": types.api_version, "kind": types.kind,
        "name": owner.metadata.name, "uid": owner.metadata.uid,
    });
    let hung = json!({"metadata": {"name": HUNG, "ownerReferences": [reference]}});
    cluster.create("", "v1", "ConfigMap", hung).await;
}

#[tokio::test]
async fn composed_aws_resources_become_ready_and_a_full_bucket_holds_their_deletion() {
    let served = Composed::start(&[(Function::AwsComposition, "storages")], None).await;
    let cluster = &served.cluster;
    cluster.apply(&served.account()).await;
    let manifests = manifests_of(Function::AwsComposition);
    cluster.go_ready(&manifests).await;

    let (bucket, object) = (
        "crossbridge-demo-shop-data",
        "/crossbridge-demo-shop-data/order.txt",
    );
    served.s3("PUT", object).await;
    let queues = cluster.api("sqs.aws.crossbridge.dev", "v1alpha1", "Queue");
    hang_on(cluster, &queues, QUEUE).await;
    let is_claim =
        |file: &&PathBuf| fs::read_to_string(file).is_ok_and(|text| text.contains("kind: Storage\n"));
    let claim = manifests.iter().find(is_claim).expect("a claim");
    let deleted = cluster.kubectl(&["delete", "--wait=false"], claim).await;
    deleted.unwrap_or_else(|why| panic!("{why}"));
    let claims = cluster.api("example.org", "v1alpha1", "Storage");
    let message = blocked(&claims, "shop").await;
    // The object with what AWS has answered, and what can be done.
    for part in [bucket, "BucketNotEmpty", "crossbridge.dev/release"] {
        assert!(message.contains(part), "{part} in {message}");
    }
    // The bucket uses the queue.
    let queue = queues.get(QUEUE).await.expect("the queue");
    assert_eq!(queue.metadata.deletion_timestamp, None);

    served.s3("DELETE", object).await;
    let is_gone = |claim: Option<&DynamicObject>| claim.is_none();
    let gone = tokio::time::timeout(LIMIT, await_condition(claims, "shop", is_gone)).await;
    gone.expect("it goes once the bucket is empty").expect("a watch");
    // The claim goes last.
    let buckets = cluster.api("s3.aws.crossbridge.dev", "v1alpha1", "Bucket");
    let usages = cluster.api("protection.crossplane.io", "v1beta1", "Usage");
    for composed in [buckets, queues, usages] {
        let left = composed.list(&ListParams::default()).await.expect("a list");
        assert!(left.items.is_empty(), "{left:?}");
    }
    assert!(!served.s3("GET", "/").await.contains(bucket), "AWS has it still");
    let config_maps = cluster.api("", "v1", "ConfigMap");
    let is_gone = |hung: Option<&DynamicObject>| hung.is_none();
    let gone = tokio::time::timeout(LIMIT, await_condition(config_maps, HUNG, is_gone)).await;
    gone.expect("the collector takes it with the queue")
        .expect("a watch");
    cluster.are_deleted(&manifests).await;
    assert!(served.bridge.stop(LIMIT).await.success());
}
