//! `ResourceService`: the life of one external resource.

use std::{sync::OnceLock, time::SystemTime};

use async_trait::async_trait;
use crossbridge_proto::{
    checked::{self, Look, OperationVerb, Outcome, OutcomeResult, Violation},
    v1alpha1::{self as wire, resource_service_server::ResourceService},
};
use tonic::{Request, Response, Status};
use tracing::{Instrument, Span};

use super::{Service, answer, invalid_argument, metadata::Metadata};
use crate::{Call, Deadline, Failure, Target, kind::NamedCall, served::ServedKind};

/// A call that changes something, or a poll: what its way through the service depends on.
#[async_trait]
trait Change: Send {
    /// `None`: a poll, whose operation may do any of them.
    const VERB: Option<OperationVerb>;
    const NAMED: NamedCall = NamedCall::Other;

    fn target(&self) -> &checked::Target;
    async fn perform(self, kind: &dyn ServedKind, call: &Call) -> Result<Outcome, Failure>;
}

#[async_trait]
impl Change for checked::Create {
    const VERB: Option<OperationVerb> = Some(OperationVerb::Create);
    const NAMED: NamedCall = NamedCall::Create;

    fn target(&self) -> &checked::Target {
        &self.target
    }

    async fn perform(self, kind: &dyn ServedKind, call: &Call) -> Result<Outcome, Failure> {
        kind.create(call, self).await
    }
}

#[async_trait]
impl Change for checked::Update {
    const VERB: Option<OperationVerb> = Some(OperationVerb::Update);

    fn target(&self) -> &checked::Target {
        &self.target
    }

    async fn perform(self, kind: &dyn ServedKind, call: &Call) -> Result<Outcome, Failure> {
        kind.update(call, self).await
    }
}

#[async_trait]
impl Change for checked::Delete {
    const VERB: Option<OperationVerb> = Some(OperationVerb::Delete);

    fn target(&self) -> &checked::Target {
        &self.target
    }

    async fn perform(self, kind: &dyn ServedKind, call: &Call) -> Result<Outcome, Failure> {
        kind.delete(call, self).await
    }
}

#[async_trait]
impl Change for checked::Poll {
    const VERB: Option<OperationVerb> = None;

    fn target(&self) -> &checked::Target {
        &self.target
    }

    async fn perform(self, kind: &dyn ServedKind, call: &Call) -> Result<Outcome, Failure> {
        kind.poll(call, self).await
    }
}

impl Service {
    async fn change<C, W>(&self, request: Request<W>) -> Result<Outcome, Status>
    where
        C: Change + TryFrom<W, Error = Violation>,
    {
        let metadata = Metadata::read(request.metadata())?;
        let span = metadata.span(C::VERB.map_or("PollOperation", rpc_name));
        let work = async {
            let (change, kind, call) = match self.begin_change::<C, W>(&metadata, request.into_inner()) {
                Ok(begun) => begun,
                Err(failure) => return answer::refused(failure),
            };
            let result = self.guarded(call.deadline, change.perform(kind, &call)).await;
            answer::outcome(kind.published(), &call, C::VERB, result)
        };
        work.instrument(span).await.inspect(log_outcome)
    }

    /// Everything that can refuse the call before the author's code runs.
    fn begin_change<C, W>(&self, metadata: &Metadata, wire: W) -> Result<(C, &dyn ServedKind, Call), Failure>
    where
        C: Change + TryFrom<W, Error = Violation>,
    {
        let now = SystemTime::now();
        let deadline = match C::VERB {
            Some(_) => metadata.deadline_of_change(now)?,
            None => metadata.deadline_of_look(now)?,
        };
        let change = C::try_from(wire).map_err(|violation| invalid_argument(&violation))?;
        let kind = self.kind(&change.target().resource_type)?;
        if let Some(verb) = C::VERB {
            kind.published().check_capability(verb)?;
        }
        let call = self.call(kind, C::NAMED, change.target(), deadline, metadata)?;
        Ok((change, kind, call))
    }

    async fn look(&self, request: Request<wire::ObserveRequest>) -> Result<Look, Status> {
        let metadata = Metadata::read(request.metadata())?;
        let work = async {
            let (observe, kind, call) = match self.begin_look(&metadata, request.into_inner()) {
                Ok(begun) => begun,
                Err(failure) => return answer::well_formed(failure).map(Look::Failed),
            };
            let result = self.guarded(call.deadline, kind.observe(&call, observe)).await;
            answer::look(kind.published(), &call, result)
        };
        work.instrument(metadata.span("Observe")).await.inspect(log_look)
    }

    fn begin_look(
        &self,
        metadata: &Metadata,
        wire: wire::ObserveRequest,
    ) -> Result<(checked::Observe, &dyn ServedKind, Call), Failure> {
        let deadline = metadata.deadline_of_look(SystemTime::now())?;
        let observe = checked::Observe::try_from(wire).map_err(|violation| invalid_argument(&violation))?;
        let kind = self.kind(&observe.target.resource_type)?;
        let call = self.call(kind, NamedCall::Observe, &observe.target, deadline, metadata)?;
        Ok((observe, kind, call))
    }

    /// The context that the author's code gets.
    fn call(
        &self,
        kind: &dyn ServedKind,
        named: NamedCall,
        target: &checked::Target,
        deadline: Deadline,
        metadata: &Metadata,
    ) -> Result<Call, Failure> {
        let owner = &target.owner;
        let span = Span::current();
        span.record("kind", tracing::field::display(&target.resource_type));
        span.record("external_name", target.external_name.as_str());
        span.record("owner", format!("{}/{}", owner.namespace, owner.name));
        kind.published().check_name(named, &target.external_name)?;
        Ok(Call {
            target: Target {
                external_name: target.external_name.clone(),
                ownership_marker: target.ownership_marker.clone(),
                former_marker: target.former_marker.clone(),
                provider_state: target.provider_state.clone(),
                owner_namespace: owner.namespace.clone(),
                owner_name: owner.name.clone(),
                owner_uid: owner.uid.clone(),
                owner_generation: owner.generation,
            },
            config: self.config(&target.config)?,
            deadline,
            id: metadata.call_id.clone(),
            recorded_name: OnceLock::new(),
        })
    }
}

fn rpc_name(verb: OperationVerb) -> &'static str {
    match verb {
        OperationVerb::Create => "Create",
        OperationVerb::Update => "Update",
        OperationVerb::Delete => "Delete",
    }
}

fn log_outcome(outcome: &Outcome) {
    let name = outcome.external_name.as_str();
    match &outcome.result {
        OutcomeResult::Completed(completed) => {
            tracing::debug!(
                external_name = name,
                already_done = completed.already_done,
                "completed"
            );
        }
        OutcomeResult::Operation(operation) => {
            tracing::debug!(
                external_name = name,
                phase = operation.phase,
                "an operation is under way"
            );
        }
        OutcomeResult::Failure(failure) => log_failure(failure),
    }
}

fn log_look(look: &Look) {
    match look {
        Look::Found(observation) => tracing::debug!(ready = observation.ready, "found"),
        Look::Absent(_) => tracing::debug!("absent"),
        Look::Failed(failure) => log_failure(failure),
    }
}

fn log_failure(failure: &checked::Failure) {
    tracing::debug!(code = ?failure.code, effect = ?failure.effect, reason = failure.reason, "failed");
}

#[async_trait]
impl ResourceService for Service {
    async fn observe(
        &self,
        request: Request<wire::ObserveRequest>,
    ) -> Result<Response<wire::ObserveResponse>, Status> {
        Ok(Response::new(self.look(request).await?.into()))
    }

    async fn create(
        &self,
        request: Request<wire::CreateRequest>,
    ) -> Result<Response<wire::CreateResponse>, Status> {
        Ok(Response::new(
            self.change::<checked::Create, _>(request).await?.into(),
        ))
    }

    async fn update(
        &self,
        request: Request<wire::UpdateRequest>,
    ) -> Result<Response<wire::UpdateResponse>, Status> {
        Ok(Response::new(
            self.change::<checked::Update, _>(request).await?.into(),
        ))
    }

    async fn delete(
        &self,
        request: Request<wire::DeleteRequest>,
    ) -> Result<Response<wire::DeleteResponse>, Status> {
        Ok(Response::new(
            self.change::<checked::Delete, _>(request).await?.into(),
        ))
    }

    async fn poll_operation(
        &self,
        request: Request<wire::PollOperationRequest>,
    ) -> Result<Response<wire::PollOperationResponse>, Status> {
        Ok(Response::new(
            self.change::<checked::Poll, _>(request).await?.into(),
        ))
    }
}
