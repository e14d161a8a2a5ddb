//! The hostile plugin: raw messages of the contract, said as an [`Attack`] likes, without any check of ours on its side.

use std::{path::Path, sync::Arc, time::Duration};

use crossbridge_proto::v1alpha1::{
    CheckConfigRequest, CheckConfigResponse, ConnectionKey, CreateRequest, CreateResponse, CredentialKey,
    DeleteRequest, DeleteResponse, Document, ExternalNameRules, ExternalNameSource, FieldRule,
    GetPluginInfoRequest, GetPluginInfoResponse, GetResourceKindRequest, GetResourceKindResponse,
    KindCapabilities, ListResourceKindsRequest, ListResourceKindsResponse, Observation, ObserveRequest,
    ObserveResponse, PollOperationRequest, PollOperationResponse, ResourceKind, ResourceKindSummary,
    ResourceType, UpdateRequest, UpdateResponse, observe_response,
    plugin_service_server::{PluginService, PluginServiceServer},
    resource_service_server::{ResourceService, ResourceServiceServer},
};
use serde_json::json;
use tokio::{net::UnixListener, task::JoinHandle};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{Request, Response, Status, transport::Server};
use tower::util::MapResponseLayer;

use crate::Held;

/// Its name, which is its group.
pub const HOSTILE: &str = "evil.example.org";

/// The kind that it may serve.
pub const MINE: &str = "Trap";

/// What a hostile plugin says. What is not overridden is said as a good one would.
#[tonic::async_trait]
pub trait Attack: Send + Sync + 'static {
    /// Who it says that it is.
    fn info(&self) -> GetPluginInfoResponse {
        GetPluginInfoResponse {
            name: HOSTILE.into(),
            version: "1.0.0".into(),
            contract_versions: vec!["v1alpha1".into()],
            instance_id: "evil".into(),
            max_concurrent_calls: 1000,
            credential_keys: vec![CredentialKey {
                name: "token".into(),
                ..CredentialKey::default()
            }],
            ..GetPluginInfoResponse::default()
        }
    }

    /// The kinds that it publishes.
    fn kinds(&self) -> Vec<ResourceKind> {
        vec![kind(HOSTILE, MINE)]
    }

    /// A page of them; all in one, if it is not overridden.
    async fn page(&self, _: &str) -> Result<ListResourceKindsResponse, Status> {
        let kinds = self.kinds().into_iter().map(|kind| ResourceKindSummary {
            resource_type: kind.resource_type,
            digest: "1".into(),
        });
        Ok(ListResourceKindsResponse {
            kinds: kinds.collect(),
            next_page_token: String::new(),
        })
    }

    /// What it makes of a config.
    async fn check_config(&self, _: CheckConfigRequest) -> Result<CheckConfigResponse, Status> {
        Ok(CheckConfigResponse::default())
    }

    /// What it says of a resource.
    async fn observe(&self, request: ObserveRequest) -> Result<ObserveResponse, Status> {
        Ok(observed(&request, Observation::default()))
    }

    /// What it says of a creation.
    async fn create(&self, _: CreateRequest) -> Result<CreateResponse, Status> {
        Err(Status::unimplemented("create"))
    }
}

/// A kind that is observed alone, with one sensitive field and one connection key.
pub fn kind(group: &str, name: &str) -> ResourceKind {
    let status = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let mut schema = status.clone();
    schema["properties"] = json!({ "password": { "type": "string" } });
    ResourceKind {
        resource_type: Some(ResourceType {
            group: group.into(),
            version: "v1alpha1".into(),
            kind: name.into(),
        }),
        plural: format!("{}s", name.to_lowercase()),
        namespaced: true,
        parameters_schema_json: schema.to_string(),
        status_schema_json: status.to_string(),
        capabilities: Some(KindCapabilities::default()),
        external_name: Some(ExternalNameRules {
            source: ExternalNameSource::User.into(),
            example: "a".into(),
            ..ExternalNameRules::default()
        }),
        field_rules: vec![FieldRule {
            path: "/password".into(),
            sensitive: true,
            ..FieldRule::default()
        }],
        connection_keys: vec![ConnectionKey {
            name: "url".into(),
            ..ConnectionKey::default()
        }],
        ..ResourceKind::default()
    }
}

/// An answer to an Observe; what is needed for it to be one is filled in.
pub fn observed(request: &ObserveRequest, mut observation: Observation) -> ObserveResponse {
    if observation.external_name.is_empty() {
        observation.external_name = request
            .target
            .as_ref()
            .map(|target| target.external_name.clone())
            .unwrap_or_default();
    }
    observation
        .parameters
        .get_or_insert_with(|| Document { json: "{}".into() });
    ObserveResponse {
        result: Some(observe_response::Result::Observation(observation)),
    }
}

/// Serves until it is dropped.
pub struct HostilePlugin(JoinHandle<()>);

impl HostilePlugin {
    /// At a Unix socket.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn serve(socket: &Path, attack: impl Attack) -> Self {
        Self::serve_held(socket, attack, Held::until(1))
    }

    /// Likewise, where the ends of large answers are held.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn serve_held(socket: &Path, attack: impl Attack, held: Held) -> Self {
        let service = Service(Arc::new(attack));
        let incoming = UnixListenerStream::new(unix_listener(socket));
        Self(tokio::spawn(async move {
            let served = Server::builder()
                .max_frame_size(Some(1 << 20))
                .layer(MapResponseLayer::new(move |answer| held.hold(answer)))
                .add_service(PluginServiceServer::new(service.clone()).max_encoding_message_size(usize::MAX))
                .add_service(ResourceServiceServer::new(service).max_encoding_message_size(usize::MAX))
                .serve_with_incoming(incoming);
            served.await.expect("it serves");
        }))
    }

    /// Whatever is done with each connection.
    ///
    /// # Panics
    /// If it cannot listen.
    pub fn serve_bytes<F>(
        socket: &Path,
        mut serve: impl FnMut(tokio::net::UnixStream) -> F + Send + 'static,
    ) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = unix_listener(socket);
        Self(tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(tokio::time::timeout(Duration::from_mins(2), serve(stream)));
            }
        }))
    }
}

impl Drop for HostilePlugin {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A listener that only its owner may connect to, as the bridge demands.
///
/// # Panics
/// If it cannot listen.
pub fn unix_listener(socket: &Path) -> UnixListener {
    use std::os::unix::fs::PermissionsExt as _;
    let listener = UnixListener::bind(socket).expect("a socket");
    std::fs::set_permissions(socket, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    listener
}

struct Service<A>(Arc<A>);

impl<A> Clone for Service<A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[tonic::async_trait]
impl<A: Attack> PluginService for Service<A> {
    async fn get_plugin_info(
        &self,
        _: Request<GetPluginInfoRequest>,
    ) -> Result<Response<GetPluginInfoResponse>, Status> {
        Ok(Response::new(self.0.info()))
    }

    async fn list_resource_kinds(
        &self,
        request: Request<ListResourceKindsRequest>,
    ) -> Result<Response<ListResourceKindsResponse>, Status> {
        self.0
            .page(&request.get_ref().page_token)
            .await
            .map(Response::new)
    }

    async fn get_resource_kind(
        &self,
        request: Request<GetResourceKindRequest>,
    ) -> Result<Response<GetResourceKindResponse>, Status> {
        let wanted = request.into_inner().resource_type;
        let found = self
            .0
            .kinds()
            .into_iter()
            .find(|kind| kind.resource_type == wanted);
        let kind = found.ok_or_else(|| Status::not_found("no such kind"))?;
        Ok(Response::new(GetResourceKindResponse {
            resource_kind: Some(kind),
        }))
    }

    async fn check_config(
        &self,
        request: Request<CheckConfigRequest>,
    ) -> Result<Response<CheckConfigResponse>, Status> {
        self.0.check_config(request.into_inner()).await.map(Response::new)
    }
}

#[tonic::async_trait]
impl<A: Attack> ResourceService for Service<A> {
    async fn observe(&self, request: Request<ObserveRequest>) -> Result<Response<ObserveResponse>, Status> {
        self.0.observe(request.into_inner()).await.map(Response::new)
    }

    async fn create(&self, request: Request<CreateRequest>) -> Result<Response<CreateResponse>, Status> {
        self.0.create(request.into_inner()).await.map(Response::new)
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
