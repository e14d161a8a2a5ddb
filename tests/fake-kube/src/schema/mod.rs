//! What a structural schema changes in an object: unknown fields go, nulls go, defaults come.

mod validate;

use serde_json::{Map, Number, Value};

pub(crate) use self::validate::{Violation, violations};

const EMBEDDED: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Converts an object of a definition to the form in which it is stored.
pub(crate) fn coerce(schema: &Value, object: &mut Value) {
    if let Value::Object(fields) = object {
        prune_fields(schema, fields, true);
    }
    drop_nulls(Some(schema), object);
    fill_defaults(schema, object);
    print_numbers(object);
}

fn preserves_unknown(schema: &Value) -> bool {
    schema["x-kubernetes-preserve-unknown-fields"] == true
}

/// Values of an object's fields that have no property of their own.
enum Others<'a> {
    Schema(&'a Value),
    /// `additionalProperties: true`: any value.
    Any,
    None,
}

fn others(schema: &Value) -> Others<'_> {
    match &schema["additionalProperties"] {
        Value::Object(_) => Others::Schema(&schema["additionalProperties"]),
        Value::Bool(true) => Others::Any,
        _ => Others::None,
    }
}

/// Of no schema nothing is known, so that everything inside goes.
fn prune(schema: Option<&Value>, value: &mut Value) {
    match value {
        Value::Object(fields) => match schema {
            Some(schema) => prune_fields(schema, fields, false),
            None => fields.clear(),
        },
        Value::Array(items) => {
            let keep = schema.is_some_and(preserves_unknown);
            let schema = schema.and_then(|schema| schema.get("items"));
            for item in items {
                match (keep, schema) {
                    (false, schema) => prune(schema, item),
                    (true, None) => {}
                    (true, Some(schema)) => skip(schema, item),
                }
            }
        }
        _ => {}
    }
}

fn prune_fields(schema: &Value, fields: &mut Map<String, Value>, root: bool) {
    let embedded = root || schema["x-kubernetes-embedded-resource"] == true;
    let preserve = preserves_unknown(schema);
    fields.retain(|name, value| {
        if embedded && EMBEDDED.contains(&name.as_str()) {
            return true;
        }
        if let Some(property) = schema["properties"].get(name) {
            prune(Some(property), value);
            return true;
        }
        match others(schema) {
            Others::Schema(schema) => prune(Some(schema), value),
            Others::Any if !preserve => prune(None, value),
            Others::Any => {}
            Others::None => return preserve,
        }
        true
    });
}

/// Inside a list of what preserves its unknown fields.
fn skip(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(property) = schema["properties"].get(name) {
                    prune(Some(property), value);
                } else if let Others::Schema(schema) = others(schema) {
                    prune(Some(schema), value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    skip(schema, item);
                }
            }
        }
        _ => {}
    }
}

fn field<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    if let Some(property) = schema["properties"].get(name) {
        return Some(property);
    }
    match others(schema) {
        Others::Schema(schema) => Some(schema),
        Others::Any | Others::None => None,
    }
}

fn default(schema: &Value) -> Option<&Value> {
    schema.get("default").filter(|default| !default.is_null())
}

fn refuses_null(schema: Option<&Value>) -> bool {
    schema.is_some_and(|schema| schema["nullable"] != true)
}

/// Nulls that the schema does not take, and has no default for.
fn drop_nulls(schema: Option<&Value>, value: &mut Value) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| {
            let schema = schema.and_then(|schema| field(schema, name));
            if value.is_null() && refuses_null(schema) && schema.and_then(default).is_none() {
                return false;
            }
            drop_nulls(schema, value);
            true
        }),
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.get("items"));
            for item in items {
                drop_nulls(schema, item);
            }
        }
        _ => {}
    }
}

/// Fills in the schema's defaults of fields that are absent, or null where they may not be.
fn fill_defaults(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let Some(default) = default(property) else {
                    continue;
                };
                let null = |value: &Value| value.is_null() && refuses_null(Some(property));
                if fields.get(name).is_none_or(null) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                if let Some(schema) = field(schema, name) {
                    default_null(schema, value);
                    fill_defaults(schema, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    default_null(schema, item);
                    fill_defaults(schema, item);
                }
            }
        }
        _ => {}
    }
}

fn default_null(schema: &Value, value: &mut Value) {
    if value.is_null()
        && refuses_null(Some(schema))
        && let Some(default) = default(schema)
    {
        value.clone_from(default);
    }
}

/// Numbers as Go reads them, prints them, and reads them again: a whole float is an integer then, and what does not fit a signed one a float.
pub(crate) fn print_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(printed) = printed(number) {
                *number = printed;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(print_numbers),
        Value::Object(fields) => fields.values_mut().for_each(print_numbers),
        _ => {}
    }
}

/// `None`: as it is.
fn printed(number: &Number) -> Option<Number> {
    if number.is_i64() {
        return None;
    }
    let float = number.as_f64()?;
    // Go prints these without an exponent, that is, without anything that marks a float.
    let plain = float == 0.0 || (float.abs() >= 1e-6 && float.abs() < 1e21);
    if plain
        && float.fract() == 0.0
        && (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&float)
    {
        #[allow(clippy::cast_possible_truncation)] // It is whole, and fits.
        return Some(Number::from(float as i64));
    }
    Number::from_f64(float)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn coerced(schema: &Value, mut object: Value) -> Value {
        coerce(schema, &mut object);
        object
    }

    #[test]
    fn unknown_fields_go_where_they_are_not_preserved() {
        let schema = json!({"properties": {"spec": {"type": "object", "properties": {
            "free": {"x-kubernetes-preserve-unknown-fields": true, "properties": {
                "closed": {"type": "object"},
            }},
        }}}});
        let object =
            json!({"kind": "Thing", "spec": {"a": 1, "free": {"b": {"c": 1}, "closed": {"d": 1}}}, "e": 1});
        assert_eq!(
            coerced(&schema, object),
            json!({"kind": "Thing", "spec": {"free": {"b": {"c": 1}, "closed": {}}}})
        );
    }

    #[test]
    fn a_null_goes_stays_or_gives_way_to_the_default() {
        let schema = json!({"properties": {
            "plain": {"type": "string"},
            "nullable": {"type": "string", "nullable": true, "default": "red"},
            "default": {"type": "string", "default": "red"},
        }});
        let object = json!({"plain": null, "nullable": null, "default": null});
        assert_eq!(
            coerced(&schema, object),
            json!({"nullable": null, "default": "red"})
        );
    }

    #[test]
    fn numbers_are_printed_as_go_prints_them() {
        let schema = json!({"x-kubernetes-preserve-unknown-fields": true});
        let object = json!({"a": 1.0, "b": -0.0, "c": 2.5, "d": 1e20, "e": 1e300, "f": u64::MAX});
        assert_eq!(
            coerced(&schema, object),
            json!({"a": 1, "b": 0, "c": 2.5, "d": 1e20, "e": 1e300, "f": 18_446_744_073_709_552_000.0})
        );
    }
}
