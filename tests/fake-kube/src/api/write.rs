//! Writes of what there is to be: create, replace, patch, each under its preconditions.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Call, form, namespaces, patch};
use crate::{
    owners::{self, Writer},
    reply::{
        ErrorReply, Reply, already_exists, bad_request, conflict, invalid, invalid_version, modified,
        not_found, not_implemented, ok, owned_by_others, rejected, unreadable_patch, violated,
    },
    resource::Resource,
    state::{ClusterState, is_deleting},
};

pub(super) fn create(
    state: &mut ClusterState,
    resource: &Resource,
    call: &Call,
    now: Timestamp,
) -> Result<Reply, ErrorReply> {
    let mut object = form::read(resource, call.json()?)?;
    form::must_agree(&object, "namespace", &call.namespace)?;
    let name = match object["metadata"]["name"].as_str() {
        Some(name) => name.to_owned(),
        None => object["metadata"]["generateName"]
            .as_str()
            .map(|prefix| format!("{prefix}{:05}", state.revision))
            .unwrap_or_default(),
    };
    let storage_key = (call.namespace.clone(), name.clone());
    if resource.namespaced {
        namespaces::may_write(state, resource, &call.namespace, &name, true)?;
        object["metadata"]["namespace"] = call.namespace.clone().into();
    }
    if !name.is_empty() {
        object["metadata"]["name"] = name.clone().into();
    }
    form::forget_what_the_server_sets(&mut object);
    if resource.has_status {
        remove(&mut object, "status");
    }
    if resource.has_generation() {
        object["metadata"]["generation"] = 1.into();
    }
    if name.is_empty() {
        let why = "metadata.name: Required value: name or generateName is required";
        return Err(invalid(resource, "", why));
    }
    if resource.custom {
        violated(resource, &name, &form::violations(resource, &object, None))?;
    }
    if resource.plural == "customresourcedefinitions" {
        establish(state, &mut object);
    }
    if resource.plural == "namespaces" {
        namespaces::begin(&mut object, &name);
    }
    let id = resource.id();
    let there = state
        .objects
        .get(&id)
        .and_then(|objects| objects.get(&storage_key));
    if let Some(there) = there {
        return Err(already_exists(resource, &name, is_deleting(there)));
    }
    own(state, resource, call, &json!({}), &mut object, Vec::new(), now);
    let stored = state.insert(&id, storage_key, object, call.manager(), now);
    Ok(ok(201, form::shown(resource, &stored)))
}

/// The status that the API server gives a new definition. A real one takes a moment.
fn establish(state: &ClusterState, definition: &mut Value) {
    let status = if state.slow_definitions { "False" } else { "True" };
    let mut versions = definition["spec"]["versions"].as_array().into_iter().flatten();
    let stored = versions
        .find(|version| version["storage"] == true)
        .map(|version| &version["name"]);
    let status = json!({
        "acceptedNames": definition["spec"]["names"],
        "storedVersions": [stored.unwrap_or(&Value::Null)],
        "conditions": [
            {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"},
            {"type": "Established", "status": status, "reason": "Initial", "message": "as it is"},
        ],
    });
    definition["status"] = status;
}

pub(super) fn update(
    state: &mut ClusterState,
    resource: &Resource,
    call: &Call,
    now: Timestamp,
) -> Result<Reply, ErrorReply> {
    let new = form::read(resource, call.json()?)?;
    form::must_agree(&new, "namespace", &call.namespace)?;
    form::must_agree(&new, "name", &call.name)?;
    if call.subresource == "finalize" {
        return namespaces::finalize(state, resource, call, &new, now);
    }
    let old = existing(state, resource, call)?;
    check_uid(resource, &call.name, &old, &new)?;
    if resource.namespaced {
        namespaces::may_write(state, resource, &call.namespace, &call.name, false)?;
    }
    let given = new["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if given.is_empty() {
        return Err(invalid_version(resource, &call.name));
    }
    check_version(resource, &call.name, &old, &new)?;
    let entries = owners::base(&new, &old);
    store(state, resource, call, &old, new, Some(entries), now)
}

pub(super) fn patch(
    state: &mut ClusterState,
    resource: &Resource,
    call: &Call,
    now: Timestamp,
) -> Result<Reply, ErrorReply> {
    let change = call.json()?;
    if call.applies() {
        return apply(state, resource, call, &change, now);
    }
    let old = existing(state, resource, call)?;
    let mut new = old.clone();
    match call.content_type.as_str() {
        "application/merge-patch+json" => patch::merge(&mut new, &change),
        "application/json-patch+json" => patch::json(&mut new, &change).map_err(|why| match why {
            patch::Unapplied::Rejected => rejected(),
            patch::Unapplied::Malformed => bad_request("a malformed JSON patch"),
        })?,
        _ => return Err(not_implemented("this fake does not know the type of the patch")),
    }
    let new = form::read(resource, new).map_err(|_| unreadable_patch("the patched object cannot be read"))?;
    if resource.namespaced {
        namespaces::may_write(state, resource, &call.namespace, &call.name, false)?;
    }
    // A patch that takes the version away is about whichever there is.
    check_version(resource, &call.name, &old, &new)?;
    let entries = owners::base(&new, &old);
    store(state, resource, call, &old, new, Some(entries), now)
}

/// One manager's apply: what it applied before, and nobody else owns, goes if it is applied no more.
fn apply(
    state: &mut ClusterState,
    resource: &Resource,
    call: &Call,
    change: &Value,
    now: Timestamp,
) -> Result<Reply, ErrorReply> {
    let Ok(old) = existing(state, resource, call) else {
        // An apply that names a uid is about an object that exists.
        if !change["metadata"]["uid"].is_null() {
            return Err(conflict(resource, &call.name, "uid mismatch: the object is gone"));
        }
        let mut creation = call.clone();
        creation.body = change.to_string().into_bytes().into();
        return create(state, resource, &creation, now);
    };
    if !change["metadata"]["managedFields"].is_null() {
        return Err(bad_request("metadata.managedFields must be nil"));
    }
    let api_version = resource.api_version();
    let writer = Writer::apply(call.manager(), &api_version, now);
    let entries = owners::base(&Value::Null, &old);
    let applied = form::applied(resource, change);
    let mut new = old.clone();
    owners::merge(&mut new, &applied);
    for field in ["uid", "resourceVersion"] {
        // These are compared, and owned by nobody.
        if let Some(given) = change["metadata"].get(field) {
            new["metadata"][field] = given.clone();
        }
    }
    if !state.no_owners {
        owners::prune(&mut new, &entries, &applied, &writer);
    }
    let mut new = form::read(resource, new)?;
    check_version(resource, &call.name, &old, &new)?;
    // Where an update is about another object, an apply changes what cannot be changed.
    let uid = &change["metadata"]["uid"];
    if !uid.is_null() && *uid != old["metadata"]["uid"] {
        let why = format!("metadata.uid: Invalid value: {uid}: field is immutable");
        return Err(invalid(resource, &call.name, &why));
    }
    if !state.no_owners {
        let force = call.parameter("force") == Some("true");
        let entries = owners::applied(entries, &old, &new, &applied, &writer, force);
        let entries = entries.map_err(|conflicts| owned_by_others(resource, &call.name, &conflicts))?;
        new["metadata"]["managedFields"] = json!(entries);
    }
    store(state, resource, call, &old, new, None, now)
}

/// Notes down who owns what, after a write that is no apply. `entries`: before it.
fn own(
    state: &ClusterState,
    resource: &Resource,
    call: &Call,
    old: &Value,
    new: &mut Value,
    entries: Vec<Value>,
    now: Timestamp,
) {
    if state.no_owners {
        remove(&mut new["metadata"], "managedFields");
        return;
    }
    let api_version = resource.api_version();
    let writer = if call.applies() {
        Writer::apply(call.manager(), &api_version, now)
    } else {
        Writer::update(call.manager(), &api_version, &call.subresource, now)
    };
    let entries = owners::updated(entries, old, new, &writer);
    if entries.is_empty() {
        remove(&mut new["metadata"], "managedFields");
    } else {
        new["metadata"]["managedFields"] = json!(entries);
    }
}

pub(super) fn existing(state: &ClusterState, resource: &Resource, call: &Call) -> Result<Value, ErrorReply> {
    state
        .objects
        .get(&resource.id())
        .and_then(|objects| objects.get(&call.storage_key()))
        .map(|object| form::shown(resource, object))
        .ok_or_else(|| not_found(resource, &call.name))
}

/// A uid that is given must be the object's.
fn check_uid(resource: &Resource, name: &str, old: &Value, given: &Value) -> Result<(), ErrorReply> {
    let (uid, own) = (given["metadata"]["uid"].as_str(), old["metadata"]["uid"].as_str());
    match (uid, own.unwrap_or_default()) {
        (Some(uid), own) if !uid.is_empty() && uid != own => {
            let folder = [resource.group.as_str(), resource.plural.as_str()].join("/");
            let namespace = old["metadata"]["namespace"].as_str().unwrap_or_default();
            let key = format!("/registry/{}/{namespace}/{name}", folder.trim_start_matches('/'));
            let key = key.replace("//", "/");
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {own}"
            );
            Err(conflict(resource, name, &why))
        }
        _ => Ok(()),
    }
}

/// A resource version that is given must be the object's.
fn check_version(resource: &Resource, name: &str, old: &Value, given: &Value) -> Result<(), ErrorReply> {
    let version = given["metadata"]["resourceVersion"].as_str();
    if version.is_some_and(|version| !version.is_empty() && old["metadata"]["resourceVersion"] != version) {
        return Err(modified(resource, name));
    }
    Ok(())
}

/// Stores the new form: each of the two halves of an object is written on its own, and what the API server owns stays. `entries`: who owned what
/// before a write; `None`: that of an apply is reckoned already.
fn store(
    state: &mut ClusterState,
    resource: &Resource,
    call: &Call,
    old: &Value,
    mut new: Value,
    entries: Option<Vec<Value>>,
    now: Timestamp,
) -> Result<Reply, ErrorReply> {
    let half = if call.subresource == "status" {
        Half::Status
    } else {
        Half::Rest
    };
    match half {
        Half::Status => {
            let status = new.get("status").cloned();
            new.clone_from(old);
            put(&mut new, "status", status);
        }
        Half::Rest if resource.has_status => put(&mut new, "status", old.get("status").cloned()),
        Half::Rest => {}
    }
    form::keep_what_the_server_sets(&mut new, old);
    if resource.has_generation() && form::desired(&new) != form::desired(old) && half == Half::Rest {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
        new["metadata"]["generation"] = (generation + 1).into();
    }
    let wrong = form::violations(resource, &new, Some((old, half)));
    violated(resource, &call.name, &wrong)?;
    if let Some(entries) = entries {
        own(state, resource, call, old, &mut new, entries, now);
    }
    let stored = state.replace(&resource.id(), &call.storage_key(), new, call.manager(), now);
    Ok(ok(200, form::shown(resource, &stored)))
}

/// Which half of an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Half {
    Status,
    Rest,
}

fn put(object: &mut Value, field: &str, value: Option<Value>) {
    match value {
        Some(value) => object[field] = value,
        None => remove(object, field),
    }
}

pub(super) fn remove(object: &mut Value, field: &str) {
    if let Some(fields) = object.as_object_mut() {
        fields.remove(field);
    }
}
