//! The form in which the API server stores a document: what differs from it in that only is not written.

use serde_json::{Map, Number, Value};

use crate::external::Document;

const EMBEDDED: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The document as the API server stores it under this structural schema. Undeclared fields go, nulls go or become the default where the schema
/// does not take them, absent fields take their defaults, whole floats become integers. Where there is no schema, only numbers change.
pub(super) fn as_stored(schema: &Value, document: &Document) -> Document {
    let mut stored = document.clone();
    if schema.is_object() {
        apply(schema, &mut stored);
    }
    stored.values_mut().for_each(whole_floats);
    stored
}

fn apply(schema: &Value, fields: &mut Map<String, Value>) {
    let keeps_unknown = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let embedded = schema["x-kubernetes-embedded-resource"] == true;
    let kept = |name: &str| keeps_unknown || (embedded && EMBEDDED.contains(&name));
    fields.retain(|name, value| match field(schema, name) {
        Some(declared) => !value.is_null() || takes_null(declared) || has_default(declared),
        None => kept(name) || takes_any(schema),
    });
    for (name, declared) in schema["properties"].as_object().into_iter().flatten() {
        let absent = fields
            .get(name)
            .is_none_or(|value| value.is_null() && !takes_null(declared));
        if absent && has_default(declared) {
            fields.insert(name.clone(), declared["default"].clone());
        }
    }
    for (name, value) in fields.iter_mut() {
        if let Some(declared) = field(schema, name) {
            inside(declared, value);
        }
    }
}

fn inside(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => apply(schema, fields),
        Value::Array(items) => items.iter_mut().for_each(|item| {
            if let Some(declared) = schema.get("items") {
                if item.is_null() && !takes_null(declared) && has_default(declared) {
                    *item = declared["default"].clone();
                }
                inside(declared, item);
            }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The schema of one field of an object; `None`: it has none.
fn field<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    let declared = schema
        .get("properties")
        .and_then(|properties| properties.get(name));
    declared.or_else(|| {
        schema
            .get("additionalProperties")
            .filter(|values| values.is_object())
    })
}

/// Every field is declared, and none has a schema.
fn takes_any(schema: &Value) -> bool {
    schema["additionalProperties"] == true
}

fn takes_null(schema: &Value) -> bool {
    schema["nullable"] == true
}

fn has_default(schema: &Value) -> bool {
    schema.get("default").is_some_and(|default| !default.is_null())
}

/// The API server prints a float without a fraction as an integer, and reads what does not fit 64 signed bits as a float.
fn whole_floats(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *number = whole;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_floats),
        Value::Object(fields) => fields.values_mut().for_each(whole_floats),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn whole(number: &Number) -> Option<Number> {
    if !number.is_f64() {
        return None;
    }
    // Beyond this a float prints with an exponent, or as a number that is no 64-bit integer.
    let whole = number
        .as_f64()
        .filter(|float| float.fract() == 0.0 && float.abs() < 1e18)?;
    #[allow(clippy::cast_possible_truncation)] // It is whole, and fits.
    Some(Number::from(whole as i64))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn stored(schema: &Value, document: &Value) -> Value {
        Value::Object(as_stored(schema, document.as_object().unwrap()))
    }

    #[test]
    fn undeclared_fields_go_save_where_they_are_preserved() {
        let schema = json!({"type": "object", "properties": {
            "known": {"type": "object", "properties": {"a": {"type": "integer"}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "closed": {"type": "object", "properties": {}},
            }},
            "list": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
        }});
        let document = json!({
            "known": {"a": 1, "b": 2}, "free": {"x": {"y": 1}, "closed": {"z": 1}}, "list": [{"a": "", "b": ""}],
            "map": {"any": ""}, "unknown": 1,
        });
        let expected = json!({
            "known": {"a": 1}, "free": {"x": {"y": 1}, "closed": {}}, "list": [{"a": ""}], "map": {"any": ""},
        });
        assert_eq!(stored(&schema, &document), expected);
    }

    #[test]
    fn nulls_go_stay_or_become_defaults_as_the_schema_says() {
        let schema = json!({"type": "object", "properties": {
            "plain": {"type": "string"},
            "nullable": {"type": "string", "nullable": true},
            "default": {"type": "string", "default": "red"},
            "both": {"type": "string", "nullable": true, "default": "red"},
            "absent": {"type": "object", "default": {"a": null}, "properties": {"a": {"type": "integer", "default": 5}}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }});
        let document = json!({
            "plain": null, "nullable": null, "default": null, "both": null, "map": {"a": null}, "free": {"a": null},
        });
        let expected = json!({
            "nullable": null, "default": "red", "both": null, "absent": {"a": 5}, "map": {}, "free": {"a": null},
        });
        assert_eq!(stored(&schema, &document), expected);
    }

    #[test]
    fn whole_floats_become_integers() {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let document = json!({"a": 1.0, "b": [-0.0, 2.5, 1e300], "c": {"d": 3e3}});
        assert_eq!(
            stored(&schema, &document),
            json!({"a": 1, "b": [0, 2.5, 1e300], "c": {"d": 3000}})
        );
    }

    #[test]
    fn what_has_no_schema_is_left_alone() {
        assert_eq!(stored(&Value::Null, &json!({"a": null})), json!({"a": null}));
    }
}
