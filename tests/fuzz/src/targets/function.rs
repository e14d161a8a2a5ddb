//! What composition functions answer.

use bridge_core::composite::requires;
use bridge_function::decode;
use function_proto::{MAX_NESTING, Struct, v1 as wire};
use prost::Message;
use serde_json::Value;

use super::{in_proportion, object, same};
use crate::{Broken, Target, Verdict, ensure, json, target::rejected};

/// A response.
pub(super) const RESPONSE: Target = Target {
    name: "function-response",
    about: "RunFunctionResponse: a rejection names the place; what a step requires is kept and read again",
    words: &[
        "desired",
        "resources",
        "resource",
        "connectionDetails",
        "requirements",
        "extraResources",
        "matchName",
        "matchLabels",
        "labels",
        "conditions",
        "results",
        "SEVERITY_FATAL",
        "READY_TRUE",
        "ttl",
        "60s",
        "context",
        "apiVersion",
        "kind",
    ],
    judge: |input| {
        let Some(response) = json::of_function::<wire::RunFunctionResponse>("RunFunctionResponse", input)
        else {
            return Ok("no message".to_owned());
        };
        let response = match decode::response(response) {
            Ok(response) => response,
            Err(failure) => return rejected(&failure.to_string()),
        };
        for resource in response.desired.resources.values() {
            ensure(resource.object.is_object() || resource.object.is_null(), || {
                format!("a resource is {}", resource.object)
            })?;
        }
        let mut steps = requires::StepRequirements::default();
        steps.set("step", response.requirements.clone());
        let annotation = requires::encode(&steps);
        let read = requires::decode(annotation.as_deref());
        ensure(read.problem.is_none(), || {
            format!("cannot be read again: {annotation:?}")
        })?;
        if !read.steps.is_empty() {
            same("what the step requires", &steps, &read.steps)?;
        }
        Ok(format!(
            "{} {} {} {}",
            response.desired.resources.len().min(3),
            response.results.len().min(3),
            response.conditions.len().min(3),
            annotation.is_some()
        ))
    },
};

/// A `Struct`, as JSON or on the wire.
pub(super) const STRUCT: Target = Target {
    name: "struct",
    about: "JSON to google.protobuf.Struct and back: equal, or rejected with the path; nesting is bounded",
    words: &["1e21", "9007199254740993", "-0", "1.0"],
    judge: |input| match object::json(input) {
        Some(value) => from_json(&value, input),
        None => match Struct::decode(input) {
            Ok(encoded) => from_wire(&encoded, input),
            Err(_) => Ok("no message".to_owned()),
        },
    },
};

fn from_json(value: &Value, input: &[u8]) -> Verdict {
    let encoded = match Struct::from_json(value) {
        Ok(encoded) => encoded,
        Err(error) => return rejected(&error.to_string()),
    };
    let bytes = encoded.encode_to_vec();
    in_proportion("the Struct", bytes.len(), input, 16)?;
    let decoded = Struct::decode(bytes.as_slice()).map_err(|error| Broken(error.to_string()))?;
    ensure(decoded == encoded, || "the wire changes it".to_owned())?;
    from_wire(&decoded, input)
}

fn from_wire(encoded: &Struct, input: &[u8]) -> Verdict {
    let map = match encoded.to_map() {
        Ok(map) => map,
        Err(error) => return rejected(&error.to_string()),
    };
    in_proportion(
        "the JSON",
        Value::Object(map.clone()).to_string().len(),
        input,
        64,
    )?;
    let again =
        Struct::from_map(&map).map_err(|error| Broken(format!("cannot be encoded again: {error}")))?;
    // A double loses digits once, and no more.
    same(
        "the object",
        &Ok(map.clone()),
        &again.to_map().map_err(|error| error.to_string()),
    )?;
    ensure(depth(&Value::Object(map.clone())) <= MAX_NESTING, || {
        "it is nested too deeply".to_owned()
    })?;
    Ok(format!("{} fields", map.len().min(5)))
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
