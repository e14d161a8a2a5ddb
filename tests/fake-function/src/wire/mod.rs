//! The other side of the wire: requests are decoded and responses encoded here, with nothing of the client that is tested.

mod request;
mod response;

use bridge_core::function::{Readiness, Resource, SecretData};
use function_proto::{JsonError, Struct, v1};
use serde_json::Value;

pub(crate) use request::request;
pub(crate) use response::response;

fn resource_from(resource: v1::Resource) -> Result<Resource, JsonError> {
    let ready = match resource.ready() {
        v1::Ready::Unspecified => Readiness::Unspecified,
        v1::Ready::True => Readiness::Ready,
        v1::Ready::False => Readiness::NotReady,
    };
    Ok(Resource {
        object: resource
            .resource
            .map_or(Ok(Value::Null), |object| object_from(&object))?,
        connection_details: SecretData(resource.connection_details),
        ready,
    })
}

fn resource_to(resource: Resource) -> Result<v1::Resource, JsonError> {
    let ready = match resource.ready {
        Readiness::Unspecified => v1::Ready::Unspecified,
        Readiness::Ready => v1::Ready::True,
        Readiness::NotReady => v1::Ready::False,
    };
    Ok(v1::Resource {
        resource: match resource.object {
            Value::Null => None,
            object => Some(Struct::from_json(&object)?),
        },
        connection_details: resource.connection_details.0,
        ready: ready.into(),
    })
}

fn object_from(object: &Struct) -> Result<Value, JsonError> {
    object.to_map().map(Value::Object)
}
