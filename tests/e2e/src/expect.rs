//! Questions about an object's JSON.

use serde_json::Value;

/// The text of `metadata.annotations[key]`; empty: none.
pub fn annotation<'o>(object: &'o Value, key: &str) -> &'o str {
    object["metadata"]["annotations"][key]
        .as_str()
        .unwrap_or_default()
}

/// The condition of one type; `Null`: none.
pub fn condition<'o>(object: &'o Value, kind: &str) -> &'o Value {
    let found = object["status"]["conditions"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["type"] == kind));
    found.unwrap_or(&Value::Null)
}

/// The reason of a condition.
pub fn reason<'o>(object: &'o Value, kind: &str) -> &'o str {
    condition(object, kind)["reason"].as_str().unwrap_or_default()
}

/// The message of a condition.
pub fn message<'o>(object: &'o Value, kind: &str) -> &'o str {
    condition(object, kind)["message"].as_str().unwrap_or_default()
}

/// Whether condition `Ready` is `True`.
pub fn is_ready(object: &Value) -> bool {
    condition(object, "Ready")["status"] == "True"
}

/// Whether condition `Synced` is `True`.
pub fn is_synced(object: &Value) -> bool {
    condition(object, "Synced")["status"] == "True"
}
