//! Compositions as the binary serves them: what its tests begin with, a function on a socket and a kind of orders.

mod canary;
mod packages;
mod plugin_away;
pub mod rights;
mod serve;
mod slow_functions;
mod trace;
mod unwatched;

use std::time::Duration;

use fake_function::{FakeFunction, Version};
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, ListParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    net::UnixListener,
    task::JoinHandle,
    time::{Instant, sleep},
};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::transport::Server;

use crate::cluster::{Cluster, is_true, object, until, until_gone};

pub const LIMIT: Duration = Duration::from_mins(1);

pub const CRDS: [&str; 9] = [
    "clusterusages.protection.crossplane.io",
    "compositeresourcedefinitions.apiextensions.crossplane.io",
    "compositionrevisions.apiextensions.crossplane.io",
    "compositions.apiextensions.crossplane.io",
    "environmentconfigs.apiextensions.crossplane.io",
    "functionrevisions.pkg.crossplane.io",
    "functions.pkg.crossplane.io",
    "usages.apiextensions.crossplane.io",
    "usages.protection.crossplane.io",
];

/// A function on a socket of its own, until it is dropped.
pub struct Function {
    folder: TempDir,
    pub fake: FakeFunction,
    served: JoinHandle<()>,
}

impl Function {
    pub fn start() -> Self {
        Self::start_at(tempfile::tempdir().unwrap())
    }

    /// The socket is `f.sock` in this folder.
    pub fn start_at(folder: TempDir) -> Self {
        let fake = FakeFunction::default();
        let incoming = UnixListenerStream::new(UnixListener::bind(folder.path().join("f.sock")).unwrap());
        let routes = fake.routes(Version::V1);
        let served = tokio::spawn(async move {
            let server = Server::builder().add_routes(routes);
            server.serve_with_incoming(incoming).await.unwrap();
        });
        Self { folder, fake, served }
    }

    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.folder.path().join("f.sock").display())
    }

    pub fn flag(&self) -> String {
        format!("f={}", self.endpoint())
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.served.abort();
    }
}

pub fn api(
    cluster: &Cluster,
    group: &str,
    version: &str,
    kind: &str,
    namespaced: bool,
) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    if namespaced {
        Api::namespaced_with(cluster.client.clone(), "default", &resource)
    } else {
        Api::all_with(cluster.client.clone(), &resource)
    }
}

pub fn orders(cluster: &Cluster) -> Api<DynamicObject> {
    api(cluster, "shop.example.org", "v1", "Order", true)
}

pub fn crossplane(cluster: &Cluster, version: &str, kind: &str) -> Api<DynamicObject> {
    api(cluster, "apiextensions.crossplane.io", version, kind, false)
}

pub fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v2",
        "kind": "CompositeResourceDefinition",
        "metadata": { "name": "orders.shop.example.org" },
        "spec": {
            "group": "shop.example.org",
            "names": { "kind": "Order", "plural": "orders" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1", "served": true, "referenceable": true,
                "schema": { "openAPIV3Schema": {
                    "type": "object",
                    "properties": { "spec": { "type": "object", "properties": {
                        "size": { "type": "integer" },
                    }}},
                }},
            }],
        },
    })
}

/// Of an order of size 2 two `ConfigMap`s, and of any other none.
pub fn composition() -> Value {
    let config_map = |value: &str| {
        json!({
            "object": { "apiVersion": "v1", "kind": "ConfigMap", "data": { "value": value } },
            "when": { "equals": { "path": "/spec/size", "value": 2 } },
            "ready": "always",
        })
    };
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": { "name": "orders" },
        "spec": {
            "compositeTypeRef": { "apiVersion": "shop.example.org/v1", "kind": "Order" },
            "mode": "Pipeline",
            "pipeline": [{
                "step": "compose",
                "functionRef": { "name": "f" },
                "input": {
                    "apiVersion": "fn.example.org/v1",
                    "kind": "Program",
                    "resources": { "first": config_map("1"), "second": config_map("2") },
                },
            }],
        },
    })
}

pub fn order(name: &str, size: u64) -> Value {
    json!({
        "apiVersion": "shop.example.org/v1",
        "kind": "Order",
        "metadata": { "name": name },
        "spec": { "size": size },
    })
}

/// The API server itself takes a moment to serve a kind whose CRD is established.
pub async fn create(api: &Api<DynamicObject>, value: Value) {
    let wanted = object(value);
    let end = Instant::now() + LIMIT;
    loop {
        match api.create(&PostParams::default(), &wanted).await {
            Ok(_) => return,
            Err(kube::Error::Api(status)) if status.code == 404 && Instant::now() < end => {}
            Err(error) => panic!("{error}"),
        }
        sleep(Duration::from_millis(50)).await;
    }
}

pub async fn define(cluster: &Cluster) {
    for name in CRDS {
        until(&cluster.definitions(), name, "established", |crd| {
            is_true(crd, "Established")
        })
        .await;
    }
    create(
        &crossplane(cluster, "v2", "CompositeResourceDefinition"),
        definition(),
    )
    .await;
    create(&crossplane(cluster, "v1", "Composition"), composition()).await;
    until(
        &cluster.definitions(),
        "orders.shop.example.org",
        "established",
        |crd| is_true(crd, "Established"),
    )
    .await;
}

pub async fn ready(cluster: &Cluster, name: &str) {
    until(&orders(cluster), name, "ready", |order| {
        is_true(order, "Synced") && is_true(order, "Ready")
    })
    .await;
}

pub async fn remove(api: Api<DynamicObject>, name: &str) {
    api.delete(name, &DeleteParams::default()).await.unwrap();
    until_gone(api, name).await;
}

pub async fn composed(cluster: &Cluster) -> Vec<DynamicObject> {
    let all = api(cluster, "", "v1", "ConfigMap", true);
    let of_composites = ListParams::default().labels("crossplane.io/composite");
    all.list(&of_composites).await.unwrap().items
}

pub fn values(config_maps: &[DynamicObject]) -> Vec<&str> {
    let mut values: Vec<&str> = config_maps
        .iter()
        .map(|config_map| config_map.data["data"]["value"].as_str().unwrap())
        .collect();
    values.sort_unstable();
    values
}
