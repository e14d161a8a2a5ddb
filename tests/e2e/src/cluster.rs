//! The cluster as a user sees it.

use std::{path::Path, time::Duration};

use futures::TryStreamExt;
use kube::{
    Api, Client, Config,
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
    runtime::{WatchStreamExt, watcher},
};
use serde_json::{Value, json};

/// Every wait ends after this.
const LIMIT: Duration = Duration::from_mins(5);

/// A cluster, with one namespace to work in.
#[derive(Clone)]
pub struct Cluster {
    /// The client, for what is not covered here.
    pub client: Client,
    /// The namespace of namespaced objects.
    pub namespace: String,
}

/// One object, by name.
#[derive(Clone)]
pub struct Handle {
    api: Api<DynamicObject>,
    /// The object's `metadata.name`.
    pub name: String,
}

impl Cluster {
    /// Connects as administrator.
    ///
    /// # Panics
    /// If the kubeconfig cannot be used.
    pub async fn connect(kubeconfig: &Path) -> Self {
        // The AWS SDK pulls another provider in, so that one must be named. The second test finds it named.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig");
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .expect("a usable kubeconfig");
        Self {
            client: Client::try_from(config).expect("a client"),
            namespace: "default".to_owned(),
        }
    }

    /// The object of this kind and name. `plural` as in URLs.
    pub fn object(&self, group: &str, version: &str, kind: &str, plural: &str, name: &str) -> Handle {
        let resource =
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let cluster_scoped =
            kind.starts_with("Cluster") || kind == "CustomResourceDefinition" || kind == "Namespace";
        let api = if cluster_scoped {
            Api::all_with(self.client.clone(), &resource)
        } else {
            Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
        };
        Handle {
            api,
            name: name.to_owned(),
        }
    }

    /// The CRD of this name.
    pub fn definition(&self, name: &str) -> Handle {
        self.object(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            name,
        )
    }

    /// A handle to a Secret, whether or not it exists.
    pub fn secret(&self, name: &str) -> Handle {
        self.object("", "v1", "Secret", "secrets", name)
    }
}

impl Handle {
    /// Creates it from JSON without `metadata.name`, which is added.
    ///
    /// # Panics
    /// If the API server rejects.
    pub async fn create(&self, mut object: Value) -> Value {
        object["metadata"]["name"] = json!(self.name);
        let object = serde_json::from_value(object).expect("an object");
        let created = self.api.create(&PostParams::default(), &object).await;
        serde_json::to_value(created.unwrap_or_else(|error| panic!("cannot create {}: {error}", self.name)))
            .expect("JSON")
    }

    /// Merges a patch, as `kubectl patch --type merge` does.
    ///
    /// # Panics
    /// If the API server rejects.
    pub async fn merge(&self, patch: Value) -> Value {
        let patched = self
            .api
            .patch(&self.name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        serde_json::to_value(patched.unwrap_or_else(|error| panic!("cannot patch {}: {error}", self.name)))
            .expect("JSON")
    }

    /// Requests its deletion.
    ///
    /// # Panics
    /// If the API server rejects.
    pub async fn delete(&self) {
        self.api
            .delete(&self.name, &DeleteParams::default())
            .await
            .unwrap_or_else(|error| panic!("cannot delete {}: {error}", self.name));
    }

    /// The object as the API server has it; `None`: it does not exist.
    ///
    /// # Panics
    /// If the API server rejects.
    pub async fn get(&self) -> Option<Value> {
        let found = self
            .api
            .get_opt(&self.name)
            .await
            .unwrap_or_else(|error| panic!("cannot get {}: {error}", self.name));
        found.map(|object| serde_json::to_value(object).expect("JSON"))
    }

    /// Watches until it is as expected, and returns it. `what` is reported when it does not come to that.
    ///
    /// # Panics
    /// After five minutes, with the object as it was seen last.
    pub async fn until(&self, what: &str, mut expected: impl FnMut(&Value) -> bool) -> Value {
        self.watch(what, |seen| seen.is_some_and(&mut expected))
            .await
            .expect("seen")
    }

    /// Watches until it is deleted.
    ///
    /// # Panics
    /// After five minutes, with the object as it was seen last.
    pub async fn until_deleted(&self) {
        self.watch("to be deleted", |seen| seen.is_none()).await;
    }

    async fn watch(&self, what: &str, mut expected: impl FnMut(Option<&Value>) -> bool) -> Option<Value> {
        let mut last = None;
        let watched = async {
            // Goes on over restarts of the API server and over a CRD that is deleted and created anew.
            let changes = watcher::watch_object(self.api.clone(), &self.name);
            let mut changes = Box::pin(changes.default_backoff());
            loop {
                match changes.try_next().await {
                    Ok(Some(seen)) => {
                        last = seen.map(|object| serde_json::to_value(object).expect("JSON"));
                        if expected(last.as_ref()) {
                            return;
                        }
                    }
                    Ok(None) => panic!("the watch of {} ended", self.name),
                    Err(_) => {}
                }
            }
        };
        let ended = tokio::time::timeout(LIMIT, watched).await;
        assert!(
            ended.is_ok(),
            "waited {LIMIT:?} for {} {what}; last seen: {}",
            self.name,
            last.as_ref().map_or_else(
                || "nothing".to_owned(),
                |object| serde_json::to_string_pretty(object).expect("text")
            )
        );
        last
    }
}
