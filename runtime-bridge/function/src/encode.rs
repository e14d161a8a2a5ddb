//! A request on the wire.

use std::collections::BTreeMap;

use bridge_core::function::{
    DesiredState, FunctionFailure, Observed, Readiness, Resource, RunRequest, SecretData,
};
use bytes::Bytes;
use function_proto::{JsonError, Struct, v1 as wire};
use prost::Message;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Largest request and largest response, in bytes.
pub const MAX_MESSAGE_BYTES: usize = 64 * 1024 * 1024;

/// Of `meta`: a digest and five capabilities, with their keys and lengths.
const META_BYTES: usize = 2 + (2 + 64) + (2 + 5);

type Encoded<T> = Result<T, FunctionFailure>;

/// An encoded request in the order of its fields, which is how a deterministic encoder would write it. Clones share the bytes.
#[derive(Clone)]
pub(crate) struct EncodedRequest {
    pub(crate) meta: Bytes,
    pub(crate) observed: Bytes,
    pub(crate) rest: Bytes,
    /// SHA-256 of all but `meta`.
    pub(crate) digest: [u8; 32],
}

impl EncodedRequest {
    /// All of it but `observed`, which is encoded already.
    pub(crate) fn new(request: &RunRequest, observed: Bytes) -> Encoded<Self> {
        let rest: Bytes = rest(request)?.encode_to_vec().into();
        let size = observed.len() + rest.len() + META_BYTES;
        if size > MAX_MESSAGE_BYTES {
            let limit = MAX_MESSAGE_BYTES;
            return Err(FunctionFailure::TooLarge { size, limit });
        }
        let digest = Sha256::new()
            .chain_update(&observed)
            .chain_update(&rest)
            .finalize();
        let meta = wire::RunFunctionRequest {
            meta: Some(wire::RequestMeta {
                tag: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
                capabilities: capabilities(),
            }),
            ..wire::RunFunctionRequest::default()
        };
        Ok(Self {
            meta: meta.encode_to_vec().into(),
            observed,
            rest,
            digest: digest.into(),
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.meta.len() + self.observed.len() + self.rest.len()
    }
}

/// All that there are.
fn capabilities() -> Vec<i32> {
    [
        wire::Capability::Capabilities,
        wire::Capability::RequiredResources,
        wire::Capability::Credentials,
        wire::Capability::Conditions,
        wire::Capability::RequiredSchemas,
    ]
    .map(i32::from)
    .into()
}

/// Field 2 of a request.
pub(crate) fn observed_field(observed: &Observed) -> Encoded<Bytes> {
    let request = wire::RunFunctionRequest {
        observed: Some(wire::State {
            composite: Some(resource("observed.composite", &observed.composite)?),
            resources: resources("observed", &observed.resources)?,
        }),
        ..wire::RunFunctionRequest::default()
    };
    Ok(request.encode_to_vec().into())
}

fn rest(request: &RunRequest) -> Encoded<wire::RunFunctionRequest> {
    let input = request.input.as_ref();
    let context = request.context.as_ref();
    Ok(wire::RunFunctionRequest {
        meta: None,
        observed: None,
        desired: Some(desired(&request.desired)?),
        input: input.map(|input| object("input", input)).transpose()?,
        context: context
            .map(|context| Struct::from_map(&context.0).map_err(|error| invalid("context", &error)))
            .transpose()?,
        extra_resources: found("extraResources", &request.extra_resources)?,
        credentials: credentials(&request.credentials),
        required_resources: found("requiredResources", &request.required_resources)?,
        required_schemas: schemas(&request.required_schemas)?,
    })
}

fn desired(desired: &DesiredState) -> Encoded<wire::State> {
    let composite = desired.composite.as_ref();
    Ok(wire::State {
        composite: composite
            .map(|composite| resource("desired.composite", composite))
            .transpose()?,
        resources: resources("desired", &desired.resources)?,
    })
}

fn resources(of: &str, resources: &BTreeMap<String, Resource>) -> Encoded<BTreeMap<String, wire::Resource>> {
    resources
        .iter()
        .map(|(name, one)| {
            let place = format!("{of}.resources[\"{name}\"]");
            Ok((name.clone(), resource(&place, one)?))
        })
        .collect()
}

fn resource(place: &str, resource: &Resource) -> Encoded<wire::Resource> {
    let Resource {
        object: content,
        connection_details,
        ready,
    } = resource;
    Ok(wire::Resource {
        resource: match content {
            Value::Null => None,
            content => Some(object(place, content)?),
        },
        connection_details: connection_details.0.clone(),
        ready: i32::from(match ready {
            Readiness::Unspecified => wire::Ready::Unspecified,
            Readiness::Ready => wire::Ready::True,
            Readiness::NotReady => wire::Ready::False,
        }),
    })
}

fn found(place: &str, found: &BTreeMap<String, Vec<Resource>>) -> Encoded<BTreeMap<String, wire::Resources>> {
    found
        .iter()
        .map(|(name, items)| {
            let items = items.iter().enumerate();
            let items = items.map(|(index, one)| resource(&format!("{place}[\"{name}\"][{index}]"), one));
            let items = items.collect::<Encoded<_>>()?;
            Ok((name.clone(), wire::Resources { items }))
        })
        .collect()
}

fn credentials(credentials: &BTreeMap<String, SecretData>) -> BTreeMap<String, wire::Credentials> {
    let of = |data: &SecretData| wire::Credentials {
        source: Some(wire::credentials::Source::CredentialData(wire::CredentialData {
            data: data.0.clone(),
        })),
    };
    credentials
        .iter()
        .map(|(name, data)| (name.clone(), of(data)))
        .collect()
}

fn schemas(schemas: &BTreeMap<String, Option<Value>>) -> Encoded<BTreeMap<String, wire::Schema>> {
    schemas
        .iter()
        .map(|(name, schema)| {
            let place = format!("requiredSchemas[\"{name}\"]");
            let openapi_v3 = schema.as_ref().map(|schema| object(&place, schema)).transpose()?;
            Ok((name.clone(), wire::Schema { openapi_v3 }))
        })
        .collect()
}

fn object(place: &str, object: &Value) -> Encoded<Struct> {
    Struct::from_json(object).map_err(|error| invalid(place, &error))
}

fn invalid(place: &str, error: &JsonError) -> FunctionFailure {
    FunctionFailure::InvalidRequest(format!("{place}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_the_deterministic_encoding_of_the_whole() {
        let request = RunRequest {
            input: Some(serde_json::json!({"b": 1, "a": [null, 0.5]})),
            ..RunRequest::default()
        };
        let observed = observed_field(&request.observed).unwrap();
        let encoded = EncodedRequest::new(&request, observed).unwrap();
        assert_eq!(encoded.meta.len(), META_BYTES);
        let parts = [&encoded.meta[..], &encoded.observed[..], &encoded.rest[..]].concat();
        assert_eq!(parts.len(), encoded.len());
        let whole = wire::RunFunctionRequest::decode(parts.as_slice()).unwrap();
        assert_eq!(whole.encode_to_vec(), parts);
        let without_meta = wire::RunFunctionRequest {
            meta: None,
            ..whole.clone()
        };
        let digest = Sha256::digest(without_meta.encode_to_vec());
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(whole.meta.unwrap().tag, digest);
    }
}
