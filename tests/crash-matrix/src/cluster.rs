//! The cluster as a user sees it.

use std::path::Path;

use fake_cloud::kinds::{GROUP, VERSION};
use kube::{
    Api, Client, Config,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams, Patch, PatchParams,
        PostParams,
    },
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};

use crate::TestError;

/// A client of a cluster's API server, with full rights.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
}

/// One object, by name.
#[derive(Clone)]
pub struct Handle {
    api: Api<DynamicObject>,
    name: String,
    kind: String,
}

impl Cluster {
    /// As administrator.
    ///
    /// # Errors
    /// The kubeconfig cannot be used.
    pub async fn connect(kubeconfig: &Path) -> Result<Self, TestError> {
        // A build of the whole workspace includes two providers: one must be named. An error means that it is.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let config = Kubeconfig::read_from(kubeconfig).map_err(TestError::from)?;
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .map_err(TestError::from)?;
        Ok(Self {
            client: Client::try_from(config).map_err(TestError::from)?,
        })
    }

    /// For what is no kind of the fake cloud.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A managed resource of the fake cloud's API group.
    pub fn object(&self, kind: &str, namespace: &str, name: &str) -> Handle {
        Handle {
            api: Api::namespaced_with(self.client.clone(), namespace, &resource(kind)),
            name: name.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// A config that every namespace may use.
    pub fn config(&self, name: &str) -> Handle {
        let kind = "ClusterProviderConfig";
        Handle {
            api: Api::all_with(self.client.clone(), &resource(kind)),
            name: name.to_owned(),
            kind: kind.to_owned(),
        }
    }

    /// Creates a namespace.
    ///
    /// # Errors
    /// The API server's.
    pub async fn namespace(&self, name: &str) -> Result<(), TestError> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let namespace = DynamicObject::new(name, &resource);
        api.create(&PostParams::default(), &namespace)
            .await
            .map(drop)
            .map_err(TestError::from)
    }

    /// All leases.
    ///
    /// # Errors
    /// The API server's.
    pub async fn leases(&self) -> Result<Vec<Value>, TestError> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease"));
        list(&Api::all_with(self.client.clone(), &resource)).await
    }

    /// All objects of a kind in a namespace.
    ///
    /// # Errors
    /// The API server's.
    pub async fn list(&self, kind: &str, namespace: &str) -> Result<Vec<Value>, TestError> {
        let api: Api<DynamicObject> = Api::namespaced_with(self.client.clone(), namespace, &resource(kind));
        list(&api).await
    }
}

async fn list(api: &Api<DynamicObject>) -> Result<Vec<Value>, TestError> {
    let list = api.list(&ListParams::default()).await.map_err(TestError::from)?;
    let objects = list.items.into_iter();
    objects
        .map(|object| serde_json::to_value(object).map_err(TestError::from))
        .collect()
}

impl Handle {
    /// Creates it from JSON without type and name, which are added.
    ///
    /// # Errors
    /// The API server's.
    pub async fn create(&self, mut object: Value) -> Result<Value, TestError> {
        object["apiVersion"] = json!(format!("{GROUP}/{VERSION}"));
        object["kind"] = json!(self.kind);
        object["metadata"]["name"] = json!(self.name);
        let object = serde_json::from_value(object).map_err(TestError::from)?;
        let made = self.api.create(&PostParams::default(), &object).await;
        serde_json::to_value(made.map_err(|error| self.error("create", &error))?).map_err(TestError::from)
    }

    /// Merges a patch.
    ///
    /// # Errors
    /// The API server's.
    pub async fn merge(&self, patch: Value) -> Result<(), TestError> {
        let patched = self
            .api
            .patch(&self.name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        patched.map(drop).map_err(|error| self.error("patch", &error))
    }

    /// Requests its deletion.
    ///
    /// # Errors
    /// The API server's.
    pub async fn delete(&self) -> Result<(), TestError> {
        let deleted = self.api.delete(&self.name, &DeleteParams::default()).await;
        deleted.map(drop).map_err(|error| self.error("delete", &error))
    }

    /// The object as the API server has it; `None`: it does not exist.
    ///
    /// # Errors
    /// The API server's.
    pub async fn get(&self) -> Result<Option<Value>, TestError> {
        let found = self.api.get_opt(&self.name).await;
        let found = found.map_err(|error| self.error("get", &error))?;
        found
            .map(|object| serde_json::to_value(object).map_err(TestError::from))
            .transpose()
    }

    fn error(&self, what: &str, error: &kube::Error) -> TestError {
        TestError(format!("cannot {what} {} {}: {error}", self.kind, self.name))
    }
}

fn resource(kind: &str) -> ApiResource {
    let plural = format!("{}s", kind.to_lowercase());
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, VERSION, kind), &plural)
}

/// The text of `metadata.annotations[key]`; empty: none.
pub fn annotation<'o>(object: &'o Value, key: &str) -> &'o str {
    object["metadata"]["annotations"][key]
        .as_str()
        .unwrap_or_default()
}

/// The condition of one type; `Null`: none.
pub fn condition<'o>(object: &'o Value, kind: &str) -> &'o Value {
    let found = object["status"]["conditions"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["type"] == kind));
    found.unwrap_or(&Value::Null)
}

/// `Ready` and `Synced`, of the object as it is desired now.
pub fn is_ready_and_synced(object: &Value) -> bool {
    let generation = &object["metadata"]["generation"];
    condition(object, "Ready")["status"] == "True"
        && condition(object, "Synced")["status"] == "True"
        && condition(object, "Synced")["observedGeneration"] == *generation
}
