//! A real API server, as an administrator uses it.

use std::time::Duration;

use bridge_control_plane::Options;
use bridge_control_planes::{ControlPlanes, TestPlane};
use kube::{
    Api, Client, Config,
    api::{DynamicObject, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, GroupVersionKind},
    runtime::wait::await_condition,
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

const LIMIT: Duration = Duration::from_mins(1);

pub struct Cluster {
    pub plane: TestPlane,
    pub client: Client,
}

impl Cluster {
    /// For tests that leave no role, webhook or policy: another test gets the control plane after them.
    pub async fn start() -> Self {
        static PLANES: ControlPlanes = ControlPlanes::new(&[]);
        Self::on(PLANES.take().await.unwrap()).await
    }

    /// On a control plane of its own, as compositions need one: they bring a policy along.
    pub async fn own() -> Self {
        Self::start_with(Options::default()).await
    }

    pub async fn start_with(options: Options) -> Self {
        Self::on(TestPlane::start(options).await.unwrap()).await
    }

    async fn on(plane: TestPlane) -> Self {
        let config = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default())
            .await
            .unwrap();
        // A build of the whole workspace includes two providers: one must be named. An error means that it is.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::try_from(config).unwrap();
        Self { plane, client }
    }

    pub fn definitions(&self) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        Api::all_with(self.client.clone(), &ApiResource::from_gvk(&gvk))
    }

    pub fn secrets(&self) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Secret"));
        Api::namespaced_with(self.client.clone(), "default", &resource)
    }

    pub fn namespaced(&self, kind: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), "default", &resource(kind))
    }

    /// The API of memos, the kind of the second plugin.
    pub fn memos(&self) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk("memos.example.org", "v1alpha1", "Memo");
        Api::namespaced_with(self.client.clone(), "default", &ApiResource::from_gvk(&gvk))
    }

    /// A `ClusterProviderConfig` of the plugin of memos, which needs nothing.
    pub async fn configure_memos(&self) {
        let gvk = GroupVersionKind::gvk("memos.example.org", "v1alpha1", "ClusterProviderConfig");
        let configs = Api::all_with(self.client.clone(), &ApiResource::from_gvk(&gvk));
        let config = json!({
            "apiVersion": "memos.example.org/v1alpha1",
            "kind": "ClusterProviderConfig",
            "metadata": { "name": "default" },
            "spec": { "credentials": { "source": "None" } },
        });
        until_served(&configs).await;
        create(&configs, config).await.unwrap();
    }

    pub fn cluster_scoped(&self, kind: &str) -> Api<DynamicObject> {
        Api::all_with(self.client.clone(), &resource(kind))
    }
}

fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("notes.example.org", "v1alpha1", kind))
}

/// A manifest as an object; its name is in it.
pub fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).unwrap()
}

pub async fn create(api: &Api<DynamicObject>, value: Value) -> Result<DynamicObject, String> {
    api.create(&PostParams::default(), &object(value))
        .await
        .map_err(|error| error.to_string())
}

pub async fn merge(api: &Api<DynamicObject>, name: &str, patch: Value) -> Result<DynamicObject, String> {
    let merged = api
        .patch(name, &PatchParams::default(), &Patch::Merge(patch))
        .await;
    merged.map_err(|error| error.to_string())
}

/// Watches until the object is as wanted.
pub async fn until(
    api: &Api<DynamicObject>,
    name: &str,
    what: &str,
    wanted: impl Fn(&DynamicObject) -> bool,
) -> DynamicObject {
    let condition = |object: Option<&DynamicObject>| object.is_some_and(&wanted);
    let seen = timeout(LIMIT, await_condition(api.clone(), name, condition)).await;
    seen.unwrap_or_else(|_| panic!("{name}: not {what} within {LIMIT:?}"))
        .unwrap()
        .unwrap()
}

/// Waits until the API server serves the kind, a moment after its CRD is established.
pub async fn until_served(api: &Api<DynamicObject>) {
    let served = async {
        while api.list(&ListParams::default()).await.is_err() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    assert!(
        timeout(LIMIT, served).await.is_ok(),
        "not served within {LIMIT:?}"
    );
}

pub async fn until_gone(api: Api<DynamicObject>, name: &str) {
    let gone = await_condition(api, name, |object: Option<&DynamicObject>| object.is_none());
    let seen = timeout(LIMIT, gone).await;
    seen.unwrap_or_else(|_| panic!("{name}: not gone within {LIMIT:?}"))
        .unwrap();
}

pub fn condition<'a>(object: &'a DynamicObject, of: &str) -> Option<&'a Value> {
    let conditions = object.data.pointer("/status/conditions")?.as_array()?;
    conditions.iter().find(|condition| condition["type"] == of)
}

pub fn is_true(object: &DynamicObject, of: &str) -> bool {
    condition(object, of).is_some_and(|condition| condition["status"] == "True")
}

/// A `ClusterProviderConfig` that takes its credentials from a Secret of this content, once its kind is served.
pub async fn configure(cluster: &Cluster, secret: Value) {
    let secret =
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "keys" }, "stringData": secret });
    create(&cluster.secrets(), secret).await.unwrap();
    let config = json!({
        "apiVersion": "notes.example.org/v1alpha1",
        "kind": "ClusterProviderConfig",
        "metadata": { "name": "default" },
        "spec": {
            "settings": { "author": "me" },
            "credentials": { "source": "Secret", "secretRef": { "namespace": "default", "name": "keys" } },
        },
    });
    let configs = cluster.cluster_scoped("ClusterProviderConfig");
    until_served(&configs).await;
    create(&configs, config).await.unwrap();
}

pub fn note() -> Value {
    json!({
        "apiVersion": "notes.example.org/v1alpha1",
        "kind": "Note",
        "metadata": { "name": "groceries" },
        "spec": { "forProvider": { "title": "Buy milk" } },
    })
}
