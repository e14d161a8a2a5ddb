//! A plugin whose answers a test sets, served on a Unix socket.
#![allow(dead_code)] // Each test file uses its own part.

use std::{
    collections::BTreeMap,
    future::pending,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bridge_core::{
    external::{Config, DesiredState, Document, Owner, Secrets, Target},
    kind::ResourceType,
};
use bridge_plugin::{Options, Plugin};
use crossbridge_proto::v1alpha1::{
    CheckConfigRequest, CheckConfigResponse, CreateRequest, CreateResponse, DeleteRequest, DeleteResponse,
    ExternalNameRules, ExternalNameSource, GetPluginInfoRequest, GetPluginInfoResponse,
    GetResourceKindRequest, GetResourceKindResponse, KindCapabilities, ListResourceKindsRequest,
    ListResourceKindsResponse, ObserveRequest, ObserveResponse, PollOperationRequest, PollOperationResponse,
    ResourceKind, ResourceKindSummary, ResourceType as WireType, UpdateRequest, UpdateResponse,
    plugin_service_server::{PluginService, PluginServiceServer},
    resource_service_server::{ResourceService, ResourceServiceServer},
};
use jiff::Timestamp;
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    net::UnixListener,
    runtime::{Builder, Runtime},
};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{
    Request, Response, Status,
    metadata::MetadataMap,
    transport::{Server, server::Router},
};

/// How the plugin answers a call about a resource.
#[derive(Clone)]
pub enum Say<T> {
    Answer(T),
    Status(Status),
    Nothing,
}

impl<T> Say<T> {
    async fn say(self) -> Result<Response<T>, Status> {
        match self {
            Self::Answer(answer) => Ok(Response::new(answer)),
            Self::Status(status) => Err(status),
            Self::Nothing => pending().await,
        }
    }
}

pub struct Script {
    pub info: GetPluginInfoResponse,
    /// By name of the kind: digest and kind.
    pub kinds: BTreeMap<String, (String, ResourceKind)>,
    pub page: usize,
    pub observe: Say<ObserveResponse>,
    pub create: Say<CreateResponse>,
    pub check_config: Say<CheckConfigResponse>,
    /// Method and metadata of each call of the handshake.
    pub asked: Vec<(&'static str, MetadataMap)>,
    /// Metadata and message of each Create.
    pub created: Vec<(MetadataMap, CreateRequest)>,
    /// Names of the kinds that were fetched.
    pub fetched: Vec<String>,
    pub checked: Vec<CheckConfigRequest>,
    /// Calls of Observe.
    pub observed: usize,
}

impl Default for Script {
    fn default() -> Self {
        let info = GetPluginInfoResponse {
            name: "test.example.org".into(),
            version: "1.2.3".into(),
            contract_versions: vec!["v1alpha1".into()],
            instance_id: "first".into(),
            ..GetPluginInfoResponse::default()
        };
        let kinds = ["Bucket", "Queue", "Table"].map(|name| (name.to_owned(), ("1".to_owned(), kind(name))));
        Self {
            info,
            kinds: kinds.into(),
            page: 2,
            observe: Say::Nothing,
            create: Say::Nothing,
            check_config: Say::Nothing,
            asked: Vec::new(),
            created: Vec::new(),
            fetched: Vec::new(),
            checked: Vec::new(),
            observed: 0,
        }
    }
}

fn wire_type(name: &str) -> WireType {
    WireType {
        group: "test.example.org".into(),
        version: "v1alpha1".into(),
        kind: name.into(),
    }
}

/// Observe-only, so that it needs no examples.
pub fn kind(name: &str) -> ResourceKind {
    ResourceKind {
        resource_type: Some(wire_type(name)),
        plural: format!("{}s", name.to_lowercase()),
        namespaced: true,
        parameters_schema_json: json!({ "type": "object", "properties": {} }).to_string(),
        status_schema_json: json!({ "type": "object", "properties": {} }).to_string(),
        capabilities: Some(KindCapabilities::default()),
        external_name: Some(ExternalNameRules {
            source: ExternalNameSource::User.into(),
            example: "a".into(),
            ..ExternalNameRules::default()
        }),
        ..ResourceKind::default()
    }
}

/// Serves until it is dropped, on a runtime of its own: when that ends, every connection breaks, as when a process dies.
pub struct Fake {
    script: Arc<Mutex<Script>>,
    folder: TempDir,
    server: Option<Runtime>,
}

impl Fake {
    pub fn start(script: Script) -> Self {
        let mut fake = Self {
            script: Arc::new(Mutex::new(script)),
            folder: tempfile::tempdir().unwrap(),
            server: None,
        };
        fake.listen();
        fake
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("plugin.sock")
    }

    pub fn options(&self) -> Options {
        let mut options = Options::new(format!("unix://{}", self.socket().display()).parse().unwrap());
        options.check_every = Duration::from_millis(20);
        options
    }

    pub async fn connect(&self) -> Plugin {
        Plugin::connect(self.options()).await.unwrap().0
    }

    pub fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap()
    }

    pub fn listen(&mut self) {
        let listener = std::os::unix::net::UnixListener::bind(self.socket()).unwrap();
        listener.set_nonblocking(true).unwrap();
        let service = Service(Arc::clone(&self.script));
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.spawn(async move {
            let incoming = UnixListenerStream::new(UnixListener::from_std(listener).unwrap());
            let server = service.on(&mut Server::builder());
            server.serve_with_incoming(incoming).await.unwrap();
        });
        self.server = Some(runtime);
    }

    /// Dies at once, calls under way included.
    pub async fn stop(&mut self) {
        std::fs::remove_file(self.socket()).unwrap();
        if let Some(server) = self.server.take() {
            tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.shutdown_background();
        }
    }
}

/// Answers as its script says.
#[derive(Clone)]
pub struct Service(pub Arc<Mutex<Script>>);

impl Service {
    pub fn on(self, server: &mut Server) -> Router {
        server
            .add_service(PluginServiceServer::new(self.clone()))
            .add_service(ResourceServiceServer::new(self))
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap()
    }
}

#[tonic::async_trait]
impl PluginService for Service {
    async fn get_plugin_info(
        &self,
        request: Request<GetPluginInfoRequest>,
    ) -> Result<Response<GetPluginInfoResponse>, Status> {
        let mut script = self.script();
        script.asked.push(("GetPluginInfo", request.metadata().clone()));
        Ok(Response::new(script.info.clone()))
    }

    async fn list_resource_kinds(
        &self,
        request: Request<ListResourceKindsRequest>,
    ) -> Result<Response<ListResourceKindsResponse>, Status> {
        let mut script = self.script();
        script
            .asked
            .push(("ListResourceKinds", request.metadata().clone()));
        let from: usize = request.get_ref().page_token.parse().unwrap_or(0);
        let until = from + script.page;
        let page = script.kinds.iter().skip(from).take(script.page);
        Ok(Response::new(ListResourceKindsResponse {
            kinds: page
                .map(|(name, (digest, _))| ResourceKindSummary {
                    resource_type: Some(wire_type(name)),
                    digest: digest.clone(),
                })
                .collect(),
            next_page_token: if until < script.kinds.len() {
                until.to_string()
            } else {
                String::new()
            },
        }))
    }

    async fn get_resource_kind(
        &self,
        request: Request<GetResourceKindRequest>,
    ) -> Result<Response<GetResourceKindResponse>, Status> {
        let mut script = self.script();
        script.asked.push(("GetResourceKind", request.metadata().clone()));
        let name = request.into_inner().resource_type.unwrap().kind;
        script.fetched.push(name.clone());
        let (_, kind) = script
            .kinds
            .get(&name)
            .ok_or_else(|| Status::not_found("no such kind"))?;
        Ok(Response::new(GetResourceKindResponse {
            resource_kind: Some(kind.clone()),
        }))
    }

    async fn check_config(
        &self,
        request: Request<CheckConfigRequest>,
    ) -> Result<Response<CheckConfigResponse>, Status> {
        let say = {
            let mut script = self.script();
            script.checked.push(request.into_inner());
            script.check_config.clone()
        };
        say.say().await
    }
}

#[tonic::async_trait]
impl ResourceService for Service {
    async fn observe(&self, _: Request<ObserveRequest>) -> Result<Response<ObserveResponse>, Status> {
        let say = {
            let mut script = self.script();
            script.observed += 1;
            script.observe.clone()
        };
        say.say().await
    }

    async fn create(&self, request: Request<CreateRequest>) -> Result<Response<CreateResponse>, Status> {
        let say = {
            let mut script = self.script();
            let (metadata, _, message) = request.into_parts();
            script.created.push((metadata, message));
            script.create.clone()
        };
        say.say().await
    }

    async fn update(&self, _: Request<UpdateRequest>) -> Result<Response<UpdateResponse>, Status> {
        Err(Status::unimplemented("update"))
    }

    async fn delete(&self, _: Request<DeleteRequest>) -> Result<Response<DeleteResponse>, Status> {
        Err(Status::unimplemented("delete"))
    }

    async fn poll_operation(
        &self,
        _: Request<PollOperationRequest>,
    ) -> Result<Response<PollOperationResponse>, Status> {
        Err(Status::unimplemented("poll"))
    }
}

pub fn target() -> Target {
    Target {
        resource_type: ResourceType {
            group: "test.example.org".into(),
            version: "v1alpha1".into(),
            kind: "Bucket".into(),
        },
        config: Arc::new(config()),
        owner: Owner {
            namespace: "team".into(),
            name: "logs".into(),
            uid: "uid-1".into(),
            generation: 3,
        },
        external_name: "logs".into(),
        ownership_marker: "marker-1".into(),
        former_marker: String::new(),
        provider_state: "state".into(),
    }
}

pub fn config() -> Config {
    Config {
        id: "config-1".into(),
        revision: "revision-1".into(),
        settings_digest: "digest".into(),
        identity: String::new(),
        settings: Some(document(json!({ "region": "north" }))),
        credentials: Secrets(BTreeMap::from([("token".into(), b"canary".to_vec())])),
        credentials_expire: None,
    }
}

pub fn desired() -> DesiredState {
    DesiredState {
        parameters: document(json!({ "size": 9_007_199_254_740_993_u64 })),
        sensitive: Secrets(BTreeMap::from([("/password".into(), b"hunter2hunter2".to_vec())])),
    }
}

pub fn document(value: serde_json::Value) -> Document {
    serde_json::from_value(value).unwrap()
}

pub fn in_seconds(seconds: i64) -> Timestamp {
    Timestamp::now() + jiff::SignedDuration::from_secs(seconds)
}

pub fn in_millis(millis: i64) -> Timestamp {
    Timestamp::now() + jiff::SignedDuration::from_millis(millis)
}
