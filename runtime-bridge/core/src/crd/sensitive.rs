//! Sensitive fields: a Secret reference stands in the CRD where the value stands in the parameters.
//!
//! `/password` becomes `passwordSecretRef: {name, key}`, as users of upjet expect; in a cluster-scoped kind the reference has a
//! `namespace` too. In a list or map of sensitive strings (`/keys/*`) each entry becomes a reference: `keysSecretRef`.

use serde_json::{Value, json};

use super::{
    Rejection,
    pointer::{ANY, join, tokens},
    schema,
};
use crate::{
    external::Document,
    kind::{FieldRule, Kind},
};

const SUFFIX: &str = "SecretRef";

/// A key of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
pub struct SecretRef {
    /// Set in cluster-scoped kinds; `None`: the object's own.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Name of the Secret.
    pub name: String,
    /// Key in its data.
    pub key: String,
}

/// A `spec.forProvider` taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct SplitParameters {
    /// The parameters, without references and without secrets.
    pub parameters: Document,
    /// Where each secret belongs (JSON Pointer into the parameters), and where it lies; ordered by pointer.
    pub secret_refs: Vec<(String, SecretRef)>,
}

/// A reference that the CRD would have refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("spec.forProvider{pointer} is not a reference to a key of a Secret: {why}")]
pub struct SecretRefError {
    /// Where the reference stands.
    pub pointer: String,
    /// What is wrong with it.
    pub why: String,
}

/// Where a sensitive field stands: in the objects under `parent`, `depth` lists or maps below its property.
struct SensitivePath {
    parent: Vec<String>,
    property: String,
    depth: usize,
}

impl SensitivePath {
    /// `None` for a path without any property name.
    fn of(path: &str) -> Option<Self> {
        let mut parent = tokens(path);
        let last = parent.iter().rposition(|token| token != ANY)?;
        let depth = parent.len() - last - 1;
        parent.truncate(last + 1);
        let property = parent.pop()?;
        Some(Self {
            parent,
            property,
            depth,
        })
    }

    fn reference(&self) -> String {
        format!("{}{SUFFIX}", self.property)
    }
}

/// Takes the references out of what the user wrote.
pub fn split_secret_refs(kind: &Kind, for_provider: &Document) -> Result<SplitParameters, SecretRefError> {
    let mut whole = Value::Object(for_provider.clone());
    let mut secret_refs = Vec::new();
    for place in sensitive_paths(&kind.field_rules) {
        take(
            &mut whole,
            &place.parent,
            &place,
            &mut Vec::new(),
            &mut secret_refs,
        )?;
    }
    secret_refs.sort();
    let parameters = match whole {
        Value::Object(parameters) => parameters,
        _ => Document::new(),
    };
    Ok(SplitParameters {
        parameters,
        secret_refs,
    })
}

fn sensitive_paths(rules: &[FieldRule]) -> impl Iterator<Item = SensitivePath> {
    rules
        .iter()
        .filter(|rule| rule.sensitive)
        .filter_map(|rule| SensitivePath::of(&rule.path))
}

/// Follows `way` down from `value`, and moves what stands in the place to `found`.
fn take(
    value: &mut Value,
    way: &[String],
    place: &SensitivePath,
    at: &mut Vec<String>,
    found: &mut Vec<(String, SecretRef)>,
) -> Result<(), SecretRefError> {
    let Some((step, rest)) = way.split_first() else {
        let Some(reference) = value
            .as_object_mut()
            .and_then(|object| object.remove(&place.reference()))
        else {
            return Ok(());
        };
        at.push(place.property.clone());
        collect(&reference, place, place.depth, at, found)?;
        at.pop();
        return Ok(());
    };
    for (token, child) in children_mut(value) {
        if step == ANY || *step == token {
            at.push(token);
            take(child, rest, place, at, found)?;
            at.pop();
        }
    }
    Ok(())
}

fn children_mut(value: &mut Value) -> Vec<(String, &mut Value)> {
    match value {
        Value::Object(object) => object
            .iter_mut()
            .map(|(key, child)| (key.clone(), child))
            .collect(),
        Value::Array(list) => list
            .iter_mut()
            .enumerate()
            .map(|(i, child)| (i.to_string(), child))
            .collect(),
        _ => Vec::new(),
    }
}

fn collect(
    value: &Value,
    place: &SensitivePath,
    depth: usize,
    at: &mut Vec<String>,
    found: &mut Vec<(String, SecretRef)>,
) -> Result<(), SecretRefError> {
    if depth == 0 {
        let reference = serde_json::from_value(value.clone()).map_err(|error| SecretRefError {
            pointer: reference_pointer(place, at),
            why: error.to_string(),
        })?;
        found.push((join(at), reference));
        return Ok(());
    }
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(object) => object.iter().map(|(key, child)| (key.clone(), child)).collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(i, child)| (i.to_string(), child))
            .collect(),
        _ => {
            return Err(SecretRefError {
                pointer: reference_pointer(place, at),
                why: "neither a list nor a map of references".into(),
            });
        }
    };
    for (token, child) in entries {
        at.push(token);
        collect(child, place, depth - 1, at, found)?;
        at.pop();
    }
    Ok(())
}

/// Where the user wrote what belongs at `at`.
fn reference_pointer(place: &SensitivePath, at: &[String]) -> String {
    let mut written = at.to_vec();
    if let Some(property) = written.get_mut(place.parent.len()) {
        *property = place.reference();
    }
    join(&written)
}

/// The path as it stands in the CRD, where sensitive properties are named otherwise.
pub(super) fn as_written(rules: &[FieldRule], mut path: Vec<String>) -> Vec<String> {
    for place in sensitive_paths(rules) {
        let length = place.parent.len();
        if path.starts_with(&place.parent) && path.get(length) == Some(&place.property) {
            path[length] = place.reference();
        }
    }
    path
}

/// Puts references where sensitive fields stand in the parameters schema.
pub(super) fn put_references(
    parameters: &mut Value,
    rules: &[FieldRule],
    namespaced: bool,
) -> Result<(), Rejection> {
    rules
        .iter()
        .filter(|rule| rule.sensitive)
        .try_for_each(|rule| put_reference(parameters, &rule.path, namespaced))
}

fn put_reference(parameters: &mut Value, path: &str, namespaced: bool) -> Result<(), Rejection> {
    let no_such_field = || Rejection::NoSuchField { path: path.into() };
    let place = SensitivePath::of(path).ok_or_else(no_such_field)?;
    if is_merge_key(parameters, &place) {
        return Err(Rejection::SensitiveMisplaced { path: path.into() });
    }
    let parent = schema::find_mut(parameters, &place.parent).ok_or_else(no_such_field)?;
    let properties = parent
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .ok_or_else(no_such_field)?;
    if properties.contains_key(&place.reference()) {
        return Err(Rejection::NameTaken {
            path: path.into(),
            name: place.reference(),
        });
    }
    let mut field = properties.remove(&place.property).ok_or_else(no_such_field)?;
    let leaf = schema::find_mut(&mut field, &vec![ANY.to_owned(); place.depth]).ok_or_else(no_such_field)?;
    if leaf.get("type").and_then(Value::as_str) != Some("string") {
        return Err(Rejection::SensitiveNotString { path: path.into() });
    }
    *leaf = reference_schema(leaf, namespaced);
    properties.insert(place.reference(), field);
    rename_required(parent, &place.property, &place.reference());
    Ok(())
}

/// Whether it identifies the entries of the list that it stands in.
fn is_merge_key(parameters: &Value, place: &SensitivePath) -> bool {
    place
        .parent
        .split_last()
        .filter(|(last, _)| *last == ANY)
        .and_then(|(_, list)| {
            schema::find(parameters, list)?
                .get("x-kubernetes-list-map-keys")?
                .as_array()
        })
        .is_some_and(|keys| keys.iter().any(|key| *key == place.property))
}

fn reference_schema(value: &Value, namespaced: bool) -> Value {
    let mut properties = json!({
        "name": { "type": "string", "minLength": 1, "description": "Name of the Secret." },
        "key": { "type": "string", "minLength": 1, "description": "Key in the Secret's data." },
    });
    let mut required = vec!["key", "name"];
    if !namespaced {
        properties["namespace"] =
            json!({ "type": "string", "minLength": 1, "description": "Namespace of the Secret." });
        required.push("namespace");
    }
    let mut reference = json!({
        "type": "object",
        "required": required,
        "properties": properties,
        "x-kubernetes-map-type": "atomic",
    });
    if let Some(description) = value.get("description") {
        reference["description"] = description.clone();
    }
    let lies = if namespaced {
        "a Secret in the object's namespace"
    } else {
        "a Secret"
    };
    schema::note(
        &mut reference,
        &format!("Sensitive: the value is read from {lies}."),
    );
    reference
}

/// In the object's own schema, and in what it says of all, any, one or none of its alternatives.
fn rename_required(object: &mut Value, from: &str, to: &str) {
    if let Some(required) = object.get_mut("required").and_then(Value::as_array_mut) {
        for name in required.iter_mut().filter(|name| *name == from) {
            *name = Value::from(to);
        }
    }
    for word in ["allOf", "anyOf", "oneOf"] {
        if let Some(branches) = object.get_mut(word).and_then(Value::as_array_mut) {
            for branch in branches {
                rename_required(branch, from, to);
            }
        }
    }
    if let Some(not) = object.get_mut("not") {
        rename_required(not, from, to);
    }
}
