//! The plugin: it checks what it is asked, passes it on to the cloud, and keeps nothing.

use std::{future::pending, sync::Arc, time::Duration};

use crossbridge_proto::v1alpha1::{
    self as wire,
    plugin_service_server::{PluginService, PluginServiceServer},
    resource_service_server::{ResourceService, ResourceServiceServer},
};
use crossbridge_types::{self as types, PluginInfo, Violation};
use jiff::Timestamp;
use serde_json::json;
use tonic::{Request, Response, Status, metadata::MetadataMap, service::Routes};
use tonic_health::server::{HealthReporter, HealthService};

use crate::{
    cloud::{Answer, Ask, Verdict},
    kinds::{self, GROUP, Subject},
    link::{Link, Now},
};

/// What the plugin does when the cloud has it die.
pub type Die = Arc<dyn Fn() + Send + Sync>;

/// A plugin over one cloud.
#[derive(Clone)]
pub struct Plugin {
    kinds: Arc<Vec<Subject>>,
    link: Arc<dyn Link>,
    now: Now,
    die: Die,
    instance: String,
}

impl Plugin {
    /// `instance`: another one at each start.
    pub fn new(link: Arc<dyn Link>, now: Now, die: Die, instance: impl Into<String>) -> Self {
        Self {
            kinds: Arc::new(kinds::all()),
            link,
            now,
            die,
            instance: instance.into(),
        }
    }

    /// Serves these kinds only.
    #[must_use]
    pub fn only(mut self, kinds: &[&str]) -> Self {
        let mut all = kinds::all();
        all.retain(|subject| kinds.contains(&subject.name()));
        self.kinds = Arc::new(all);
        self
    }

    /// Gives every call this time, in place of [`kinds::CALL`].
    #[must_use]
    pub fn with_call_timeout(mut self, limit: Duration) -> Self {
        let mut kinds = self.kinds.to_vec();
        for subject in &mut kinds {
            if let Some(timeouts) = &mut subject.wire.timeouts {
                timeouts.call_timeout = prost_types::Duration::try_from(limit).ok();
            }
        }
        self.kinds = Arc::new(kinds);
        self
    }

    /// The gRPC routes of all its services, health included.
    pub fn routes(&self) -> Routes {
        let health = HealthService::from_health_reporter(HealthReporter::new());
        Routes::default()
            .add_service(tonic_health::pb::health_server::HealthServer::new(health))
            .add_service(PluginServiceServer::new(self.clone()))
            .add_service(ResourceServiceServer::new(self.clone()))
    }

    fn info(&self) -> PluginInfo {
        PluginInfo {
            name: GROUP.to_owned(),
            version: "1.0.0".to_owned(),
            contract_versions: vec!["v1alpha1".to_owned()],
            lists_external: false,
            instance_id: self.instance.clone(),
            max_concurrent_calls: types::DEFAULT_CONCURRENT_CALLS,
            max_message_bytes: types::DEFAULT_MESSAGE_BYTES,
            config_schema: Some(json!({"type": "object", "properties": {"region": {"type": "string"}}})),
            credential_keys: vec![types::CredentialKey {
                name: "key".to_owned(),
                description: "Opens the cloud.".to_owned(),
                required: false,
            }],
        }
    }

    /// The absolute deadline, from `crossbridge-deadline-ms`; `None`: not sent.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION` if that has passed.
    fn deadline(&self, metadata: &MetadataMap) -> Result<Option<Timestamp>, Status> {
        let deadline = metadata
            .get("crossbridge-deadline-ms")
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .and_then(|milliseconds| Timestamp::from_millisecond(milliseconds).ok());
        match deadline {
            Some(deadline) if deadline <= (self.now)() => {
                self.link.came_late(deadline);
                Err(Status::failed_precondition(
                    "the call's deadline has passed: nothing was done",
                ))
            }
            deadline => Ok(deadline),
        }
    }

    async fn ask<W, A>(&self, request: Request<W>, make: fn(A) -> Ask) -> Result<Answer, Status>
    where
        A: TryFrom<W, Error = Violation>,
    {
        let deadline = self.deadline(request.metadata())?;
        let ask = A::try_from(request.into_inner())
            .map_err(|violation| Status::invalid_argument(violation.to_string()))?;
        let verdict = self.link.ask(make(ask), deadline).await;
        match verdict.map_err(|unreachable| Status::unavailable(unreachable.to_string()))? {
            Verdict::Answer(answer, wait) => {
                if !wait.is_zero() {
                    tokio::time::sleep(wait).await;
                }
                Ok(answer)
            }
            Verdict::Silence => pending().await,
            Verdict::Crash => {
                (self.die)();
                pending().await
            }
            Verdict::Status => Err(Status::internal("the plugin stumbled")),
            Verdict::Refused(problem) => Err(Status::invalid_argument(problem)),
        }
    }

    async fn change<W>(
        &self,
        request: Request<W>,
        make: fn(types::Call) -> Ask,
    ) -> Result<types::Outcome, Status>
    where
        types::Call: TryFrom<W, Error = Violation>,
    {
        match self.ask(request, make).await? {
            Answer::Outcome(outcome) => Ok(outcome),
            other => Err(mismatch(&other)),
        }
    }
}

fn mismatch(answer: &Answer) -> Status {
    Status::internal(format!("the cloud answered something else: {answer:?}"))
}

fn digest(subject: &Subject) -> String {
    // The kinds are constants of this build.
    format!("1-{}", subject.name())
}

#[tonic::async_trait]
impl PluginService for Plugin {
    async fn get_plugin_info(
        &self,
        _: Request<wire::GetPluginInfoRequest>,
    ) -> Result<Response<wire::GetPluginInfoResponse>, Status> {
        Ok(Response::new(self.info().into()))
    }

    async fn list_resource_kinds(
        &self,
        _: Request<wire::ListResourceKindsRequest>,
    ) -> Result<Response<wire::ListResourceKindsResponse>, Status> {
        let kinds = self.kinds.iter().map(|subject| wire::ResourceKindSummary {
            resource_type: subject.wire.resource_type.clone(),
            digest: digest(subject),
        });
        Ok(Response::new(wire::ListResourceKindsResponse {
            kinds: kinds.collect(),
            next_page_token: String::new(),
        }))
    }

    async fn get_resource_kind(
        &self,
        request: Request<wire::GetResourceKindRequest>,
    ) -> Result<Response<wire::GetResourceKindResponse>, Status> {
        let wanted = request.into_inner().resource_type;
        let found = self
            .kinds
            .iter()
            .find(|subject| subject.wire.resource_type == wanted);
        match found {
            Some(subject) => Ok(Response::new(wire::GetResourceKindResponse {
                resource_kind: Some(subject.wire.clone()),
            })),
            None => Err(Status::not_found("no such kind")),
        }
    }

    async fn check_config(
        &self,
        request: Request<wire::CheckConfigRequest>,
    ) -> Result<Response<wire::CheckConfigResponse>, Status> {
        match self.ask(request, Ask::CheckConfig).await? {
            Answer::Config(verdict) => Ok(Response::new(verdict.into())),
            other => Err(mismatch(&other)),
        }
    }
}

#[tonic::async_trait]
impl ResourceService for Plugin {
    async fn observe(
        &self,
        request: Request<wire::ObserveRequest>,
    ) -> Result<Response<wire::ObserveResponse>, Status> {
        match self.ask(request, Ask::Observe).await? {
            Answer::ObserveResult(look) => Ok(Response::new(look.into())),
            other => Err(mismatch(&other)),
        }
    }

    async fn create(
        &self,
        request: Request<wire::CreateRequest>,
    ) -> Result<Response<wire::CreateResponse>, Status> {
        Ok(Response::new(self.change(request, Ask::Create).await?.into()))
    }

    async fn update(
        &self,
        request: Request<wire::UpdateRequest>,
    ) -> Result<Response<wire::UpdateResponse>, Status> {
        Ok(Response::new(self.change(request, Ask::Update).await?.into()))
    }

    async fn delete(
        &self,
        request: Request<wire::DeleteRequest>,
    ) -> Result<Response<wire::DeleteResponse>, Status> {
        Ok(Response::new(self.change(request, Ask::Delete).await?.into()))
    }

    async fn poll_operation(
        &self,
        request: Request<wire::PollOperationRequest>,
    ) -> Result<Response<wire::PollOperationResponse>, Status> {
        Ok(Response::new(self.change(request, Ask::Poll).await?.into()))
    }
}
