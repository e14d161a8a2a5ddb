//! An API server, fake or real, and a kind of its own for each test.

use std::{
    fmt::Debug,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bridge_control_plane::{ControlPlane, Options};
use fake_kube::{Kube, fault::Calm};
use futures::{AsyncBufRead, AsyncBufReadExt};
use http::{Method, Request};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

pub const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Longest wait for anything; a test that gets there fails.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Server {
    client: Client,
    pub namespace: String,
    pub definition: String,
    pub group: String,
}

#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub body: Value,
}

impl Answer {
    pub fn reason(&self) -> &str {
        self.body["reason"].as_str().unwrap_or_default()
    }
}

impl Server {
    pub async fn fake() -> Self {
        let kube = Kube::new(Arc::new(Timestamp::now));
        Self::with(kube.client(Arc::new(Calm))).await
    }

    /// One control plane for all tests; it ends with the process.
    pub async fn real() -> Self {
        Self::with(Self::real_client().await).await
    }

    async fn real_client() -> Client {
        static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();
        let start = || async { ControlPlane::start(Options::default()).await.unwrap() };
        let kubeconfig = PLANE.get_or_init(start).await.kubeconfig();
        // It fails only if another test was faster.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        Client::try_from(config.unwrap()).unwrap()
    }

    /// Without a kind or a namespace of its own.
    pub fn bare_fake() -> Self {
        let kube = Kube::new(Arc::new(Timestamp::now));
        Self::bare(kube.client(Arc::new(Calm)))
    }

    /// The real API server, without a kind or a namespace of its own.
    pub async fn bare_real() -> Self {
        Self::bare(Self::real_client().await)
    }

    fn bare(client: Client) -> Self {
        Self {
            client,
            namespace: String::new(),
            definition: String::new(),
            group: String::new(),
        }
    }

    async fn with(client: Client) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let group = format!("t{number}.example.org");
        let server = Self {
            client,
            namespace: format!("team-{number}"),
            definition: format!("things.{group}"),
            group,
        };
        server
            .post(
                "/api/v1/namespaces",
                &json!({"metadata": {"name": server.namespace}}),
            )
            .await;
        let made = server.post(DEFINITIONS, &server.crd()).await;
        assert_eq!(made.code, 201, "{made:?}");
        server
            .eventually("the kind is served", || async {
                server.get(&server.things()).await.code == 200
            })
            .await;
        server
    }

    fn crd(&self) -> Value {
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.definition},
            "spec": {
                "group": self.group,
                "scope": "Namespaced",
                "names": {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {"type": "object", "properties": {
                                "size": {"type": "integer"},
                                "colour": {"type": "string", "default": "red"},
                            }},
                            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        },
                    }},
                }],
            },
        })
    }

    pub fn things(&self) -> String {
        format!("/apis/{}/v1/namespaces/{}/things", self.group, self.namespace)
    }

    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.things())
    }

    pub fn thing(&self, name: &str) -> Value {
        json!({
            "apiVersion": format!("{}/v1", self.group), "kind": "Thing",
            "metadata": {"name": name}, "spec": {"size": 1},
        })
    }

    pub async fn create(&self, name: &str) -> Answer {
        self.post(&self.things(), &self.thing(name)).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, "", &Value::Null).await
    }

    pub async fn get_as(&self, path: &str, accept: &str) -> Answer {
        let request = Request::get(path).header("accept", accept);
        self.answer(request.body(Body::empty()).unwrap()).await
    }

    pub async fn post(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::POST, path, "application/json", object).await
    }

    pub async fn put(&self, path: &str, object: &Value) -> Answer {
        self.send(Method::PUT, path, "application/json", object).await
    }

    pub async fn merge_patch(&self, path: &str, change: &Value) -> Answer {
        self.send(Method::PATCH, path, "application/merge-patch+json", change)
            .await
    }

    pub async fn json_patch(&self, path: &str, change: &Value) -> Answer {
        self.send(Method::PATCH, path, "application/json-patch+json", change)
            .await
    }

    pub async fn apply(&self, path: &str, desired: &Value) -> Answer {
        self.send(Method::PATCH, path, "application/apply-patch+yaml", desired)
            .await
    }

    pub async fn delete(&self, path: &str, options: &Value) -> Answer {
        self.send(Method::DELETE, path, "application/json", options).await
    }

    pub async fn watch(&self, query: &str) -> Watch {
        self.watch_at(&format!("{}?{query}", self.things())).await
    }

    pub async fn watch_at(&self, path: &str) -> Watch {
        let request = Request::get(path).body(Vec::new()).unwrap();
        Watch(Box::pin(self.client.request_stream(request).await.unwrap()))
    }

    /// Deletes a namespace. Returns when nothing new may be created in it: a real API server enforces that a little later.
    pub async fn end_namespace(&self, namespace: &str, collection: &str) -> Answer {
        let ended = self
            .delete(&format!("/api/v1/namespaces/{namespace}"), &Value::Null)
            .await;
        self.refuses(collection, 403).await;
        ended
    }

    /// Finalises a namespace that is being deleted, whatever there is in it. Returns when nothing may be written in it.
    pub async fn drop_namespace(&self, namespace: &str, collection: &str) -> Answer {
        let path = format!("/api/v1/namespaces/{namespace}");
        let mut body = self.get(&path).await.body;
        body["spec"] = json!({"finalizers": []});
        let dropped = self.put(&format!("{path}/finalize"), &body).await;
        self.refuses(collection, 404).await;
        dropped
    }

    /// Creates a namespace anew that has ended, and returns when something can be created in it.
    pub async fn put_namespace_back(&self, namespace: &str) {
        let path = format!("/api/v1/namespaces/{namespace}");
        let mut body = self.get(&path).await.body;
        if body["kind"] == "Namespace" {
            body["spec"] = json!({"finalizers": []});
            self.put(&format!("{path}/finalize"), &body).await;
        }
        self.eventually("the namespace is back", || async {
            let back = self
                .post("/api/v1/namespaces", &json!({"metadata": {"name": namespace}}))
                .await;
            back.code == 201
        })
        .await;
        let claims = format!("/api/v1/namespaces/{namespace}/configmaps");
        let trial = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "trial"}});
        self.eventually("something can be created in it", || async {
            matches!(self.post(&claims, &trial).await.code, 201 | 409)
        })
        .await;
    }

    /// Until a creation there is rejected with this code, whatever it is.
    async fn refuses(&self, collection: &str, code: u16) {
        let group = collection.split('/').nth(2).unwrap_or_default();
        let plural = collection.rsplit('/').next().unwrap_or_default();
        let kind: String = plural[..1].to_uppercase() + &plural[1..plural.len() - 1];
        let trial = json!({
            "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"name": "trial"}, "spec": {"size": 1},
        });
        self.eventually("the namespace has ended", || async {
            self.post(&format!("{collection}?dryRun=All"), &trial).await.code == code
        })
        .await;
    }

    pub async fn eventually<F>(&self, what: &str, holds: impl Fn() -> F)
    where
        F: Future<Output = bool>,
    {
        tokio::time::timeout(PATIENCE, async {
            while !holds().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .unwrap_or_else(|_| panic!("{what}: not within {PATIENCE:?}"));
    }

    async fn send(&self, method: Method, path: &str, content_type: &str, body: &Value) -> Answer {
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type)
            .body(Body::from(body));
        self.answer(request.unwrap()).await
    }

    async fn answer(&self, request: Request<Body>) -> Answer {
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        // What is not JSON holds nothing that counts here.
        let body = serde_json::from_slice(&bytes).unwrap_or_default();
        Answer { code, body }
    }
}

pub struct Watch(Pin<Box<dyn AsyncBufRead + Send>>);

impl Watch {
    pub async fn next(&mut self) -> Value {
        let mut line = String::new();
        tokio::time::timeout(PATIENCE, self.0.read_line(&mut line))
            .await
            .unwrap()
            .unwrap();
        serde_json::from_str(&line).unwrap()
    }
}
