//! The real bridge drives the plugins: objects go Ready, change and go, and a killed plugin makes nothing twice.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::mpsc::channel,
    time::{Duration, Instant},
};

use bridge_control_plane::{
    ControlPlane, Options,
    process::{Output, Process, ScratchDir, Spawn},
};
use bridge_languages::{Language, Session, binary};
use kube::{
    Api, Client, Config,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
    runtime::wait::await_condition,
};
use serde_json::{Value, json};

const DOCUMENT: &str = include_str!("../../../docs/debugging.md");
const LIMIT: Duration = Duration::from_mins(2);

/// An object that a plugin looks after, and what is changed of it.
struct Thing {
    group: &'static str,
    kind: &'static str,
    parameters: Value,
    change: Value,
    /// Its plugin is killed while it is being made.
    takes_a_while: bool,
}

fn things() -> [Thing; 6] {
    let thing = |group, kind, parameters, change, takes_a_while| Thing {
        group,
        kind,
        parameters,
        change,
        takes_a_while,
    };
    let (python, go, typescript) = ("garden.example.org", "press.example.org", "bakery.example.org");
    [
        thing(
            python,
            "Bed",
            json!({ "soil": "loam", "metres": 9_007_199_254_740_993_i64 }),
            json!({ "soil": "clay" }),
            false,
        ),
        thing(
            python,
            "Plant",
            json!({ "species": "basil", "growSeconds": 4 }),
            json!({ "waterMillilitres": 300 }),
            true,
        ),
        thing(
            go,
            "Page",
            json!({ "text": "Hello!", "copies": 9_007_199_254_740_993_i64 }),
            json!({ "text": "Good morning!" }),
            false,
        ),
        thing(
            go,
            "Book",
            json!({ "title": "Three Men in a Boat", "pages": 12 }),
            json!({ "pages": 16 }),
            true,
        ),
        thing(
            typescript,
            "Recipe",
            json!({ "title": "Rye bread", "flourGrams": 9_007_199_254_740_993_i64, "steps": ["knead"] }),
            json!({ "steps": ["knead", "bake"] }),
            false,
        ),
        thing(
            typescript,
            "Loaf",
            json!({ "grams": 250, "bakeSeconds": 4 }),
            json!({ "glaze": "egg" }),
            true,
        ),
    ]
}

/// A plugin's process, and where it is.
struct Plugin {
    command: String,
    endpoint: String,
    process: Process,
}

impl Plugin {
    async fn start(language: Language, folder: &Path) -> Self {
        let command = language.example().await.unwrap_or_else(|error| panic!("{error}"));
        let endpoint = format!("unix://{}/{}.sock", folder.display(), language.name());
        Self {
            process: run(&command, &endpoint),
            command,
            endpoint,
        }
    }

    async fn kill(&mut self) {
        self.process.kill();
        self.process.wait_for(LIMIT).await.expect("it is gone");
        self.process = run(&self.command, &self.endpoint);
    }
}

fn run(command: &str, endpoint: &str) -> Process {
    let mut words = command.split(' ');
    Spawn::new(words.next().unwrap_or_default())
        .args(words)
        .env("PROVIDER_PLUGIN_ENDPOINT", endpoint)
        .spawn()
        .expect("the plugin starts")
}

struct Cluster {
    plane: ControlPlane,
    client: Client,
}

impl Cluster {
    async fn start() -> Self {
        let plane = ControlPlane::start(Options::default())
            .await
            .expect("a control plane");
        let config = Kubeconfig::read_from(plane.kubeconfig()).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
        // A build of the whole workspace brings two providers: one must be named. An error means that it is.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::try_from(config.expect("a usable kubeconfig")).expect("a client");
        Self { plane, client }
    }

    fn api(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        let resource = match kind {
            "Loaf" => {
                ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), "loaves")
            }
            _ => ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)),
        };
        Api::namespaced_with(self.client.clone(), "default", &resource)
    }

    /// Creates it as soon as its kind is served.
    async fn create(&self, group: &str, version: &str, kind: &str, object: Value) {
        let mut object = object;
        object["apiVersion"] = json!(if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        });
        object["kind"] = json!(kind);
        let object: DynamicObject = serde_json::from_value(object).expect("an object");
        let api = self.api(group, version, kind);
        let begun = Instant::now();
        loop {
            match api.create(&PostParams::default(), &object).await {
                Err(kube::Error::Api(status)) if status.code == 404 && begun.elapsed() < LIMIT => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                created => {
                    created.unwrap_or_else(|error| panic!("{kind}: {error}"));
                    return;
                }
            }
        }
    }

    async fn configure(&self, group: &str, folder: &Path) {
        let secret = json!({ "metadata": { "name": group }, "stringData": { "key": "sesame" } });
        self.create("", "v1", "Secret", secret).await;
        let credentials = match group {
            "garden.example.org" => {
                json!({ "source": "Secret", "secretRef": { "namespace": "default", "name": group } })
            }
            _ => json!({ "source": "None" }),
        };
        let config = json!({
            "metadata": { "name": "default" },
            "spec": { "settings": { "folder": folder }, "credentials": credentials },
        });
        self.create(group, "v1alpha1", "ProviderConfig", config).await;
    }
}

impl Thing {
    /// The others keep what was, so that a token is honoured for ever.
    fn leaves_nothing(&self) -> bool {
        matches!(self.kind, "Bed" | "Page" | "Book")
    }

    fn api(&self, cluster: &Cluster) -> Api<DynamicObject> {
        cluster.api(self.group, "v1alpha1", self.kind)
    }

    async fn until(
        &self,
        cluster: &Cluster,
        what: &str,
        holds: impl Fn(&DynamicObject) -> bool,
    ) -> DynamicObject {
        let api = self.api(cluster);
        let condition = await_condition(api.clone(), "one", |object: Option<&DynamicObject>| {
            object.is_some_and(&holds)
        });
        if let Ok(found) = tokio::time::timeout(LIMIT, condition).await {
            return found.expect("a watch").expect("an object");
        }
        let is = api.get("one").await.map(|object| object.data);
        panic!("{} is not {what}: {is:#?}", self.kind);
    }
}

fn condition<'a>(object: &'a DynamicObject, of: &str) -> Option<&'a Value> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|one| one["type"] == of)
}

fn is_true(object: &DynamicObject, of: &str) -> bool {
    condition(object, of).is_some_and(|condition| condition["status"] == "True")
}

/// How many resources of a kind there are, as their files tell.
fn count(folder: &Path, kind: &str) -> usize {
    let names = |below: &str| -> Vec<String> {
        let entries = fs::read_dir(folder.join(below)).map(|entries| entries.flatten().collect::<Vec<_>>());
        let names = entries.unwrap_or_default().into_iter();
        names
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect()
    };
    match kind {
        // A process that is killed leaves a draft behind, which counts for nothing.
        "Page" | "Book" => {
            let names = names(&format!("{}s", kind.to_lowercase()));
            names.iter().filter(|name| !name.starts_with('.')).count()
        }
        // Every resource has one first version.
        "Recipe" | "Loaf" => {
            let below = if kind == "Loaf" { "loaves" } else { "recipes" };
            names(below)
                .iter()
                .filter(|name| name.ends_with(".1.json"))
                .count()
        }
        _ => {
            let query = format!(
                "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('SELECT count(*) FROM {}s').fetchone()[0])",
                kind.to_lowercase()
            );
            let output = std::process::Command::new("python3")
                .args(["-c", &query])
                .arg(folder.join("garden.db"))
                .output()
                .expect("python3 runs");
            String::from_utf8_lossy(&output.stdout)
                .trim()
                .parse()
                .expect("a number")
        }
    }
}

fn group(language: Language) -> &'static str {
    match language {
        Language::Python => "garden.example.org",
        Language::Go => "press.example.org",
        Language::TypeScript => "bakery.example.org",
    }
}

/// What a command of the bridge prints; it must succeed.
async fn told(arguments: &[&str]) -> String {
    let (say, said) = channel();
    let command = Spawn::new(binary("runtime-bridge"))
        .args(arguments)
        .stdout(Output::lines(move |line| drop(say.send(format!("{line}\n")))));
    let ended = command.spawn().expect("it starts").wait_for(LIMIT).await;
    assert!(ended.is_ok_and(|status| status.success()), "{arguments:?}");
    said.iter().collect()
}

/// The bridge and all plugins over one cluster.
struct Stage {
    scratch: ScratchDir,
    cluster: Cluster,
    plugins: Vec<(Language, Plugin)>,
    bridge: Process,
    /// Of its admin endpoint.
    admin: String,
}

impl Stage {
    async fn start() -> Self {
        let scratch = ScratchDir::new("crossbridge-languages-").expect("a folder");
        let cluster = Cluster::start().await;
        let mut plugins = Vec::new();
        for language in Language::ALL {
            plugins.push((language, Plugin::start(language, scratch.path()).await));
            let folder = scratch.path().join(group(language));
            fs::create_dir(folder).expect("it is made");
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
            .expect("the bridge says where its admin endpoint is");
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

    async fn create(&self, things: &[Thing]) {
        for language in Language::ALL {
            let group = group(language);
            self.cluster.configure(group, &self.folder(group)).await;
        }
        for thing in things {
            let reference = json!({ "kind": "ProviderConfig", "name": "default" });
            let spec = json!({ "providerConfigRef": reference, "forProvider": thing.parameters });
            let object = json!({ "metadata": { "name": "one" }, "spec": spec });
            self.cluster
                .create(thing.group, "v1alpha1", thing.kind, object)
                .await;
        }
    }

    /// Changes a thing, and waits until the change is seen in it.
    async fn change(&self, thing: &Thing) {
        let patch = Patch::Merge(json!({ "spec": { "forProvider": thing.change } }));
        let changed = thing
            .api(&self.cluster)
            .patch("one", &PatchParams::default(), &patch)
            .await;
        let changed = changed.unwrap_or_else(|error| panic!("{}: {error}", thing.kind));
        let generation = changed.metadata.generation;
        let is_done = |object: &DynamicObject| {
            let synced = condition(object, "Synced");
            let is_seen = synced.is_some_and(|one| one["observedGeneration"].as_i64() == generation);
            is_seen && is_true(object, "Synced") && is_true(object, "Ready")
        };
        thing.until(&self.cluster, "changed", is_done).await;
    }

    /// What `trace` says of a thing that is as it should be.
    async fn trace(&self, thing: &Thing) {
        let object = format!("{}/one", thing.kind);
        let kubeconfig = self.cluster.plane.kubeconfig().display().to_string();
        let told = told(&[
            "trace",
            &object,
            "--kubeconfig",
            &kubeconfig,
            "--admin-address",
            &self.admin,
        ])
        .await;
        let parts = [
            "Ready=True",
            "ProviderConfig default/default",
            "Usable",
            "last calls\n",
            "waits for: nothing",
            "next: it is looked at again in ",
        ];
        for part in parts {
            assert!(told.contains(part), "no {part:?} in:\n{told}");
        }
    }

    /// A call by hand sees what was wished.
    async fn call(&self, thing: &Thing) {
        let object = format!("{}/one", thing.kind);
        let kubeconfig = self.cluster.plane.kubeconfig().display().to_string();
        let (_, plugin) = self
            .plugins
            .iter()
            .find(|(language, _)| thing.group == group(*language))
            .expect("its plugin");
        let told = told(&[
            "call",
            "Observe",
            &object,
            "--kubeconfig",
            &kubeconfig,
            "--endpoint",
            &plugin.endpoint,
        ])
        .await;
        let told: Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(told["observation"]["ready"], true, "{told:#}");
        let mut wished = thing.parameters.as_object().cloned().unwrap_or_default();
        wished.extend(thing.change.as_object().cloned().unwrap_or_default());
        for (field, wish) in wished {
            assert_eq!(told["observation"]["parameters"][field], wish, "{told:#}");
        }
    }

    /// The sessions of docs/debugging.md about an object that is being made.
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
            .env("KUBECONFIG", &kubeconfig)
            .env("CROSSBRIDGE_ADMIN_ADDRESS", &self.admin);
        Session::of(DOCUMENT, "live").goes(bash, place).await;
    }

    async fn delete(&self, things: &[Thing]) {
        for thing in things {
            let told = thing
                .api(&self.cluster)
                .delete("one", &DeleteParams::default())
                .await;
            told.unwrap_or_else(|error| panic!("{}: {error}", thing.kind));
        }
        for thing in things {
            let is_gone = |object: Option<&DynamicObject>| object.is_none();
            let gone =
                tokio::time::timeout(LIMIT, await_condition(thing.api(&self.cluster), "one", is_gone)).await;
            gone.unwrap_or_else(|_| panic!("{} does not go", thing.kind))
                .expect("a watch");
        }
    }
}

#[tokio::test]
async fn objects_live_and_go_through_plugins_of_every_language() {
    let (mut stage, things) = (Stage::start().await, things());
    stage.create(&things).await;
    for thing in things.iter().filter(|thing| thing.takes_a_while) {
        let is_named = |object: &DynamicObject| {
            let annotations = object.metadata.annotations.as_ref();
            annotations.is_some_and(|all| all.contains_key("crossplane.io/external-name"))
        };
        thing.until(&stage.cluster, "named", is_named).await;
    }
    for (_, plugin) in &mut stage.plugins {
        plugin.kill().await;
    }
    for thing in &things {
        thing
            .until(&stage.cluster, "ready", |object| is_true(object, "Ready"))
            .await;
        assert_eq!(count(&stage.folder(thing.group), thing.kind), 1, "{}", thing.kind);
    }
    for thing in &things {
        stage.change(thing).await;
        stage.trace(thing).await;
        stage.call(thing).await;
    }
    stage.delete(&things).await;
    for thing in things.iter().filter(|thing| thing.leaves_nothing()) {
        assert_eq!(count(&stage.folder(thing.group), thing.kind), 0, "{}", thing.kind);
    }
    // Last: it is still being made when the bridge stops.
    stage.sessions().await;
    assert!(stage.bridge.stop(LIMIT).await.success());
    for (language, plugin) in stage.plugins {
        assert!(plugin.process.stop(LIMIT).await.success(), "{}", language.name());
    }
}
