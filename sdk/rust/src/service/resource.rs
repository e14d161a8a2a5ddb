//! `ResourceService`: the life of one external resource.

use std::{sync::OnceLock, time::SystemTime};

use async_trait::async_trait;
use crossbridge_proto::v1alpha1::{self as wire, resource_service_server::ResourceService};
use crossbridge_types::{self as types, ObserveResult, Outcome, OutcomeResult, Verb, Violation};
use tonic::{Request, Response, Status};
use tracing::{Instrument, Span};

use super::{Service, answer, invalid_argument, metadata::Metadata, redact::Redaction};
use crate::{Call, Deadline, Failure, Target, kind::NamedCall, served::ServedKind};

impl Service {
    /// A call that changes something, or a poll, whose operation may be of any verb.
    async fn change<W>(&self, verb: Verb, request: Request<W>) -> Result<Outcome, Status>
    where
        types::Call: TryFrom<W, Error = Violation>,
    {
        let metadata = Metadata::read(request.metadata())?;
        let span = metadata.span(rpc_name(verb));
        let work = async {
            let (change, kind, call) = match self.begin_change(verb, &metadata, request.into_inner()) {
                Ok(begun) => begun,
                Err(failure) => return answer::rejected(failure),
            };
            let verb = change.operation_verb();
            let redaction = Redaction::of(&change.target.config, &change.desired.sensitive);
            let result = self
                .guarded(
                    call.deadline,
                    Some(&kind.published().source),
                    kind.execute(&call, change),
                )
                .await;
            answer::outcome(kind.published(), &call, &redaction, verb, result)
        };
        work.instrument(span).await.inspect(log_outcome)
    }

    /// Everything that can reject the call before the author's code runs.
    fn begin_change<W>(
        &self,
        verb: Verb,
        metadata: &Metadata,
        wire: W,
    ) -> Result<(types::Call, &dyn ServedKind, Call), Failure>
    where
        types::Call: TryFrom<W, Error = Violation>,
    {
        let now = SystemTime::now();
        let deadline = match verb {
            Verb::Create | Verb::Update | Verb::Delete => metadata.deadline_of_change(now)?,
            Verb::Poll | Verb::Observe => metadata.deadline_of_observe(now)?,
        };
        let change = types::Call::try_from(wire).map_err(|violation| invalid_argument(&violation))?;
        let kind = self.kind(&change.target.resource_type)?;
        if let Some(verb) = change.operation_verb() {
            kind.published().check_capability(verb)?;
        }
        let named = match verb {
            Verb::Create => NamedCall::Create,
            Verb::Observe => NamedCall::Observe,
            Verb::Update | Verb::Delete | Verb::Poll => NamedCall::Other,
        };
        let call = Call {
            requires_marker: matches!(verb, Verb::Delete | Verb::Poll)
                && kind.published().is_found_by_marker(),
            ..self.call(kind, named, &change.target, deadline, metadata)?
        };
        Ok((change, kind, call))
    }

    async fn observe_response(
        &self,
        request: Request<wire::ObserveRequest>,
    ) -> Result<ObserveResult, Status> {
        let metadata = Metadata::read(request.metadata())?;
        let work = async {
            let (observe, kind, call) = match self.begin_look(&metadata, request.into_inner()) {
                Ok(begun) => begun,
                Err(failure) => return answer::well_formed(failure).map(ObserveResult::Failed),
            };
            let redaction = Redaction::of(&observe.target.config, &observe.desired.sensitive);
            let result = self
                .guarded(
                    call.deadline,
                    Some(&kind.published().source),
                    kind.observe(&call, observe),
                )
                .await;
            answer::observe_response(kind.published(), &call, &redaction, result)
        };
        work.instrument(metadata.span("Observe")).await.inspect(log_look)
    }

    fn begin_look(
        &self,
        metadata: &Metadata,
        wire: wire::ObserveRequest,
    ) -> Result<(types::Observe, &dyn ServedKind, Call), Failure> {
        let deadline = metadata.deadline_of_observe(SystemTime::now())?;
        let observe = types::Observe::try_from(wire).map_err(|violation| invalid_argument(&violation))?;
        let kind = self.kind(&observe.target.resource_type)?;
        let call = self.call(kind, NamedCall::Observe, &observe.target, deadline, metadata)?;
        Ok((observe, kind, call))
    }

    /// The context that the author's code gets.
    fn call(
        &self,
        kind: &dyn ServedKind,
        named: NamedCall,
        target: &types::Target,
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
            resource_type: target.resource_type.to_string(),
            requires_marker: false,
            recorded_name: OnceLock::new(),
        })
    }
}

fn rpc_name(verb: Verb) -> &'static str {
    match verb {
        Verb::Observe => "Observe",
        Verb::Create => "Create",
        Verb::Update => "Update",
        Verb::Delete => "Delete",
        Verb::Poll => "PollOperation",
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

fn log_look(result: &ObserveResult) {
    match result {
        ObserveResult::Found(observation) => tracing::debug!(ready = observation.ready, "found"),
        ObserveResult::Absent(_) => tracing::debug!("absent"),
        ObserveResult::Failed(failure) => log_failure(failure),
    }
}

fn log_failure(failure: &types::Failure) {
    tracing::debug!(code = ?failure.code, effect = ?failure.effect, reason = failure.reason, "failed");
}

#[async_trait]
impl ResourceService for Service {
    async fn observe(
        &self,
        request: Request<wire::ObserveRequest>,
    ) -> Result<Response<wire::ObserveResponse>, Status> {
        Ok(Response::new(self.observe_response(request).await?.into()))
    }

    async fn create(
        &self,
        request: Request<wire::CreateRequest>,
    ) -> Result<Response<wire::CreateResponse>, Status> {
        Ok(Response::new(self.change(Verb::Create, request).await?.into()))
    }

    async fn update(
        &self,
        request: Request<wire::UpdateRequest>,
    ) -> Result<Response<wire::UpdateResponse>, Status> {
        Ok(Response::new(self.change(Verb::Update, request).await?.into()))
    }

    async fn delete(
        &self,
        request: Request<wire::DeleteRequest>,
    ) -> Result<Response<wire::DeleteResponse>, Status> {
        Ok(Response::new(self.change(Verb::Delete, request).await?.into()))
    }

    async fn poll_operation(
        &self,
        request: Request<wire::PollOperationRequest>,
    ) -> Result<Response<wire::PollOperationResponse>, Status> {
        Ok(Response::new(self.change(Verb::Poll, request).await?.into()))
    }
}
