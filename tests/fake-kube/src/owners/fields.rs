//! The fields of an object, by their paths.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// `f:name` for a field, `v:value` for an item of a set, `k:key` for an item with a key.
pub(crate) type Path = Vec<String>;

/// Of `metadata`, what somebody owns.
const OWNED: [&str; 5] = [
    "labels",
    "annotations",
    "finalizers",
    "ownerReferences",
    "generateName",
];

/// What a write did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Added, or of another value.
    pub(super) set: Vec<Path>,
    pub(super) removed: Vec<Path>,
}

/// From one object to the other.
pub(super) fn changes(old: &Value, new: &Value) -> Changes {
    let mut changes = Changes::default();
    compare(Some(old), Some(new), &mut Path::new(), &mut changes);
    changes
}

/// Each field of an object.
pub(super) fn leaves(object: &Value) -> Vec<Path> {
    changes(&Value::Object(Map::new()), object).set
}

/// The parts of a value that have owners of their own; `None`: it is one field.
fn parts<'a>(value: Option<&'a Value>, path: &Path) -> Option<Vec<(String, &'a Value)>> {
    match value? {
        Value::Object(fields) if !fields.is_empty() || path.is_empty() => {
            let in_metadata = path.len() == 1 && path[0] == "f:metadata";
            let is_owned = |name: &str| match path.len() {
                0 => !matches!(name, "apiVersion" | "kind"),
                _ => !in_metadata || OWNED.contains(&name),
            };
            let parts = fields.iter().filter(|(name, _)| is_owned(name));
            Some(parts.map(|(name, value)| (format!("f:{name}"), value)).collect())
        }
        Value::Array(items) => {
            let segment: fn(&Value) -> String = match path.as_slice() {
                [root, list] if root == "f:metadata" && list == "f:finalizers" => |item| format!("v:{item}"),
                [root, list] if root == "f:metadata" && list == "f:ownerReferences" => owner,
                _ => return None,
            };
            Some(items.iter().map(|item| (segment(item), item)).collect())
        }
        _ => None,
    }
}

fn owner(item: &Value) -> String {
    format!("k:{{\"uid\":{}}}", item["uid"])
}

fn compare(old: Option<&Value>, new: Option<&Value>, path: &mut Path, changes: &mut Changes) {
    if old == new {
        return;
    }
    let (olds, news) = (parts(old, path), parts(new, path));
    if old.is_some() && olds.is_none() && (new.is_none() || news.is_some()) {
        changes.removed.push(path.clone());
    }
    if new.is_some() && news.is_none() {
        changes.set.push(path.clone());
    }
    let (olds, news) = (olds.unwrap_or_default(), news.unwrap_or_default());
    let segments: BTreeSet<&String> = olds.iter().chain(&news).map(|(segment, _)| segment).collect();
    for segment in segments {
        path.push(segment.clone());
        compare(part(&olds, segment), part(&news, segment), path, changes);
        path.pop();
    }
}

fn part<'a>(parts: &[(String, &'a Value)], segment: &str) -> Option<&'a Value> {
    let part = parts.iter().find(|(one, _)| one == segment);
    part.map(|(_, value)| *value)
}

/// Takes one field out. What holds others stays.
pub(super) fn remove_value(object: &mut Value, path: &[String]) {
    let Some((segment, rest)) = path.split_first() else {
        return;
    };
    match object {
        Value::Object(fields) => {
            let name = segment.strip_prefix("f:").unwrap_or(segment);
            if !rest.is_empty() {
                if let Some(below) = fields.get_mut(name) {
                    remove_value(below, rest);
                }
            } else if fields.get(name).is_some_and(is_one) {
                fields.remove(name);
            }
        }
        Value::Array(items) => {
            items.retain(|item| format!("v:{item}") != *segment && owner(item) != *segment);
        }
        _ => {}
    }
}

/// Nothing is left in it.
fn is_one(value: &Value) -> bool {
    value.as_object().is_none_or(Map::is_empty)
}

/// What is applied over what exists: fields one by one, lists whole, but for those of `metadata` that have parts.
pub(crate) fn merge(live: &mut Value, applied: &Value) {
    merge_at(live, applied, &mut Path::new());
}

fn merge_at(live: &mut Value, applied: &Value, path: &mut Path) {
    match (live, applied) {
        (Value::Object(live), Value::Object(applied)) if !applied.is_empty() => {
            for (name, value) in applied {
                if value.is_null() {
                    live.remove(name);
                    continue;
                }
                path.push(format!("f:{name}"));
                merge_at(live.entry(name.clone()).or_insert(Value::Null), value, path);
                path.pop();
            }
        }
        (Value::Array(live), Value::Array(items)) if parts(Some(applied), path).is_some() => {
            for item in items {
                let is_it =
                    |one: &&mut Value| *one == item || (item.is_object() && owner(one) == owner(item));
                match live.iter_mut().find(is_it) {
                    Some(one) => one.clone_from(item),
                    None => live.push(item.clone()),
                }
            }
        }
        (live, Value::Object(applied)) if !applied.is_empty() => {
            *live = Value::Object(Map::new());
            merge_at(live, &Value::Object(applied.clone()), path);
        }
        // What is there goes into it.
        (Value::Object(_), Value::Object(_)) => {}
        (live, applied) => live.clone_from(applied),
    }
}
