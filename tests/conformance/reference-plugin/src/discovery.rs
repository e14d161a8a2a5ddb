//! Pages of the upstream's resources.

use crossbridge_proto::v1alpha1::{self as wire, discovery_service_server::DiscoveryService};
use crossbridge_types::List;
use serde_json::Value;
use tonic::{Request, Response, Status, async_trait};

use crate::{
    call::{CallKind, Rejection, hides, invalid, open},
    kinds,
    plugin::ReferencePlugin,
};

#[async_trait]
impl DiscoveryService for ReferencePlugin {
    async fn list_external(
        &self,
        request: Request<wire::ListExternalRequest>,
    ) -> Result<Response<wire::ListExternalResponse>, Status> {
        if !self.lists {
            return Err(Status::unimplemented("it lists nothing"));
        }
        let mut request = request.into_inner();
        if let (true, Some(config)) = (self.on("calls/required-fields-checked#list"), &mut request.config) {
            config.revision.push('0');
        }
        let list = List::try_from(request).map_err(|violation| invalid(&self.faults, &violation))?;
        let spec = kinds::find(&list.resource_type.clone().into()).ok_or_else(|| {
            if self.on("calls/unknown-type-not-found#list") {
                Status::unimplemented("it is not listed")
            } else {
                Status::not_found("it is not served")
            }
        })?;
        let upstream = match open(&self.faults, &list.config, spec.kind, CallKind::Observe) {
            Ok(upstream) => upstream,
            Err(Rejection::Status(status)) => return Err(status),
            Err(Rejection::Failure(failure)) if hides(&self.faults, &failure, "list") => {
                return Ok(Response::new(wire::ListExternalResponse::default()));
            }
            Err(Rejection::Failure(failure)) => {
                return Ok(Response::new(wire::ListExternalResponse {
                    failure: Some(*failure),
                    ..Default::default()
                }));
            }
        };
        let all = upstream.all()?;
        let start = match list.page_token.as_str() {
            "" => 0,
            token => match token.strip_prefix("after-") {
                Some(name) => all
                    .iter()
                    .filter(|resource| resource.name.as_str() <= name)
                    .count(),
                None if self.on("list/invalid-page-token-rejected") => 0,
                None => return Err(Status::invalid_argument("page_token is of no page")),
            },
        };
        let size = match list.page_size {
            Some(_) if self.on("list/pages") => 2,
            Some(size) => size,
            None => all.len(),
        };
        let page: Vec<_> = all.iter().skip(start).take(size).collect();
        let is_last = start + page.len() >= all.len();
        let next_page_token = match page.last() {
            Some(last) if !is_last => format!("after-{}", last.name),
            _ => String::new(),
        };
        let items = page
            .into_iter()
            .map(|resource| wire::ExternalResource {
                external_name: resource.name.clone(),
                parameters: (list.include_parameters && !self.on("list/parameters-on-request")).then(|| {
                    wire::Document {
                        json: Value::Object(resource.parameters.clone()).to_string(),
                    }
                }),
                found_marker: if spec.holds_marker && !self.on("list/includes-created") {
                    resource.marker.clone()
                } else {
                    String::new()
                },
                ..Default::default()
            })
            .collect();
        Ok(Response::new(wire::ListExternalResponse {
            items,
            next_page_token,
            ..Default::default()
        }))
    }
}
