//! What matches an expectation of a vector.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What was kept of earlier answers, by label.
pub type Saved = BTreeMap<String, Value>;

/// Compares a member, which may be absent, with what is expected of it; `at` names it in the error.
pub fn check(expected: &Value, actual: Option<&Value>, saved: &Saved, at: &str) -> Result<(), String> {
    let differs = || Err(format!("{at}: expected {expected}, got {}", shown(actual)));
    match expected {
        Value::Object(members) if members.keys().any(|key| key.starts_with('$')) => members
            .iter()
            .try_for_each(|(operator, value)| operate(operator, value, actual, saved, at)),
        Value::Object(members) => {
            let Some(Value::Object(actual)) = actual else {
                return differs();
            };
            members
                .iter()
                .try_for_each(|(name, value)| check(value, actual.get(name), saved, &format!("{at}/{name}")))
        }
        Value::Array(items) => match actual {
            Some(Value::Array(actual)) if actual.len() == items.len() => items
                .iter()
                .zip(actual)
                .enumerate()
                .try_for_each(|(index, (item, actual))| {
                    check(item, Some(actual), saved, &format!("{at}/{index}"))
                }),
            _ => differs(),
        },
        scalar if actual == Some(scalar) => Ok(()),
        _ => differs(),
    }
}

fn shown(actual: Option<&Value>) -> String {
    actual.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

fn operate(
    operator: &str,
    value: &Value,
    actual: Option<&Value>,
    saved: &Saved,
    at: &str,
) -> Result<(), String> {
    let text = || actual.and_then(Value::as_str).unwrap_or_default().to_lowercase();
    let wanted = || value.as_str().expect("a text").to_lowercase();
    let is_set = actual.is_some_and(|actual| !is_zero(actual));
    let holds = match operator {
        "$unset" => !is_set,
        "$any" => is_set,
        "$contains" => text().contains(&wanted()),
        "$lacks" => !text().contains(&wanted()),
        "$json" => {
            let parsed = actual
                .and_then(Value::as_str)
                .and_then(|text| serde_json::from_str::<Value>(text).ok());
            parsed.map(normalized) == Some(normalized(value.clone()))
        }
        "$equals" => actual == Some(value),
        "$oneOf" => actual.is_some_and(|actual| items(value).contains(actual)),
        "$unordered" => {
            let empty = Vec::new();
            let actual = actual.and_then(Value::as_array).unwrap_or(&empty);
            actual.len() == items(value).len()
                && items(value).iter().all(|item| {
                    actual
                        .iter()
                        .any(|actual| check(item, Some(actual), saved, at).is_ok())
                })
        }
        "$saved" => actual == saved.get(value.as_str().expect("a label")),
        "$not" => check(value, actual, saved, at).is_err(),
        other => panic!("{at}: there is no operator {other}"),
    };
    if holds {
        return Ok(());
    }
    Err(format!(
        "{at}: expected {operator} {value}, got {}",
        shown(actual)
    ))
}

fn items(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(value) => value.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty() || text == "0" || text.ends_with("_UNSPECIFIED"),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// Without what makes no difference in a schema.
pub fn normalized(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Map<String, Value> = members
                .into_iter()
                .map(|(name, value)| (name, normalized(value)))
                .filter(|(name, value)| {
                    let is_empty = is_zero(value) && (value.is_array() || value.is_object());
                    !(is_empty && (name == "properties" || name == "required"))
                })
                .collect();
            if let Some(Value::Array(required)) = members.get_mut("required") {
                required.sort_by_key(Value::to_string);
            }
            Value::Object(members)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(normalized).collect()),
        other => other,
    }
}
