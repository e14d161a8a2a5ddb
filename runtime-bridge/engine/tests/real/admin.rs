//! What people do to a cluster.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use bridge_control_plane::{ControlPlane, Options};
use bridge_core::watch_plan::GroupKind;
use bridge_engine::{
    api_error::ApiError,
    client::{ApiClient, Clients, ConnectOptions},
    metrics::Metrics,
    object::ApiType,
};
use http::{Method, Request};
use serde::de::DeserializeOwned;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

/// One control plane for all tests that leave it running; it ends with the process.
pub async fn plane() -> MutexGuard<'static, ControlPlane> {
    static PLANE: OnceCell<Mutex<ControlPlane>> = OnceCell::const_new();
    let start = || async { Mutex::new(ControlPlane::start(Options::default()).await.unwrap()) };
    PLANE.get_or_init(start).await.lock().await
}

/// An administrator.
#[derive(Clone)]
pub struct Admin {
    client: ApiClient,
}

impl Admin {
    /// Of the shared control plane.
    pub async fn new() -> Self {
        Self::of(&*plane().await).await
    }

    pub async fn of(plane: &ControlPlane) -> Self {
        Self::with(plane.kubeconfig()).await
    }

    /// With the rights of a user.
    pub async fn with(kubeconfig: PathBuf) -> Self {
        let options = ConnectOptions {
            kubeconfig: Some(kubeconfig),
            context: None,
        };
        let clients = Clients::connect(&options, &Arc::new(Metrics::new()))
            .await
            .unwrap();
        Self {
            client: clients.write,
        }
    }

    pub async fn get(&self, path: &str) -> Result<Value, ApiError> {
        self.send(Method::GET, path, "", &Value::Null).await
    }

    /// As it is stored, however deeply it is nested.
    pub async fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, ApiError> {
        self.send(Method::GET, path, "", &Value::Null).await
    }

    pub async fn create(&self, path: &str, object: &Value) -> Result<Value, ApiError> {
        self.send(Method::POST, path, "application/json", object).await
    }

    pub async fn patch(&self, path: &str, change: &Value) -> Result<Value, ApiError> {
        self.send(Method::PATCH, path, "application/merge-patch+json", change)
            .await
    }

    /// The answer may be nested more deeply than can be read.
    pub async fn patch_deeply(&self, path: &str, change: &Value) {
        let change = self.send::<Box<RawValue>>(Method::PATCH, path, "application/merge-patch+json", change);
        change.await.unwrap();
    }

    pub async fn put(&self, path: &str, object: &Value) -> Result<Value, ApiError> {
        self.send(Method::PUT, path, "application/json", object).await
    }

    /// Server-side apply with force, as this field manager.
    pub async fn apply(&self, path: &str, manager: &str, fields: &Value) -> Value {
        let path = format!("{path}?fieldManager={manager}&force=true");
        let applied = self.send(Method::PATCH, &path, "application/apply-patch+yaml", fields);
        applied.await.unwrap()
    }

    /// Changes what must be there.
    pub async fn json_patch(&self, path: String, change: Value) {
        let change = self.send::<Value>(Method::PATCH, &path, "application/json-patch+json", &change);
        change.await.unwrap();
    }

    pub async fn delete(&self, path: &str) -> Result<Value, ApiError> {
        self.send(Method::DELETE, path, "application/json", &json!({}))
            .await
    }

    /// A deletion that deletes nothing.
    pub async fn try_delete(&self, path: &str) -> Result<Value, ApiError> {
        let options = json!({"dryRun": ["All"]});
        self.send(Method::DELETE, path, "application/json", &options)
            .await
    }

    /// Makes a namespace of that name.
    pub async fn namespace(&self, name: &str) -> String {
        self.create("/api/v1/namespaces", &json!({"metadata": {"name": name}}))
            .await
            .unwrap();
        name.to_owned()
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        body: &Value,
    ) -> Result<T, ApiError> {
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(body);
        self.client.call("test", "test", request.unwrap()).await
    }
}

/// A kind of its own for one test: `Bucket` in a group that nobody else uses.
pub struct TestKind {
    pub api: Arc<ApiType>,
}

impl TestKind {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let group = format!("t{}.crossbridge.dev", NEXT.fetch_add(1, Ordering::Relaxed));
        let kind = GroupKind::new(&group, "Bucket");
        Self {
            api: Arc::new(ApiType {
                kind,
                version: "v1".into(),
                plural: "buckets".into(),
                namespaced: true,
            }),
        }
    }

    pub fn name(&self) -> String {
        format!("buckets.{}", self.api.kind.group())
    }

    pub fn path(&self) -> String {
        format!("{DEFINITIONS}/{}", self.name())
    }

    pub fn collection(&self, namespace: &str) -> String {
        self.api.collection_path(Some(namespace))
    }

    pub fn definition(&self) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name(), "labels": {"app.kubernetes.io/managed-by": "crossbridge"}},
            "spec": {
                "group": self.api.kind.group(),
                "scope": "Namespaced",
                "names": {"kind": "Bucket", "listKind": "BucketList", "plural": "buckets", "singular": "bucket"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {
                                "size": {"type": "integer", "maximum": 100},
                                "secret": {"type": "string"},
                            }},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        },
                    }},
                }],
            },
        })
    }

    pub fn bucket(&self, name: &str) -> Value {
        json!({"apiVersion": self.api.api_version(), "kind": "Bucket", "metadata": {"name": name}, "spec": {"size": 1}})
    }
}

pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
