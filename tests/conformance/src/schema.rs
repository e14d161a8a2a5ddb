//! Documents against a kind's schemas.

use crossbridge_proto::checked::Document;
use jsonschema::Draft;
use serde_json::{Map, Value};

use crate::verdict::Judgement;

/// Whether a document is valid by a structural schema; the first resource that is not.
pub(crate) fn valid(schema: &Document, document: &Document) -> Judgement {
    let schema = as_json_schema(&Value::Object(schema.clone()));
    let validator = jsonschema::options()
        .with_draft(Draft::Draft4)
        .build(&schema)
        .map_err(|error| format!("the schema cannot be used: {error}"))?;
    match validator.iter_errors(&Value::Object(document.clone())).next() {
        None => Ok(()),
        // The error itself would quote the value, which may be long or secret.
        Some(error) => Err(format!(
            "at {:?}: it breaks {}",
            error.instance_path().as_str(),
            error.schema_path().as_str()
        )),
    }
}

/// OpenAPI's `nullable` and `x-kubernetes-int-or-string` in JSON Schema's words; and `required` without what travels beside documents.
fn as_json_schema(schema: &Value) -> Value {
    let Value::Object(node) = schema else {
        return schema.clone();
    };
    let mut out = Map::new();
    for (keyword, value) in node {
        let value = match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => Value::Object(
                properties
                    .iter()
                    .map(|(name, property)| (name.clone(), as_json_schema(property)))
                    .collect(),
            ),
            ("items" | "additionalProperties" | "not", child) => as_json_schema(child),
            ("allOf" | "anyOf" | "oneOf", Value::Array(children)) => {
                Value::Array(children.iter().map(as_json_schema).collect())
            }
            // Formats that Kubernetes does not know are no rules.
            ("format", _) => continue,
            // The meta-schema of that draft wants at least one.
            ("required", Value::Array(names)) if names.is_empty() => continue,
            _ => value.clone(),
        };
        out.insert(keyword.clone(), value);
    }
    let is_flagged = |keyword: &str| node.get(keyword) == Some(&Value::Bool(true));
    if is_flagged("x-kubernetes-int-or-string") {
        out.insert("type".to_owned(), Value::from(vec!["integer", "string"]));
    } else if is_flagged("nullable")
        && let Some(Value::String(name)) = node.get("type")
    {
        out.insert("type".to_owned(), Value::from(vec![name.as_str(), "null"]));
    }
    Value::Object(out)
}

/// The schema without its demand for these fields, which travel beside the document.
pub(crate) fn without_required<'a>(schema: &Document, pointers: impl Iterator<Item = &'a str>) -> Document {
    let mut schema = Value::Object(schema.clone());
    for pointer in pointers {
        let mut parts: Vec<&str> = pointer.split('/').skip(1).collect();
        let Some(leaf) = parts.pop() else { continue };
        let mut node = Some(&mut schema);
        for part in parts {
            node = node.and_then(|node| match part {
                "*" => {
                    let key = if node.get("items").is_some() {
                        "items"
                    } else {
                        "additionalProperties"
                    };
                    node.get_mut(key)
                }
                name => node.get_mut("properties").and_then(|all| all.get_mut(name)),
            });
        }
        if let Some(Value::Array(required)) = node.and_then(|node| node.get_mut("required")) {
            required.retain(|name| name != leaf);
        }
    }
    match schema {
        Value::Object(schema) => schema,
        _ => Document::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Document {
        match value {
            Value::Object(object) => object,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn nullable_and_int_or_string_are_understood() {
        let schema = object(json!({
            "type": "object",
            "properties": {
                "a": {"type": "string", "nullable": true},
                "b": {"x-kubernetes-int-or-string": true},
                "c": {"type": "integer", "format": "int64"},
            },
            "required": ["c"],
        }));
        for good in [
            json!({"a": null, "b": 3, "c": 1}),
            json!({"b": "30%", "c": 9_007_199_254_740_993_u64}),
        ] {
            assert_eq!(valid(&schema, &object(good)), Ok(()));
        }
        assert!(
            valid(&schema, &object(json!({"c": "x"})))
                .unwrap_err()
                .contains("/c")
        );
        assert!(valid(&schema, &object(json!({}))).is_err());
        let relaxed = without_required(&schema, ["/c"].into_iter());
        assert_eq!(valid(&relaxed, &object(json!({}))), Ok(()));
    }
}
