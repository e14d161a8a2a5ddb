//! The real bridge drives the plugins: objects go Ready, change and go, and killed processes create nothing twice.

mod composed;
mod documents;
mod manifests;
mod processes;
mod soak;
mod subject;
mod test_object;
mod upstream;
mod usage_removed;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::channel,
    time::Duration,
};

use bridge_control_plane::process::{Output, Process, ScratchDir, Spawn};
use bridge_languages::{Language, Session, binary};
use kube::{
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
    runtime::wait::await_condition,
};
use serde_json::{Value, json};

use crate::processes::{Cluster, Plugin, group};
use crate::test_object::{TestObject, condition, is_true, test_objects};

const DOCUMENT: &str = include_str!("../../../../docs/debugging.md");
const LIMIT: Duration = Duration::from_mins(2);

/// What a command of the bridge prints; it must succeed.
async fn output_of(arguments: &[&str]) -> String {
    let (say, said) = channel();
    let command = Spawn::new(binary("runtime-bridge"))
        .args(arguments)
        .stdout(Output::lines(move |line| drop(say.send(format!("{line}\n")))));
    let ended = command.spawn().expect("it starts").wait_for(LIMIT).await;
    assert!(ended.is_ok_and(|status| status.success()), "{arguments:?}");
    said.iter().collect()
}

/// The bridge and all plugins over one cluster.
struct Testbed {
    scratch: ScratchDir,
    cluster: Cluster,
    plugins: Vec<(Language, Plugin)>,
    bridge: Process,
    /// Of its admin endpoint.
    admin: String,
}

impl Testbed {
    async fn start() -> Self {
        let scratch = ScratchDir::new("crossbridge-languages-").expect("a folder");
        let cluster = Cluster::start().await;
        let mut plugins = Vec::new();
        for language in Language::ALL {
            plugins.push((language, Plugin::start(language, scratch.path()).await));
            let folder = scratch.path().join(group(language));
            fs::create_dir(folder).expect("it is created");
        }
        let (say, said) = channel();
        let endpoints = plugins.iter().map(|(_, plugin)| plugin.endpoint.as_str());
        let bridge = Spawn::new(binary("runtime-bridge"))
            .args([
                "serve",
                "--log-format",
                "json",
                "--admin-address",
                "127.0.0.1:0",
                "--kubeconfig",
            ])
            .arg(cluster.plane.kubeconfig())
            .args(endpoints.flat_map(|endpoint| ["--plugin", endpoint]))
            .stderr(Output::lines(move |line| {
                eprintln!("{line}");
                let line: Value = serde_json::from_str(line).unwrap_or_default();
                if line["message"] == "admin endpoint" {
                    let _ = say.send(line["address"].as_str().unwrap_or_default().to_owned());
                }
            }))
            .spawn()
            .expect("the bridge starts");
        let admin = tokio::task::spawn_blocking(move || said.recv_timeout(LIMIT)).await;
        let admin = admin
            .expect("it waits")
            .expect("the bridge logs its admin address");
        Self {
            scratch,
            cluster,
            plugins,
            bridge,
            admin,
        }
    }

    fn folder(&self, group: &str) -> PathBuf {
        self.scratch.path().join(group)
    }

    async fn create(&self, test_objects: &[TestObject]) {
        for language in Language::ALL {
            let group = group(language);
            self.cluster.configure(group, &self.folder(group)).await;
        }
        for case in test_objects {
            let reference = json!({ "kind": "ProviderConfig", "name": "default" });
            let spec = json!({ "providerConfigRef": reference, "forProvider": case.parameters });
            let object = json!({ "metadata": { "name": "one" }, "spec": spec });
            self.cluster
                .create(case.group(), "v1alpha1", case.kind, object)
                .await;
        }
    }

    /// Changes an object, and waits until the change is observed.
    async fn change(&self, case: &TestObject) {
        let patch = Patch::Merge(json!({ "spec": { "forProvider": case.change } }));
        let changed = case
            .api(&self.cluster)
            .patch("one", &PatchParams::default(), &patch)
            .await;
        let changed = changed.unwrap_or_else(|error| panic!("{}: {error}", case.kind));
        let generation = changed.metadata.generation;
        let is_done = |object: &DynamicObject| {
            let synced = condition(object, "Synced");
            let is_seen = synced.is_some_and(|one| one["observedGeneration"].as_i64() == generation);
            is_seen && is_true(object, "Synced") && is_true(object, "Ready")
        };
        case.until(&self.cluster, "changed", is_done).await;
    }

    /// Checks what `trace` prints about an object that is in sync.
    async fn trace(&self, case: &TestObject) {
        let object = format!("{}/one", case.kind);
        let kubeconfig = self.cluster.plane.kubeconfig().display().to_string();
        let mut arguments = vec![
            "trace",
            &object,
            "--kubeconfig",
            &kubeconfig,
            "--admin-address",
            &self.admin,
        ];
        let printed = output_of(&arguments).await;
        arguments.extend(["-o", "json"]);
        let json: Value = serde_json::from_str(&output_of(&arguments).await).expect("JSON");
        assert_eq!(json["object"]["name"], "one", "{json}");
        assert_eq!(json["waitsFor"], Value::Null, "{json}");
        assert_eq!(json["next"]["purpose"], "drift-poll", "{json}");
        let parts = [
            "Ready=True",
            "ProviderConfig default/default",
            "Usable",
            "last calls\n",
            "waits for: nothing",
            "next: it is checked for drift in",
        ];
        for part in parts {
            assert!(printed.contains(part), "no {part:?} in:\n{printed}");
        }
    }

    /// Checks that a call by hand observes the desired state.
    async fn call(&self, case: &TestObject) {
        let object = format!("{}/one", case.kind);
        let kubeconfig = self.cluster.plane.kubeconfig().display().to_string();
        let (_, plugin) = self
            .plugins
            .iter()
            .find(|(language, _)| case.language == *language)
            .expect("its plugin");
        let printed = output_of(&[
            "call",
            "Observe",
            &object,
            "--kubeconfig",
            &kubeconfig,
            "--endpoint",
            &plugin.endpoint,
        ])
        .await;
        let printed: Value = serde_json::from_str(&printed).expect("JSON");
        assert_eq!(printed["observation"]["ready"], true, "{printed:#}");
        let mut desired = case.parameters.as_object().cloned().unwrap_or_default();
        desired.extend(case.change.as_object().cloned().unwrap_or_default());
        for (field, desired) in desired {
            assert_eq!(
                printed["observation"]["parameters"][field], desired,
                "{printed:#}"
            );
        }
    }

    /// The sessions of docs/debugging.md about an object that is being created.
    async fn sessions(&self) {
        let group = "press.example.org";
        let parameters = json!({ "title": "Three Men in a Boat", "pages": 1000 });
        let reference = json!({ "kind": "ProviderConfig", "name": "default" });
        let spec = json!({ "providerConfigRef": reference, "forProvider": parameters });
        let object = json!({ "metadata": { "name": "jerome" }, "spec": spec });
        self.cluster.create(group, "v1alpha1", "Book", object).await;
        let api = self.cluster.api(group, "v1alpha1", "Book");
        let is_printed = |object: Option<&DynamicObject>| {
            let operation =
                object.and_then(|object| object.data.pointer("/status/crossbridge/operation/phase"));
            operation.is_some()
        };
        let printed = tokio::time::timeout(LIMIT, await_condition(api, "jerome", is_printed)).await;
        printed.expect("it is being printed").expect("a watch");

        let kubeconfig = self.cluster.plane.kubeconfig().display().to_string();
        let (_, plugin) = self
            .plugins
            .iter()
            .find(|(language, _)| *language == Language::Go)
            .expect("its plugin");
        let folder = self.folder(group).display().to_string();
        let place = |text: &str| {
            text.replace("~/.kube/config", &kubeconfig)
                .replace("unix:///run/plugin.sock", &plugin.endpoint)
                .replace("/tmp/press", &folder)
        };
        let bridge = binary("runtime-bridge");
        let path = [
            bridge.parent().unwrap_or(Path::new("/")).display().to_string(),
            std::env::var("PATH").unwrap_or_default(),
        ];
        let bash = Spawn::new("bash")
            .env("PATH", path.join(":"))
            .env("KUBECONFIG", &kubeconfig);
        // As `dev` does.
        let found = self
            .cluster
            .plane
            .kubeconfig()
            .with_file_name("bridge-admin-address");
        std::fs::write(found, &self.admin).expect("the folder of the kubeconfig is the test's own");
        Session::of(DOCUMENT, "live").run(bash, place).await;
    }

    async fn delete(&self, test_objects: &[TestObject]) {
        for case in test_objects {
            let printed = case
                .api(&self.cluster)
                .delete("one", &DeleteParams::default())
                .await;
            printed.unwrap_or_else(|error| panic!("{}: {error}", case.kind));
        }
        for case in test_objects {
            let is_gone = |object: Option<&DynamicObject>| object.is_none();
            let deleted =
                tokio::time::timeout(LIMIT, await_condition(case.api(&self.cluster), "one", is_gone)).await;
            deleted
                .unwrap_or_else(|_| panic!("{} does not go", case.kind))
                .expect("a watch");
        }
    }
}

impl Testbed {
    /// All end by SIGTERM, with exit code 0.
    async fn stop(self) {
        assert!(self.bridge.stop(LIMIT).await.success());
        for (language, plugin) in self.plugins {
            assert!(plugin.process.stop(LIMIT).await.success(), "{}", language.name());
        }
    }
}

#[tokio::test]
async fn objects_pass_their_lifecycle_in_every_language() {
    let (mut testbed, test_objects) = (Testbed::start().await, test_objects());
    testbed.create(&test_objects).await;
    for case in test_objects.iter().filter(|case| case.takes_a_while) {
        let is_named = |object: &DynamicObject| {
            let annotations = object.metadata.annotations.as_ref();
            annotations.is_some_and(|all| all.contains_key("crossplane.io/external-name"))
        };
        case.until(&testbed.cluster, "named", is_named).await;
    }
    for (_, plugin) in &mut testbed.plugins {
        plugin.kill().await;
    }
    for case in &test_objects {
        case.until(&testbed.cluster, "ready", |object| is_true(object, "Ready"))
            .await;
        assert_eq!(case.count(&testbed.folder(case.group())), 1, "{}", case.kind);
    }
    for case in &test_objects {
        testbed.change(case).await;
        testbed.trace(case).await;
        testbed.call(case).await;
    }
    testbed.delete(&test_objects).await;
    for case in test_objects.iter().filter(|case| case.deletes_files()) {
        assert_eq!(case.count(&testbed.folder(case.group())), 0, "{}", case.kind);
    }
    // Last: it is still being created when the bridge stops.
    testbed.sessions().await;
    testbed.stop().await;
}
