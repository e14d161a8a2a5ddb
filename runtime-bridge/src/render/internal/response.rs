//! What was rendered to the wire.

use bridge_core::{
    composite::Lookup,
    function::{ResourceMatch, ResourceSelector, SchemaSelector},
    managed,
};
use function_proto::{
    Struct,
    render::{CompositeOutput, Event, RenderResponse, ResponseMeta, render_response::Output},
};
use prost::Message;
use serde_json::{Value, json};

use super::InternalRenderError;
use crate::render::{compose::Rendered, composite::composite, inputs::Inputs, output::severity};

/// A response, encoded. Upstream's order of composed resources is random; here it is that of their composition resource names.
pub(super) fn encode(inputs: &Inputs, rendered: &Rendered) -> Result<Vec<u8>, InternalRenderError> {
    let outcome = rendered.outcome.as_deref();
    let looked = || outcome.into_iter().flat_map(|outcome| outcome.looked.keys());
    let resources = looked().filter_map(|lookup| match lookup {
        Lookup::Resources(selector) => Some(resource_selector(selector)),
        Lookup::Schema(_) | Lookup::Secret { .. } => None,
    });
    let schemas = looked().filter_map(|lookup| match lookup {
        Lookup::Schema(selector) => Some(schema_selector(selector)),
        Lookup::Resources(_) | Lookup::Secret { .. } => None,
    });
    let composed = rendered.composed.iter().map(|one| one.body.clone());
    let output = CompositeOutput {
        composite_resource: Some(object("composite_resource", &composite(inputs, rendered))?),
        composed_resources: objects("composed_resources", composed)?,
        deleted_resources: objects("deleted_resources", rendered.deleted.iter().cloned())?,
        events: rendered.events.iter().map(event).collect(),
        required_resources: objects("required_resources", resources)?,
        required_schemas: objects("required_schemas", schemas)?,
    };
    let response = RenderResponse {
        meta: Some(ResponseMeta {}),
        output: Some(Output::Composite(output)),
    };
    Ok(response.encode_to_vec())
}

fn objects(
    field: &'static str,
    values: impl Iterator<Item = Value>,
) -> Result<Vec<Struct>, InternalRenderError> {
    values.map(|value| object(field, &value)).collect()
}

fn object(field: &'static str, value: &Value) -> Result<Struct, InternalRenderError> {
    Struct::from_json(value).map_err(|cause| InternalRenderError::Encode { field, cause })
}

fn event(event: &managed::Event) -> Event {
    Event {
        r#type: severity(event).to_owned(),
        reason: event.reason.clone(),
        message: event.message.clone(),
    }
}

/// As protobuf writes the message as JSON.
fn resource_selector(selector: &ResourceSelector) -> Value {
    let mut json = json!({ "apiVersion": selector.api_version, "kind": selector.kind });
    match &selector.matching {
        ResourceMatch::Name(name) => json["matchName"] = name.as_str().into(),
        ResourceMatch::Labels(labels) => {
            json["matchLabels"] = if labels.is_empty() {
                json!({})
            } else {
                json!({ "labels": labels })
            };
        }
    }
    if let Some(namespace) = &selector.namespace {
        json["namespace"] = namespace.as_str().into();
    }
    json
}

fn schema_selector(selector: &SchemaSelector) -> Value {
    json!({ "apiVersion": selector.api_version, "kind": selector.kind })
}
