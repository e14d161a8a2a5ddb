//! `PluginService`: what the plugin is and what it serves.

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use crossbridge_proto::v1alpha1::{self as wire, plugin_service_server::PluginService};
use crossbridge_types::{self as types, ConfigVerdict, ResourceType};
use tonic::{Request, Response, Status};
use tracing::Instrument;

use super::{Service, answer, invalid_argument, metadata::Metadata, redact::Redaction};
use crate::{ConfigCall, Deadline, Failure, served::ServedKind};

/// Kinds on one page, where the caller sets no limit.
const PAGE_SIZE: usize = 100;

impl Service {
    fn page(
        &self,
        request: &wire::ListResourceKindsRequest,
    ) -> Result<wire::ListResourceKindsResponse, Failure> {
        let size = match usize::try_from(request.page_size) {
            Ok(0) => PAGE_SIZE,
            Ok(size) => size,
            Err(_) => return Err(Failure::invalid_argument("page_size", "is negative")),
        };
        let kinds: Vec<&dyn ServedKind> = self.plugin.kinds.values().map(AsRef::as_ref).collect();
        // The token names the last kind of the page before: it is good on any replica.
        let token = |kind: &dyn ServedKind| kind.published().rules.resource_type.to_string();
        let start = if request.page_token.is_empty() {
            0
        } else {
            1 + kinds
                .iter()
                .position(|kind| token(*kind) == request.page_token)
                .ok_or_else(|| Failure::invalid_argument("page_token", "is of no page of this plugin"))?
        };
        let page = &kinds[start..kinds.len().min(start.saturating_add(size))];
        let is_last = start + page.len() == kinds.len();
        Ok(wire::ListResourceKindsResponse {
            kinds: page.iter().map(|kind| summary(*kind)).collect(),
            next_page_token: match page.last() {
                Some(last) if !is_last => token(*last),
                _ => String::new(),
            },
        })
    }

    async fn verdict(&self, metadata: &Metadata, wire: wire::CheckConfigRequest) -> Result<String, Failure> {
        let deadline = metadata.deadline_of_observe(SystemTime::now())?;
        let config = types::Config::try_from(wire).map_err(|violation| invalid_argument(&violation))?;
        let redaction = Redaction::of(&config, &types::Secrets::default());
        self.verdict_of(metadata, deadline, config)
            .await
            .map_err(|failure| redaction.any(failure))
    }

    async fn verdict_of(
        &self,
        metadata: &Metadata,
        deadline: Deadline,
        config: types::Config,
    ) -> Result<String, Failure> {
        let config = self.config(&Arc::new(config))?;
        (self.plugin.check_settings)(&config)?;
        let Some(check) = &self.plugin.check_config else {
            return Ok(String::new());
        };
        let call = ConfigCall {
            config,
            deadline,
            id: metadata.call_id.clone(),
        };
        self.guarded(deadline, None, async { check(call).await }).await
    }
}

fn summary(kind: &dyn ServedKind) -> wire::ResourceKindSummary {
    let published = kind.published();
    wire::ResourceKindSummary {
        resource_type: published.wire.resource_type.clone(),
        digest: published.digest.clone(),
    }
}

/// These calls ask nothing of the external system, so that nothing but a status can reject them.
fn status(failure: Failure) -> Status {
    let text = failure.to_string();
    failure
        .into_types()
        .err()
        .unwrap_or_else(|| Status::internal(text))
}

#[async_trait]
impl PluginService for Service {
    async fn get_plugin_info(
        &self,
        request: Request<wire::GetPluginInfoRequest>,
    ) -> Result<Response<wire::GetPluginInfoResponse>, Status> {
        let bridge = request.into_inner().bridge_version;
        tracing::debug!(bridge, "asked who this is");
        Ok(Response::new(self.plugin.info.clone().into()))
    }

    async fn list_resource_kinds(
        &self,
        request: Request<wire::ListResourceKindsRequest>,
    ) -> Result<Response<wire::ListResourceKindsResponse>, Status> {
        self.page(request.get_ref()).map(Response::new).map_err(status)
    }

    async fn get_resource_kind(
        &self,
        request: Request<wire::GetResourceKindRequest>,
    ) -> Result<Response<wire::GetResourceKindResponse>, Status> {
        let Some(resource_type) = request.into_inner().resource_type else {
            return Err(Status::invalid_argument(
                "resource_type is required, and is not set",
            ));
        };
        let resource_type = ResourceType::try_from(resource_type)
            .map_err(|violation| status(invalid_argument(&violation.within("resource_type"))))?;
        let kind = self.kind(&resource_type).map_err(status)?;
        Ok(Response::new(wire::GetResourceKindResponse {
            resource_kind: Some(kind.published().wire.clone()),
        }))
    }

    async fn check_config(
        &self,
        request: Request<wire::CheckConfigRequest>,
    ) -> Result<Response<wire::CheckConfigResponse>, Status> {
        let metadata = Metadata::read(request.metadata())?;
        let span = metadata.span("CheckConfig");
        let verdict = self
            .verdict(&metadata, request.into_inner())
            .instrument(span)
            .await;
        let verdict = match verdict {
            Ok(identity) => ConfigVerdict::Usable { identity },
            Err(failure) => ConfigVerdict::Unusable(answer::well_formed(failure)?),
        };
        Ok(Response::new(verdict.into()))
    }
}
