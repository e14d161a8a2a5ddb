//! The manifests of the examples, as a user applies them: by kubectl, in any order.

use std::{
    cmp::Reverse,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bridge_control_plane::process::{Output, Process, ScratchDir, Spawn};
use bridge_languages::{Function, Language, binary};
use serde_json::json;

use crate::{
    LIMIT, Testbed,
    processes::{Cluster, group},
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
    async fn apply(&self, file: &Path) {
        let begun = Instant::now();
        while let Err(why) = self.kubectl(&["apply", "--validate=strict"], file).await {
            let is_not_served_yet = ["no matches for kind", "could not find the requested resource"];
            assert!(
                is_not_served_yet.iter().any(|part| why.contains(part)) && begun.elapsed() < LIMIT,
                "{why}"
            );
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Applies them in this order: what waits for what comes after it goes Ready all the same.
    async fn go_ready_and_are_deleted(&self, files: &[PathBuf]) {
        for file in files {
            self.apply(file).await;
        }
        let limit = format!("--timeout={}s", LIMIT.as_secs());
        for file in files {
            let text = fs::read_to_string(file).expect("a manifest");
            let condition = if text.contains("kind: CompositeResourceDefinition") {
                "--for=condition=Established"
            } else if text.contains("kind: Composition\n") {
                // It has no condition.
                continue;
            } else {
                "--for=condition=Ready"
            };
            let wait = ["wait", condition, &limit];
            self.kubectl(&wait, file).await.expect("it becomes ready");
        }
        // Of each folder what others need goes last.
        let mut last_first: Vec<&PathBuf> = files.iter().collect();
        last_first.sort_by_key(|file| Reverse(file.file_name()));
        for file in last_first {
            self.kubectl(&["delete", &limit], file)
                .await
                .expect("it is deleted");
        }
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
    let served = Composed::start(&[
        (Function::Example, "notices"),
        (Function::TypeScript, "timetables"),
    ])
    .await;
    let manifests = [Function::Example, Function::TypeScript].map(manifests_of);
    served.cluster.go_ready_and_are_deleted(&manifests.concat()).await;
    assert!(served.bridge.stop(LIMIT).await.success());
}

#[tokio::test]
async fn the_example_of_composed_aws_resources_becomes_ready_and_is_deleted() {
    let served = Composed::start(&[(Function::AwsComposition, "storages")]).await;
    served.cluster.apply(&served.account()).await;
    let manifests = manifests_of(Function::AwsComposition);
    served.cluster.go_ready_and_are_deleted(&manifests).await;
    assert!(served.bridge.stop(LIMIT).await.success());
}

/// A bridge with compositions, functions by their names, and the AWS plugin before an emulated AWS.
struct Composed {
    scratch: ScratchDir,
    cluster: Cluster,
    bridge: Process,
    /// Endpoint, id and key of the emulated AWS.
    aws: [String; 3],
    _others: Vec<Process>,
}

impl Composed {
    async fn start(functions: &[(Function, &str)]) -> Self {
        let scratch = ScratchDir::new("crossbridge-languages-").expect("a folder");
        let cluster = Cluster::start().await;
        let socket = |name: &str| format!("unix://{}/{name}.sock", scratch.path().display());
        let (emulator, aws) = emulated_aws().await;
        let plugin =
            Spawn::new(binary("provider-aws-example")).env("PROVIDER_PLUGIN_ENDPOINT", socket("aws"));
        let mut others = vec![emulator, plugin.spawn().expect("the plugin starts")];
        let mut flags = ["--compositions", "--plugin", &socket("aws")]
            .map(str::to_owned)
            .to_vec();
        for (function, name) in functions {
            let command = function.command().await.unwrap_or_else(|error| panic!("{error}"));
            let process = command.args(["--insecure", "--address", &socket(name)]).spawn();
            others.push(process.expect("the function starts"));
            flags.extend(["--function".to_owned(), format!("{name}={}", socket(name))]);
        }
        let bridge = Spawn::new(binary("runtime-bridge"))
            .args(["serve", "--admin-address", "127.0.0.1:0", "--kubeconfig"])
            .arg(cluster.plane.kubeconfig())
            .args(flags)
            .spawn()
            .expect("the bridge starts");
        Self {
            scratch,
            cluster,
            bridge,
            aws,
            _others: others,
        }
    }

    /// A manifest of the account.
    fn account(&self) -> PathBuf {
        let [endpoint, id, key] = &self.aws;
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aws", "namespace": "default"},
            "stringData": {"accessKeyId": id, "secretAccessKey": key},
        });
        let config = json!({
            "apiVersion": "aws.crossbridge.dev/v1alpha1", "kind": "ClusterProviderConfig", "metadata": {"name": "default"},
            "spec": {
                "settings": {"region": "eu-west-1", "endpoint": endpoint, "pollInterval": "1s"},
                "credentials": {"source": "Secret", "secretRef": {"namespace": "default", "name": "aws"}},
            },
        });
        let file = self.scratch.path().join("account.yaml");
        fs::write(&file, format!("{secret}\n---\n{config}\n")).expect("it is written");
        file
    }
}

/// The process, and what it prints: endpoint, id and key.
async fn emulated_aws() -> (Process, [String; 3]) {
    let (say, said) = std::sync::mpsc::channel();
    let process = Spawn::new(binary("aws-emulator"))
        .arg("--detached")
        .stdout(Output::lines(move |line| drop(say.send(line.to_owned()))))
        .spawn()
        .expect("the emulator starts");
    let values = tokio::task::spawn_blocking(move || {
        ["endpoint", "access_key_id", "secret_access_key"].map(|name| {
            let line = said.recv_timeout(LIMIT).expect("a line of the emulator");
            let value = line.strip_prefix(name).and_then(|rest| rest.strip_prefix('='));
            value.unwrap_or_else(|| panic!("{name}: {line}")).to_owned()
        })
    });
    (process, values.await.expect("it waits"))
}
