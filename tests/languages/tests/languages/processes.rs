//! Real processes: a control plane, plugins, and the bridge between them.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bridge_control_plane::{
    ControlPlane, Options,
    process::{Process, Spawn},
};
use bridge_languages::Language;
use kube::{
    Api, Client, Config,
    api::{DynamicObject, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};

use crate::LIMIT;

/// A plugin's process, and where it is.
pub(crate) struct Plugin {
    command: String,
    pub(crate) endpoint: String,
    pub(crate) process: Process,
}

impl Plugin {
    pub(crate) async fn start(language: Language, folder: &Path) -> Self {
        let command = language.example().await.unwrap_or_else(|error| panic!("{error}"));
        Self::run(command, language.name(), folder)
    }

    /// Starts what this command line does, at a socket of this name in the folder.
    pub(crate) fn run(command: String, name: &str, folder: &Path) -> Self {
        let endpoint = format!("unix://{}/{name}.sock", folder.display());
        Self {
            process: run(&command, &endpoint),
            command,
            endpoint,
        }
    }

    pub(crate) async fn kill(&mut self) {
        self.process.kill();
        self.process.wait_for(LIMIT).await.expect("it has ended");
        self.process = run(&self.command, &self.endpoint);
    }
}

pub(crate) fn run(command: &str, endpoint: &str) -> Process {
    let mut words = command.split(' ');
    Spawn::new(words.next().unwrap_or_default())
        .args(words)
        .env("PROVIDER_PLUGIN_ENDPOINT", endpoint)
        .spawn()
        .expect("the plugin starts")
}

pub(crate) struct Cluster {
    pub(crate) plane: ControlPlane,
    client: Client,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        Self::start_with(Options::default()).await
    }

    pub(crate) async fn start_with(options: Options) -> Self {
        let plane = ControlPlane::start(options).await.expect("a control plane");
        let config = Kubeconfig::read_from(plane.kubeconfig()).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await;
        // A build of the whole workspace includes two providers: one must be named. An error means that it is.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::try_from(config.expect("a usable kubeconfig")).expect("a client");
        Self { plane, client }
    }

    pub(crate) fn api(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        let resource = match kind {
            "Loaf" => {
                ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), "loaves")
            }
            _ => ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind)),
        };
        Api::namespaced_with(self.client.clone(), "default", &resource)
    }

    /// Creates it as soon as its kind is served.
    pub(crate) async fn create(&self, group: &str, version: &str, kind: &str, object: Value) {
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

    pub(crate) async fn configure(&self, group: &str, folder: &Path) {
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

pub(crate) fn group(language: Language) -> &'static str {
    match language {
        Language::Python => "garden.example.org",
        Language::Go => "press.example.org",
        Language::TypeScript => "bakery.example.org",
    }
}
