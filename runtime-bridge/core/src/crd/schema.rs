//! Ways through a structural schema.

use serde_json::Value;

use super::pointer::ANY;

/// The schema of what a path of tokens leads to; `None` if it has no schema of its own.
pub(super) fn find<'a>(schema: &'a Value, tokens: &[String]) -> Option<&'a Value> {
    tokens.iter().try_fold(schema, |node, token| {
        if token == ANY {
            inner(node)
        } else {
            node.get("properties")?.get(token)
        }
    })
}

/// As [`find`], to change it.
pub(super) fn find_mut<'a>(schema: &'a mut Value, tokens: &[String]) -> Option<&'a mut Value> {
    tokens.iter().try_fold(schema, |node, token| {
        if token == ANY {
            let key = if node.get("items").is_some() {
                "items"
            } else {
                "additionalProperties"
            };
            node.get_mut(key).filter(|inner| inner.is_object())
        } else {
            node.get_mut("properties")?.get_mut(token)
        }
    })
}

/// Whether it is of type object.
pub(super) fn is_object(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("object")
}

/// Adds a sentence to the description.
pub(super) fn note(schema: &mut Value, sentence: &str) {
    let before = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let gap = match before.chars().next_back() {
        None | Some(' ' | '\n') => "",
        Some('.' | '!' | '?' | ':' | ';') => " ",
        Some(_) => ". ",
    };
    schema["description"] = Value::from(format!("{before}{gap}{sentence}"));
}

/// Adds an entry to a list that may not be there yet.
pub(super) fn push(schema: &mut Value, list: &str, entry: Value) {
    if let Some(entries) = schema.get_mut(list).and_then(Value::as_array_mut) {
        entries.push(entry);
    } else {
        schema[list] = Value::from(vec![entry]);
    }
}

/// The schema of the entries of a list or of the values of a map.
fn inner(node: &Value) -> Option<&Value> {
    node.get("items")
        .or_else(|| node.get("additionalProperties"))
        .filter(|inner| inner.is_object())
}
