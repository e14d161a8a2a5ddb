//! Is a CRD in the cluster the one that we would make?

use serde_json::{Number, Value};

use super::pointer::join;

/// JSON Pointers at which the CRD that was found differs from the wanted one, in what the bridge decides: group, scope, names and
/// versions. What the API server fills in, and values that it drops as empty, count as equal.
pub fn differences(wanted: &Value, found: &Value) -> Vec<String> {
    let mut differing = Vec::new();
    for field in ["group", "scope", "names", "versions"] {
        let mut at = vec!["spec".to_owned(), field.to_owned()];
        let pointer = join(&at);
        compare(
            wanted.pointer(&pointer),
            found.pointer(&pointer),
            &mut at,
            &mut differing,
        );
    }
    differing
}

fn compare(wanted: Option<&Value>, found: Option<&Value>, at: &mut Vec<String>, differing: &mut Vec<String>) {
    match (wanted, found) {
        (None, None) => {}
        (Some(Value::Object(wanted)), Some(Value::Object(found))) => {
            let mut keys: Vec<&String> = wanted.keys().chain(found.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                at.push(key.clone());
                compare(wanted.get(key), found.get(key), at, differing);
                at.pop();
            }
        }
        (Some(Value::Array(wanted)), Some(Value::Array(found))) if wanted.len() == found.len() => {
            for (i, (wanted, found)) in wanted.iter().zip(found).enumerate() {
                at.push(i.to_string());
                compare(Some(wanted), Some(found), at, differing);
                at.pop();
            }
        }
        (Some(Value::Number(wanted)), Some(Value::Number(found))) if same_number(wanted, found) => {}
        (Some(wanted), Some(found)) if wanted == found => {}
        (Some(only), None) | (None, Some(only)) if is_empty(only) || is_empty_map(only, at) => {}
        _ => differing.push(join(at)),
    }
}

/// The API server writes 1.0 as 1.
fn same_number(a: &Number, b: &Number) -> bool {
    a == b || a.as_f64() == b.as_f64()
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(_) | Value::Number(_) => false,
    }
}

/// The API server drops maps of schemas that are empty. Other objects say something by being there: `subresources.status` is one.
fn is_empty_map(value: &Value, at: &[String]) -> bool {
    let in_schema = at.iter().any(|part| part == "openAPIV3Schema");
    let map = at
        .last()
        .is_some_and(|field| matches!(field.as_str(), "properties" | "patternProperties" | "definitions"));
    in_schema && map && value.as_object().is_some_and(serde_json::Map::is_empty)
}
