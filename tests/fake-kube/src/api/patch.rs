//! Merge patches and JSON patches, as RFC 7386 and RFC 6902 have them, and as the API server reads them.

use serde_json::{Map, Value};

/// RFC 7386; and the API server takes nulls from what stands in lists too.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        take_nulls(target);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else { return };
    for (name, value) in patch {
        if value.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.clone()).or_insert(Value::Null), value);
        }
    }
}

fn take_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(take_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(take_nulls),
        _ => {}
    }
}

/// Why a JSON patch was not applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unapplied {
    /// A test failed, or a path does not exist.
    Rejected,
    /// It is no patch that this fake knows.
    Malformed,
}

/// RFC 6902: `test`, `add`, `replace`, `remove`.
pub(super) fn json(target: &mut Value, patch: &Value) -> Result<(), Unapplied> {
    for step in patch.as_array().ok_or(Unapplied::Malformed)? {
        let path = step["path"].as_str().ok_or(Unapplied::Malformed)?;
        match step["op"].as_str() {
            Some("test") => {
                if target.pointer(path) != step.get("value") {
                    return Err(Unapplied::Rejected);
                }
            }
            Some("replace") => {
                let value = step.get("value").ok_or(Unapplied::Malformed)?;
                let (parent, last) = parent(target, path)?;
                // The API server's library sets a field that is absent, as `add` does; RFC 6902 would reject it.
                let storage_key = match parent {
                    Value::Object(fields) => Some(fields.entry(last).or_insert(Value::Null)),
                    Value::Array(items) => index(&last).and_then(|at| items.get_mut(at)),
                    _ => None,
                };
                *storage_key.ok_or(Unapplied::Rejected)? = value.clone();
            }
            Some("remove") => {
                let (parent, last) = parent(target, path)?;
                match parent {
                    Value::Object(fields) => fields.remove(&last).map(drop),
                    Value::Array(items) => index(&last)
                        .filter(|at| *at < items.len())
                        .map(|at| drop(items.remove(at))),
                    _ => None,
                }
                .ok_or(Unapplied::Rejected)?;
            }
            Some("add") => {
                let value = step.get("value").ok_or(Unapplied::Malformed)?.clone();
                let (parent, last) = parent(target, path)?;
                match parent {
                    Value::Object(fields) => drop(fields.insert(last, value)),
                    Value::Array(items) if last == "-" => items.push(value),
                    Value::Array(items) => {
                        let at = index(&last).filter(|at| *at <= items.len());
                        items.insert(at.ok_or(Unapplied::Rejected)?, value);
                    }
                    _ => return Err(Unapplied::Rejected),
                }
            }
            _ => return Err(Unapplied::Malformed),
        }
    }
    Ok(())
}

fn parent<'a>(target: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), Unapplied> {
    let (parent, last) = path.rsplit_once('/').ok_or(Unapplied::Malformed)?;
    let last = last.replace("~1", "/").replace("~0", "~");
    let parent = target.pointer_mut(parent).ok_or(Unapplied::Rejected)?;
    Ok((parent, last))
}

fn index(text: &str) -> Option<usize> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_merge_patch_removes_what_is_null() {
        let mut target = json!({"a": {"b": 1, "c": 2}, "d": [1]});
        merge(&mut target, &json!({"a": {"b": null, "e": 3}, "d": [2]}));
        assert_eq!(target, json!({"a": {"c": 2, "e": 3}, "d": [2]}));
    }

    #[test]
    fn a_json_patch_stops_at_a_test_that_fails() {
        let mut target = json!({"list": ["a", "b"], "uid": "1"});
        let remove = json!([
            {"op": "test", "path": "/uid", "value": "1"},
            {"op": "test", "path": "/list/1", "value": "b"},
            {"op": "remove", "path": "/list/1"},
            {"op": "add", "path": "/list/-", "value": "c"},
        ]);
        assert_eq!(json(&mut target, &remove), Ok(()));
        assert_eq!(target, json!({"list": ["a", "c"], "uid": "1"}));
        assert_eq!(json(&mut target, &remove), Err(Unapplied::Rejected));
    }
}
