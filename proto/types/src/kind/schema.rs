//! Structural OpenAPI v3 schemas: what Kubernetes takes as a CRD's.

use serde_json::{Map, Value};

use crate::{Rule, Violation, check};

/// Keywords that a structural schema never has, anywhere.
const FORBIDDEN: [&str; 12] = [
    "$ref",
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "dependencies",
    "deprecated",
    "discriminator",
    "id",
    "patternProperties",
    "readOnly",
    "writeOnly",
];

/// Values of `type`. There is no null: `nullable` says that.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Checks that a whole schema is structural.
pub(crate) fn check(schema: &Value, field: &str) -> Result<(), Violation> {
    check::shallow(schema, field)?;
    check_whole(schema)
        .map_err(|(pointer, problem)| Violation::new(field, Rule::NotStructural { pointer, problem }))
}

/// Where in the schema, and what is wrong there.
type Problem = (String, String);

fn check_whole(schema: &Value) -> Result<(), Problem> {
    match schema.as_object() {
        Some(schema) if schema.get("type").and_then(Value::as_str) == Some("object") => {
            check_node(schema, "")
        }
        _ => Err((String::new(), "the whole must be of type object".to_owned())),
    }
}

fn check_node(schema: &Map<String, Value>, at: &str) -> Result<(), Problem> {
    let problem = |text: String| Err((at.to_owned(), text));
    if let Some(keyword) = FORBIDDEN.iter().find(|keyword| schema.contains_key(**keyword)) {
        return problem(format!("{keyword} is not allowed"));
    }
    let is_flagged = |extension: &str| schema.get(extension) == Some(&Value::Bool(true));
    match schema.get("type") {
        Some(Value::String(name)) if TYPES.contains(&name.as_str()) => {}
        Some(other) => return problem(format!("type {other} is not one of {}", TYPES.join(", "))),
        None if is_flagged("x-kubernetes-int-or-string")
            || is_flagged("x-kubernetes-preserve-unknown-fields") => {}
        None => return problem("it has no type".to_owned()),
    }
    if schema.contains_key("properties") && schema.contains_key("additionalProperties") {
        return problem("properties and additionalProperties exclude each other".to_owned());
    }
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        return problem("additionalProperties may not be false".to_owned());
    }
    if schema.get("type").and_then(Value::as_str) == Some("array") && !schema.contains_key("items") {
        return problem("an array needs items".to_owned());
    }
    if let Some(properties) = schema.get("properties") {
        let Value::Object(properties) = properties else {
            return problem("properties is no object".to_owned());
        };
        for (name, property) in properties {
            check_child(property, &format!("{at}/properties/{}", escape(name)))?;
        }
    }
    for keyword in ["items", "additionalProperties"] {
        match schema.get(keyword) {
            None | Some(Value::Bool(true)) => {}
            Some(child) => check_child(child, &format!("{at}/{keyword}"))?,
        }
    }
    Ok(())
}

fn check_child(child: &Value, at: &str) -> Result<(), Problem> {
    match child {
        Value::Object(child) => check_node(child, at),
        _ => Err((at.to_owned(), "it is no schema".to_owned())),
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The part of a schema that a field rule's path leads to; `None`: within a part whose fields the schema does not name.
pub(super) fn find<'a>(schema: &'a Value, path: &str) -> Result<Option<&'a Map<String, Value>>, String> {
    let Some(mut node) = schema.as_object() else {
        return Err("the schema is no object".to_owned());
    };
    for segment in path.split('/').skip(1) {
        let name = segment.replace("~1", "/").replace("~0", "~");
        let child = if node.get("type").and_then(Value::as_str) == Some("array") {
            if name != "*" && name.parse::<usize>().is_err() {
                return Err(format!("{path:?} names {name:?} in a list; write * for any item"));
            }
            node.get("items")
        } else {
            node.get("properties")
                .and_then(|properties| properties.get(&name))
                .or_else(|| node.get("additionalProperties"))
        };
        node = match child {
            Some(Value::Object(child)) => child,
            _ if node.contains_key("x-kubernetes-preserve-unknown-fields") => return Ok(None),
            Some(Value::Bool(true)) => return Ok(None),
            _ => return Err(format!("{path:?} is not in the schema of the parameters")),
        };
    }
    Ok(Some(node))
}
