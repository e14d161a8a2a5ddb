//! `DiscoveryService`: pages of the external resources that exist.

use std::{sync::Arc, time::SystemTime};

use async_trait::async_trait;
use crossbridge_proto::v1alpha1::{self as wire, discovery_service_server::DiscoveryService};
use crossbridge_types as types;
use tonic::{Request, Response, Status};
use tracing::Instrument;

use super::{Service, answer, invalid_argument, metadata::Metadata, redact::Redaction};
use crate::{ConfigCall, Failure, List};

impl Service {
    async fn list(
        &self,
        metadata: &Metadata,
        wire: wire::ListExternalRequest,
    ) -> Result<types::Listed, Failure> {
        let deadline = metadata.deadline_of_observe(SystemTime::now())?;
        let request = types::List::try_from(wire).map_err(|violation| invalid_argument(&violation))?;
        let kind = self.kind(&request.resource_type)?;
        if !kind.published().listable {
            return Err(Failure::unimplemented());
        }
        let redaction = Redaction::of(&request.config, &types::Secrets::default());
        let call = ConfigCall {
            config: self.config(&Arc::new(request.config))?,
            deadline,
            id: metadata.call_id.clone(),
        };
        let list = List {
            filter: request.filter.unwrap_or_default(),
            page_size: request.page_size.unwrap_or_default(),
            page_token: request.page_token,
            include_parameters: request.include_parameters,
        };
        let listed = self
            .guarded(deadline, Some(&kind.published().source), kind.list(&call, list))
            .await;
        let listed = listed.map_err(|failure| redaction.any(failure))?;
        let broken = |violation| answer::broken(&violation, Some(kind.published()));
        listed.check().map_err(broken)?;
        Ok(listed)
    }
}

#[async_trait]
impl DiscoveryService for Service {
    async fn list_external(
        &self,
        request: Request<wire::ListExternalRequest>,
    ) -> Result<Response<wire::ListExternalResponse>, Status> {
        let metadata = Metadata::read(request.metadata())?;
        let span = metadata.span("ListExternal");
        let listed = self.list(&metadata, request.into_inner()).instrument(span).await;
        Ok(Response::new(match listed {
            Ok(listed) => listed.into(),
            Err(failure) => wire::ListExternalResponse {
                failure: Some(answer::well_formed(failure)?.into()),
                ..Default::default()
            },
        }))
    }
}
