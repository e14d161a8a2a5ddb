//! Who owns which fields: `metadata.managedFields`, as writes change it, and what an apply makes of it.
//!
//! Left out: conversion between versions, and lists with keys or sets but for those of `metadata`. Such a list counts as one field.

mod fields;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub(crate) use self::fields::merge;
use self::fields::{Path, changes, leaves, remove_value};

/// Whose write it is.
pub(crate) struct Writer<'a> {
    pub(crate) manager: &'a str,
    pub(crate) operation: &'static str,
    pub(crate) api_version: &'a str,
    pub(crate) subresource: &'a str,
    pub(crate) now: Timestamp,
}

/// Another manager owns a field with another value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FieldConflict {
    pub(crate) manager: String,
    /// As `.spec.size`.
    pub(crate) field: String,
}

const UPDATE: &str = "Update";
const APPLY: &str = "Apply";

impl<'a> Writer<'a> {
    pub(crate) fn update(
        manager: &'a str,
        api_version: &'a str,
        subresource: &'a str,
        now: Timestamp,
    ) -> Self {
        Self {
            manager,
            operation: UPDATE,
            api_version,
            subresource,
            now,
        }
    }

    pub(crate) fn apply(manager: &'a str, api_version: &'a str, now: Timestamp) -> Self {
        Self {
            manager,
            operation: APPLY,
            api_version,
            subresource: "",
            now,
        }
    }

    fn is_of(&self, entry: &Value) -> bool {
        entry["manager"] == *self.manager
            && entry["operation"] == self.operation
            && entry["subresource"].as_str().unwrap_or_default() == self.subresource
            && (self.operation == APPLY || entry["apiVersion"] == *self.api_version)
    }

    fn entry(&self, fields: &Value) -> Value {
        let mut entry = json!({
            "manager": self.manager, "operation": self.operation, "apiVersion": self.api_version,
            "time": format!("{:.0}", self.now), "fieldsType": "FieldsV1", "fieldsV1": fields,
        });
        if !self.subresource.is_empty() {
            entry["subresource"] = self.subresource.into();
        }
        entry
    }
}

/// The entries that count: what the request gives, else those of the object as it is.
pub(crate) fn base(given: &Value, old: &Value) -> Vec<Value> {
    let entries = |object: &Value| object["metadata"]["managedFields"].as_array().cloned();
    let given = entries(given).filter(|entries| !entries.is_empty());
    let mut base = given.or_else(|| entries(old)).unwrap_or_default();
    // One that names nobody takes all owners off.
    base.retain(|entry| entry["operation"].is_string());
    base
}

/// After a write that is no apply: what it changed is its manager's alone.
pub(crate) fn updated(mut entries: Vec<Value>, old: &Value, new: &Value, writer: &Writer) -> Vec<Value> {
    let changes = changes(old, new);
    for path in changes.removed.iter().chain(&changes.set) {
        for entry in &mut entries {
            remove(&mut entry["fieldsV1"], path);
        }
    }
    if !changes.set.is_empty() {
        let at = entries.iter().position(|entry| writer.is_of(entry));
        let mut fields = at.map(|at| entries.remove(at)["fieldsV1"].take());
        let fields = fields.get_or_insert_with(|| json!({}));
        for path in &changes.set {
            insert(fields, path);
        }
        entries.push(writer.entry(fields));
    }
    entries.retain(|entry| {
        entry["fieldsV1"]
            .as_object()
            .is_some_and(|fields| !fields.is_empty())
    });
    entries
}

/// Takes out of the merged object what the manager owned alone and applies no more.
pub(crate) fn prune(merged: &mut Value, entries: &[Value], applied: &Value, writer: &Writer) {
    let Some(former) = entries.iter().find(|entry| writer.is_of(entry)) else {
        return;
    };
    let mut kept = leaves(applied);
    for entry in entries.iter().filter(|entry| !writer.is_of(entry)) {
        kept.extend(paths(&entry["fieldsV1"]));
    }
    let keeps = |path: &Path| kept.iter().any(|kept| kept.starts_with(path));
    let mut gone = paths(&former["fieldsV1"]);
    // What holds others goes with the last of them.
    let around: Vec<Path> = gone
        .iter()
        .flat_map(|path| (1..path.len()).map(|length| path[..length].to_vec()))
        .collect();
    gone.extend(around);
    gone.sort_by_key(|path| std::cmp::Reverse(path.len()));
    gone.dedup();
    for path in gone.iter().filter(|path| !keeps(path)) {
        remove_value(merged, path);
    }
}

/// After an apply, without `force` only if nobody else owns what it changes with another value.
///
/// # Errors
/// Somebody does.
pub(crate) fn applied(
    mut entries: Vec<Value>,
    old: &Value,
    merged: &Value,
    applied: &Value,
    writer: &Writer,
    force: bool,
) -> Result<Vec<Value>, Vec<FieldConflict>> {
    let changes = changes(old, merged);
    let mut conflicts = Vec::new();
    for entry in entries.iter_mut().filter(|entry| !writer.is_of(entry)) {
        for path in &changes.set {
            if contains(&entry["fieldsV1"], path) {
                conflicts.push(FieldConflict {
                    manager: entry["manager"].as_str().unwrap_or_default().to_owned(),
                    field: shown(path),
                });
                remove(&mut entry["fieldsV1"], path);
            }
        }
        for path in &changes.removed {
            remove(&mut entry["fieldsV1"], path);
        }
    }
    if !force && !conflicts.is_empty() {
        return Err(conflicts);
    }
    let mut fields = json!({});
    for path in leaves(applied) {
        insert(&mut fields, &path);
    }
    let at = entries.iter().position(|entry| writer.is_of(entry));
    match at {
        Some(at) if entries[at]["fieldsV1"] == fields => {}
        Some(at) => entries[at] = writer.entry(&fields),
        None => entries.insert(0, writer.entry(&fields)),
    }
    entries.retain(|entry| {
        entry["fieldsV1"]
            .as_object()
            .is_some_and(|fields| !fields.is_empty())
    });
    Ok(entries)
}

fn shown(path: &Path) -> String {
    let part = |segment: &String| format!(".{}", segment.split_once(':').map_or("", |(_, name)| name));
    path.iter().map(part).collect()
}

/// What a tree of fields holds: the ends of its branches, and what is marked.
fn paths(tree: &Value) -> Vec<Path> {
    fn walk(tree: &Value, at: &mut Path, found: &mut Vec<Path>) {
        let fields = tree.as_object().filter(|fields| !fields.is_empty());
        let Some(fields) = fields else {
            found.push(at.clone());
            return;
        };
        for (segment, below) in fields.iter().filter(|(segment, _)| *segment != ".") {
            at.push(segment.clone());
            walk(below, at, found);
            at.pop();
        }
    }
    let mut found = Vec::new();
    if tree.as_object().is_some_and(|fields| !fields.is_empty()) {
        walk(tree, &mut Path::new(), &mut found);
    }
    found
}

fn contains(tree: &Value, path: &[String]) -> bool {
    let end = path.iter().try_fold(tree, |tree, segment| tree.get(segment));
    end.and_then(Value::as_object)
        .is_some_and(|fields| fields.is_empty() || fields.contains_key("."))
}

fn insert(tree: &mut Value, path: &[String]) {
    let mut at = tree;
    for segment in path {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[segment.as_str()];
    }
    if at.is_null() {
        *at = Value::Object(Map::new());
    }
}

/// What holds nothing then goes too.
fn remove(tree: &mut Value, path: &[String]) {
    let (Some((segment, rest)), Some(fields)) = (path.split_first(), tree.as_object_mut()) else {
        return;
    };
    let Some(below) = fields.get_mut(segment) else {
        return;
    };
    if !rest.is_empty() {
        if below.as_object().is_none_or(Map::is_empty) {
            return;
        }
        remove(below, rest);
    }
    let is_over = rest.is_empty()
        || below
            .as_object()
            .is_some_and(|fields| fields.keys().all(|segment| segment == "."));
    if is_over {
        fields.remove(segment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(manager: &str) -> Writer<'_> {
        Writer::update(manager, "v1", "", Timestamp::UNIX_EPOCH)
    }

    fn apply(manager: &str) -> Writer<'_> {
        Writer::apply(manager, "v1", Timestamp::UNIX_EPOCH)
    }

    fn fields(entries: &[Value], manager: &str) -> Value {
        let entry = entries.iter().find(|entry| entry["manager"] == manager);
        entry.map(|entry| entry["fieldsV1"].clone()).unwrap_or_default()
    }

    #[test]
    fn an_update_takes_over_what_it_changes() {
        let (old, new) = (
            json!({"spec": {"a": 1, "b": [1]}}),
            json!({"spec": {"a": 2, "b": [1]}}),
        );
        let first = updated(Vec::new(), &json!({}), &old, &update("one"));
        assert_eq!(fields(&first, "one"), json!({"f:spec": {"f:a": {}, "f:b": {}}}));
        let second = updated(first, &old, &new, &update("other"));
        assert_eq!(fields(&second, "one"), json!({"f:spec": {"f:b": {}}}));
        assert_eq!(fields(&second, "other"), json!({"f:spec": {"f:a": {}}}));
    }

    #[test]
    fn an_apply_removes_what_it_owned_alone() {
        let live = json!({"data": {"a": "1", "b": "1", "c": "1"}});
        let mut entries = updated(Vec::new(), &json!({}), &live, &update("kubectl"));
        let wants = |names: &[&str]| {
            let data: Map<String, Value> = names
                .iter()
                .map(|name| ((*name).to_owned(), json!("1")))
                .collect();
            json!({"data": data})
        };
        entries = applied(entries, &live, &live, &wants(&["a", "b"]), &apply("ours"), false).unwrap();
        // Both own them; then one of the two does not any more.
        let mut merged = live.clone();
        prune(&mut merged, &entries, &wants(&["a"]), &apply("ours"));
        assert_eq!(merged, live);
        entries.retain(|entry| entry["manager"] == "ours");
        prune(&mut merged, &entries, &wants(&["a"]), &apply("ours"));
        assert_eq!(merged, json!({"data": {"a": "1", "c": "1"}}));
    }

    #[test]
    fn what_another_manager_owns_is_taken_by_force_alone() {
        let (old, new) = (json!({"data": {"a": "1"}}), json!({"data": {"a": "2"}}));
        let entries = updated(Vec::new(), &json!({}), &old, &update("kubectl"));
        let conflict = FieldConflict {
            manager: "kubectl".to_owned(),
            field: ".data.a".to_owned(),
        };
        let refused = applied(entries.clone(), &old, &new, &new, &apply("ours"), false);
        assert_eq!(refused, Err(vec![conflict]));
        let taken = applied(entries, &old, &new, &new, &apply("ours"), true).unwrap();
        assert_eq!(fields(&taken, "kubectl"), Value::Null);
        assert_eq!(fields(&taken, "ours"), json!({"f:data": {"f:a": {}}}));
    }
}
