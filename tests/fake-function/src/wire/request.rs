//! A request from the wire.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::function::{DesiredState, HiddenMap, Observed, Resource, RunRequest, SecretData};
use function_proto::{JsonError, v1};

use super::{object_from, resource_from};

pub(crate) fn request(request: v1::RunFunctionRequest) -> Result<RunRequest, JsonError> {
    let observed = request.observed.unwrap_or_default();
    let desired = request.desired.unwrap_or_default();
    let extra_resources = request.extra_resources;
    Ok(RunRequest {
        observed: Arc::new(Observed {
            composite: resource_from(observed.composite.unwrap_or_default())?,
            resources: each(observed.resources, resource_from)?,
        }),
        desired: DesiredState {
            composite: desired.composite.map(resource_from).transpose()?,
            resources: each(desired.resources, resource_from)?,
        },
        input: request.input.as_ref().map(object_from).transpose()?,
        context: request
            .context
            .map(|context| context.to_map().map(HiddenMap))
            .transpose()?,
        credentials: each(request.credentials, |credentials| {
            let Some(v1::credentials::Source::CredentialData(data)) = credentials.source else {
                return Ok(SecretData::default());
            };
            Ok(SecretData(data.data))
        })?,
        extra_resources: each(extra_resources, items)?,
        required_resources: each(request.required_resources, items)?,
        required_schemas: each(request.required_schemas, |schema| {
            schema.openapi_v3.as_ref().map(object_from).transpose()
        })?,
    })
}

fn items(resources: v1::Resources) -> Result<Vec<Resource>, JsonError> {
    resources.items.into_iter().map(resource_from).collect()
}

fn each<A, B>(
    map: BTreeMap<String, A>,
    convert: impl Fn(A) -> Result<B, JsonError>,
) -> Result<BTreeMap<String, B>, JsonError> {
    map.into_iter()
        .map(|(name, one)| Ok((name, convert(one)?)))
        .collect()
}
