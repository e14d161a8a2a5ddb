//! Whether an object is as its schema wants it. Patterns, formats and CEL rules are left out.

use serde_json::Value;

/// One violation of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    /// As in a cause of a `Status`.
    pub(crate) reason: &'static str,
    pub(crate) field: String,
    pub(crate) message: String,
}

/// What is wrong with a value at this path.
pub(crate) fn violations(schema: &Value, value: &Value, path: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    check(schema, value, path, &mut found);
    found
}

fn check(schema: &Value, value: &Value, path: &str, found: &mut Vec<Violation>) {
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    let mut wrong = |reason, message: String| {
        found.push(Violation {
            reason,
            field: path.to_owned(),
            message,
        });
    };
    if !is_of_type(schema, value) {
        let message = format!("Invalid value: {value}: must be of type {}", schema["type"]);
        return wrong("FieldValueTypeInvalid", message);
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        wrong("FieldValueNotSupported", format!("Unsupported value: {value}"));
    }
    if let Some(number) = value.as_f64() {
        let limit = |name: &str| schema[name].as_f64();
        if limit("minimum").is_some_and(|least| number < least)
            || limit("maximum").is_some_and(|most| number > most)
        {
            wrong("FieldValueInvalid", format!("Invalid value: {value}"));
        }
    }
    let length = match value {
        Value::String(text) => Some(("minLength", "maxLength", text.chars().count())),
        Value::Array(items) => Some(("minItems", "maxItems", items.len())),
        Value::Object(fields) => Some(("minProperties", "maxProperties", fields.len())),
        _ => None,
    };
    if let Some((least, most, length)) = length {
        let limit = |name: &str| {
            schema[name]
                .as_u64()
                .and_then(|limit| usize::try_from(limit).ok())
        };
        if limit(least).is_some_and(|least| length < least) {
            wrong("FieldValueInvalid", format!("Invalid value: {value}"));
        }
        if limit(most).is_some_and(|most| length > most) {
            wrong("FieldValueTooLong", "Too long".to_owned());
        }
    }
    inside(schema, value, path, found);
}

fn inside(schema: &Value, value: &Value, path: &str, found: &mut Vec<Violation>) {
    let child = |name: &str| {
        if path.is_empty() {
            name.to_owned()
        } else {
            format!("{path}.{name}")
        }
    };
    match value {
        Value::Object(fields) => {
            let required = schema["required"].as_array().into_iter().flatten();
            for name in required
                .filter_map(Value::as_str)
                .filter(|name| !fields.contains_key(*name))
            {
                found.push(Violation {
                    reason: "FieldValueRequired",
                    field: child(name),
                    message: "Required value".to_owned(),
                });
            }
            for (name, value) in fields {
                if let Some(schema) = super::field(schema, name) {
                    check(schema, value, &child(name), found);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                if let Some(schema) = schema.get("items") {
                    check(schema, item, &format!("{path}[{at}]"), found);
                }
            }
        }
        _ => {}
    }
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    let whole = || value.as_f64().is_some_and(|number| number.fract() == 0.0);
    if schema["x-kubernetes-int-or-string"] == true {
        return value.is_string() || (value.is_number() && whole());
    }
    match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_number() && whole(),
        _ => true,
    }
}
