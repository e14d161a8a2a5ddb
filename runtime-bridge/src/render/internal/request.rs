//! A request from the wire.

use std::collections::BTreeMap;

use function_proto::{
    Struct,
    render::{CompositeInput, FunctionInput, RenderRequest, render_request::Input},
};
use prost::Message;
use serde_json::Value;

use super::InternalRenderError;
use crate::render::inputs::{Given, text};

/// What is to be rendered, and where the functions listen, by name.
pub(super) fn parse(encoded: &[u8]) -> Result<(Given, BTreeMap<String, String>), InternalRenderError> {
    let operation = |kind| Err(InternalRenderError::Operation(kind));
    match RenderRequest::decode(encoded)?.input {
        Some(Input::Composite(input)) => composite(&input),
        Some(Input::Operation(_)) => operation("Operation"),
        Some(Input::CronOperation(_)) => operation("Operation of a CronOperation"),
        Some(Input::WatchOperation(_)) => operation("Operation of a WatchOperation"),
        None => Err(InternalRenderError::NoInput),
    }
}

fn composite(input: &CompositeInput) -> Result<(Given, BTreeMap<String, String>), InternalRenderError> {
    let mut missing = Vec::new();
    if input.composite_resource.is_none() {
        missing.push("composite_resource");
    }
    if input.composition.is_none() {
        missing.push("composition");
    }
    if !missing.is_empty() {
        return Err(InternalRenderError::Missing(missing));
    }
    let optional = |field: &str, object: &Option<Struct>| {
        let object = object.as_ref();
        object.map(|object| json(field.to_owned(), object)).transpose()
    };
    let given = Given {
        composite: optional("composite_resource", &input.composite_resource)?.unwrap_or_default(),
        composition: optional("composition", &input.composition)?.unwrap_or_default(),
        definition: optional(
            "composite_resource_definition",
            &input.composite_resource_definition,
        )?,
        observed: all("observed_resources", &input.observed_resources)?,
        required: all("required_resources", &input.required_resources)?,
        credentials: all("credentials", &input.credentials)?,
        schemas: all("required_schemas", &input.required_schemas)?,
        ..Given::default()
    }
    .checked()?;
    let fields = [
        ("/apiVersion", "composite_resource.apiVersion"),
        ("/kind", "composite_resource.kind"),
        ("/metadata/name", "composite_resource.metadata.name"),
    ];
    let empty = fields
        .into_iter()
        .filter(|(pointer, _)| text(&given.composite, pointer).is_empty());
    let missing: Vec<&'static str> = empty.map(|(_, field)| field).collect();
    if !missing.is_empty() {
        return Err(InternalRenderError::Missing(missing));
    }
    Ok((given, functions(&input.functions)?))
}

/// Of two of one name the later one counts.
fn functions(functions: &[FunctionInput]) -> Result<BTreeMap<String, String>, InternalRenderError> {
    let mut addresses = BTreeMap::new();
    for (index, function) in functions.iter().enumerate() {
        let FunctionInput { name, address } = function;
        let missing = |missing| InternalRenderError::Function { index, missing };
        if name.is_empty() {
            return Err(missing("name"));
        }
        if address.is_empty() {
            return Err(missing("address"));
        }
        addresses.insert(name.clone(), address.clone());
    }
    Ok(addresses)
}

fn all(field: &str, objects: &[Struct]) -> Result<Vec<Value>, InternalRenderError> {
    let objects = objects.iter().enumerate();
    objects
        .map(|(index, object)| json(format!("{field}[{index}]"), object))
        .collect()
}

fn json(field: String, object: &Struct) -> Result<Value, InternalRenderError> {
    let object = object.to_map();
    object
        .map(Value::Object)
        .map_err(|cause| InternalRenderError::Object { field, cause })
}

#[cfg(test)]
mod tests {
    use function_proto::render::{OperationInput, WatchOperationInput};
    use serde_json::json;

    use super::*;

    fn says(input: Option<Input>) -> String {
        let request = RenderRequest { meta: None, input };
        parse(&request.encode_to_vec()).err().unwrap().to_string()
    }

    fn object(value: &Value) -> Struct {
        Struct::from_json(value).unwrap()
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(
            says(None).contains("has no input: set composite"),
            "{}",
            says(None)
        );
        let of = |input| says(Some(Input::Composite(input)));
        let nothing = of(CompositeInput::default());
        assert!(
            nothing.ends_with("lacks composite_resource and composition"),
            "{nothing}"
        );
        let unnamed = of(CompositeInput {
            composite_resource: Some(object(&json!({ "kind": "XR" }))),
            composition: Some(object(&json!({}))),
            ..CompositeInput::default()
        });
        let expected = "lacks composite_resource.apiVersion and composite_resource.metadata.name";
        assert!(unnamed.ends_with(expected), "{unnamed}");
        let xr = json!({ "apiVersion": "example.org/v1", "kind": "XR", "metadata": { "name": "a" } });
        let function = of(CompositeInput {
            composite_resource: Some(object(&xr)),
            composition: Some(object(&json!({}))),
            functions: vec![FunctionInput {
                name: "f".to_owned(),
                address: String::new(),
            }],
            ..CompositeInput::default()
        });
        assert!(function.ends_with("functions[0] lacks its address"), "{function}");
    }

    #[test]
    fn operations_are_rejected_with_what_to_do() {
        let operation = says(Some(Input::Operation(OperationInput::default())));
        assert_eq!(
            operation,
            "cannot render an Operation: Crossbridge runs no operations: render it with a binary of Crossplane"
        );
        let watch = says(Some(Input::WatchOperation(WatchOperationInput::default())));
        assert!(watch.contains("an Operation of a WatchOperation"), "{watch}");
    }

    #[test]
    fn whole_numbers_of_a_request_stay_integers() {
        let xr = json!({
            "apiVersion": "example.org/v1", "kind": "XR", "metadata": { "name": "a" },
            "spec": { "large": 9_007_199_254_740_991_i64, "half": 0.5 },
        });
        let input = CompositeInput {
            composite_resource: Some(object(&xr)),
            composition: Some(object(&json!({}))),
            ..CompositeInput::default()
        };
        let request = RenderRequest {
            meta: None,
            input: Some(Input::Composite(input)),
        };
        let (given, _) = parse(&request.encode_to_vec()).unwrap();
        assert_eq!(given.composite, xr);
    }

    #[test]
    fn bytes_that_are_no_request_are_rejected() {
        let why = parse(b"apiVersion: v1").err().unwrap().to_string();
        assert!(why.contains("no RenderRequest"), "{why}");
    }
}
