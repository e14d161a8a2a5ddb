//! A config stays while objects refer to it, also objects of a kind that its plugin has withdrawn.

use std::sync::Arc;

use async_trait::async_trait;
use bridge_core::crd::note_plugin;
use bridge_engine::{
    config::{ConfigCheck, ConfigUsage, FINALIZER, keep_while_used},
    crd,
    engine::Engine,
    object::{Key, Object},
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    admin::{Admin, TestKind, plane},
    harness::{LIMIT, engine, within},
};

/// The plugin of these tests checks nothing.
struct NoCheck;

#[async_trait]
impl ConfigCheck for NoCheck {
    async fn check(&self, _: &Arc<Object>) -> Option<Timestamp> {
        None
    }

    fn forget(&self, _: &Key) {}

    fn forget_unused(&self) {}
}

fn no_check() -> Arc<dyn ConfigCheck> {
    Arc::new(NoCheck)
}

/// A plugin of its own, with one kind and a config `default`, which an object uses.
struct Setting {
    admin: Admin,
    plugin: String,
    kind: TestKind,
    object: String,
}

/// A process that looks after the configs.
struct Process {
    engine: Engine,
    usage: ConfigUsage,
    _gate: watch::Sender<bool>,
}

impl Setting {
    async fn new() -> Self {
        let admin = Admin::new().await;
        let kind = TestKind::new();
        let plugin = format!("plugin.{}", kind.api.kind.group());
        let (engine, _gate) = engine(plane().await.kubeconfig()).await;
        let config = |kind: &str, plural: &str, scope: &str| {
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": format!("{plural}.{plugin}")},
                "spec": {
                    "group": plugin,
                    "scope": scope,
                    "names": {"kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase()},
                    "versions": [{
                        "name": "v1alpha1", "served": true, "storage": true,
                        "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                    }],
                },
            })
        };
        let mut of_kind = kind.definition();
        note_plugin(&mut of_kind, &plugin);
        let spec = &mut of_kind["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        spec["x-kubernetes-preserve-unknown-fields"] = json!(true);
        let definitions = [
            config("ProviderConfig", "providerconfigs", "Namespaced"),
            config("ClusterProviderConfig", "clusterproviderconfigs", "Cluster"),
            of_kind,
        ];
        crd::install(&engine.clients.write, &definitions, LIMIT)
            .await
            .unwrap();
        let namespace = admin.namespace(&kind.api.kind.group().replace('.', "-")).await;
        let setting = Self {
            object: format!("{}/a", kind.collection(&namespace)),
            admin,
            plugin,
            kind,
        };
        setting
            .create(
                &setting.configs(),
                json!({
                    "apiVersion": format!("{}/v1alpha1", setting.plugin),
                    "kind": "ClusterProviderConfig",
                    "metadata": {"name": "default"},
                    "spec": {"credentials": {"source": "None"}},
                }),
            )
            .await;
        let collection = setting.kind.collection(&namespace);
        setting.create(&collection, setting.kind.bucket("a")).await;
        setting
    }

    /// The API server itself takes a moment to serve a new kind.
    async fn create(&self, path: &str, object: Value) {
        within(async {
            while let Err(error) = self.admin.create(path, &object).await {
                assert!(error.is_transient(), "{error}");
            }
        })
        .await;
    }

    fn configs(&self) -> String {
        format!("/apis/{}/v1alpha1/clusterproviderconfigs", self.plugin)
    }

    fn config(&self) -> String {
        format!("{}/default", self.configs())
    }

    async fn process(&self, published: bool) -> Process {
        let (engine, gate) = engine(plane().await.kubeconfig()).await;
        let kinds = published.then(|| self.kind.api.clone());
        let usage = keep_while_used(&engine, &self.plugin, kinds.into_iter(), no_check());
        Process {
            engine,
            usage,
            _gate: gate,
        }
    }

    /// Until the config is so; `None`: it is absent.
    async fn config_is(&self, wanted: impl Fn(Option<&Value>) -> bool) {
        within(async {
            loop {
                let config = self.admin.get(&self.config()).await.ok();
                if wanted(config.as_ref()) {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        })
        .await;
    }

    async fn held(&self) {
        self.config_is(|config| {
            config.is_some_and(|config| config["metadata"]["finalizers"] == json!([FINALIZER]))
        })
        .await;
    }

    /// Until the bridge has judged the config that is being deleted, and reports that it is used.
    async fn blocked(&self) {
        self.config_is(|config| {
            let conditions = config.and_then(|config| config["status"]["conditions"].as_array());
            let mut conditions = conditions.into_iter().flatten();
            conditions.any(|condition| condition["type"] == "Terminating" && condition["reason"] == "InUse")
        })
        .await;
    }
}

#[tokio::test]
async fn a_config_stays_for_objects_of_a_withdrawn_kind() {
    let setting = Setting::new().await;
    let process = setting.process(true).await;
    setting.held().await;
    process.usage.publish(std::iter::empty(), &no_check());
    setting.admin.delete(&setting.config()).await.unwrap();
    setting.blocked().await;

    setting.admin.delete(&setting.object).await.unwrap();
    setting.config_is(|config| config.is_none()).await;
    drop(process.usage);
    drop(process.engine);
}

#[tokio::test]
async fn a_process_that_starts_without_a_kind_keeps_its_config() {
    let setting = Setting::new().await;
    let process = setting.process(false).await;
    setting.held().await;
    setting.admin.delete(&setting.config()).await.unwrap();
    setting.blocked().await;
    drop(process);

    let process = setting.process(false).await;
    // Both are published again; nothing was lost meanwhile.
    process
        .usage
        .publish(std::iter::once(setting.kind.api.clone()), &no_check());
    setting.blocked().await;
    // With the definition go the objects, and with them the config.
    setting.admin.delete(&setting.kind.path()).await.unwrap();
    setting.config_is(|config| config.is_none()).await;
}
