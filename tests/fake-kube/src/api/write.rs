//! Writes: create, replace, patch, delete, each under its preconditions.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Call, patch};
use crate::{
    reply::{
        Refusal, Reply, already_exists, bad_request, conflict, invalid, modified, not_found, not_implemented,
        ok, rejected,
    },
    resource::{Resource, fill_defaults},
    state::{State, finalizers, instances_of, is_deleting},
};

pub(super) fn create(
    state: &mut State,
    resource: &Resource,
    call: &Call,
    now: Timestamp,
) -> Result<Reply, Refusal> {
    let mut object = call.json(resource)?;
    let name = match object["metadata"]["name"].as_str() {
        Some(name) => name.to_owned(),
        None => match object["metadata"]["generateName"].as_str() {
            Some(prefix) => format!("{prefix}{:05}", state.revision),
            None => {
                return Err(invalid(
                    resource,
                    "",
                    "metadata.name: Required value: name or generateName is required",
                ));
            }
        },
    };
    let place = (call.namespace.clone(), name.clone());
    if resource.namespaced {
        if state.object("namespaces", "", "", &call.namespace).is_none() {
            let namespaces = Resource {
                plural: "namespaces".to_owned(),
                group: String::new(),
                ..resource.clone()
            };
            return Err(not_found(&namespaces, &call.namespace));
        }
        object["metadata"]["namespace"] = call.namespace.clone().into();
    }
    let id = resource.id();
    if state
        .objects
        .get(&id)
        .is_some_and(|objects| objects.contains_key(&place))
    {
        return Err(already_exists(resource, &name));
    }
    object["metadata"]["name"] = name.into();
    in_form(resource, &mut object);
    if resource.has_status {
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        object["metadata"]["generation"] = 1.into();
    }
    if resource.plural == "customresourcedefinitions" {
        establish(state, &mut object);
    }
    Ok(ok(201, state.insert(&id, place, object, call.manager(), now)))
}

/// What the API server says of a new definition. A real one takes a moment.
fn establish(state: &State, definition: &mut Value) {
    let status = if state.slow_definitions { "False" } else { "True" };
    definition["status"] = json!({
        "acceptedNames": definition["spec"]["names"],
        "storedVersions": ["v1alpha1"],
        "conditions": [
            {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found"},
            {"type": "Established", "status": status, "reason": "Initial", "message": "as it is"},
        ],
    });
}

/// API version, kind and defaults.
fn in_form(resource: &Resource, object: &mut Value) {
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.clone().into();
    fill_defaults(&resource.schema, object);
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        for list in ["finalizers", "ownerReferences"] {
            if metadata
                .get(list)
                .and_then(Value::as_array)
                .is_some_and(Vec::is_empty)
            {
                metadata.remove(list);
            }
        }
        for map in ["annotations", "labels"] {
            if metadata
                .get(map)
                .and_then(Value::as_object)
                .is_some_and(serde_json::Map::is_empty)
            {
                metadata.remove(map);
            }
        }
        metadata.retain(|_, value| !value.is_null());
    }
}

pub(super) fn update(
    state: &mut State,
    resource: &Resource,
    call: &Call,
    now: Timestamp,
) -> Result<Reply, Refusal> {
    let new = call.json(resource)?;
    let old = existing(state, resource, call)?;
    let given = new["metadata"]["resourceVersion"].as_str().unwrap_or_default();
    if given.is_empty() {
        return Err(invalid(
            resource,
            &call.name,
            "metadata.resourceVersion: Invalid value: 0: must be specified for an update",
        ));
    }
    check_preconditions(resource, &call.name, &old, &new)?;
    store(state, resource, call, &old, new, now)
}

pub(super) fn patch(
    state: &mut State,
    resource: &Resource,
    call: &Call,
    now: Timestamp,
) -> Result<Reply, Refusal> {
    let change = call.json(resource)?;
    if call.content_type.starts_with("application/apply-patch") {
        return apply(state, resource, call, &change, now);
    }
    let old = existing(state, resource, call)?;
    let mut new = old.clone();
    match call.content_type.as_str() {
        "application/merge-patch+json" => {
            check_preconditions(resource, &call.name, &old, &change)?;
            patch::merge(&mut new, &change);
        }
        "application/json-patch+json" => patch::json(&mut new, &change).map_err(|why| match why {
            patch::Unapplied::Rejected => rejected(resource, &call.name),
            patch::Unapplied::Malformed => bad_request(resource, "a malformed JSON patch"),
        })?,
        _ => return Err(not_implemented("this fake does not know the type of the patch")),
    }
    store(state, resource, call, &old, new, now)
}

/// One manager's apply: fields are merged, lists are taken whole.
fn apply(
    state: &mut State,
    resource: &Resource,
    call: &Call,
    change: &Value,
    now: Timestamp,
) -> Result<Reply, Refusal> {
    let Ok(old) = existing(state, resource, call) else {
        // An apply that names a uid is about an object that exists.
        if !change["metadata"]["uid"].is_null() {
            return Err(conflict(resource, &call.name, "uid mismatch: the object is gone"));
        }
        let mut creation = call.clone();
        creation.body = change.to_string().into_bytes().into();
        return create(state, resource, &creation, now);
    };
    check_preconditions(resource, &call.name, &old, change)?;
    let mut new = old.clone();
    patch::merge(&mut new, change);
    store(state, resource, call, &old, new, now)
}

fn existing(state: &State, resource: &Resource, call: &Call) -> Result<Value, Refusal> {
    state
        .objects
        .get(&resource.id())
        .and_then(|objects| objects.get(&call.place()))
        .cloned()
        .ok_or_else(|| not_found(resource, &call.name))
}

/// A version or a uid that is given must be the object's.
fn check_preconditions(resource: &Resource, name: &str, old: &Value, given: &Value) -> Result<(), Refusal> {
    let uid = given["metadata"]["uid"].as_str();
    if uid.is_some_and(|uid| old["metadata"]["uid"] != uid) {
        return Err(conflict(
            resource,
            name,
            "Precondition failed: UID in precondition does not match the UID in object meta",
        ));
    }
    let version = given["metadata"]["resourceVersion"].as_str();
    if version.is_some_and(|version| !version.is_empty() && old["metadata"]["resourceVersion"] != version) {
        return Err(modified(resource, name));
    }
    Ok(())
}

/// Brings the new form in: each of the two halves of an object has its own way, and what the API server owns stays.
fn store(
    state: &mut State,
    resource: &Resource,
    call: &Call,
    old: &Value,
    mut new: Value,
    now: Timestamp,
) -> Result<Reply, Refusal> {
    in_form(resource, &mut new);
    if call.subresource == "status" {
        let status = new["status"].clone();
        new.clone_from(old);
        if status.is_null() {
            if let Some(fields) = new.as_object_mut() {
                fields.remove("status");
            }
        } else {
            new["status"] = status;
        }
    } else if resource.has_status {
        match old.get("status") {
            Some(status) => new["status"] = status.clone(),
            None => drop(new.as_object_mut().and_then(|fields| fields.remove("status"))),
        }
    }
    for owned in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "namespace",
        "name",
    ] {
        match old["metadata"].get(owned) {
            Some(value) => new["metadata"][owned] = value.clone(),
            None => drop(
                new["metadata"]
                    .as_object_mut()
                    .and_then(|metadata| metadata.remove(owned)),
            ),
        }
    }
    let grew = |finalizer: &&str| !finalizers(old).contains(finalizer);
    if is_deleting(old) && finalizers(&new).iter().any(grew) {
        return Err(invalid(
            resource,
            &call.name,
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted",
        ));
    }
    let generation = old["metadata"]["generation"].as_i64();
    if let Some(generation) = generation.filter(|_| desired(&new) != desired(old)) {
        new["metadata"]["generation"] = (generation + 1).into();
    }
    let stored = state.replace(&resource.id(), &call.place(), new, call.manager(), now);
    Ok(ok(200, stored))
}

/// What counts as a generation: everything but metadata and status.
fn desired(object: &Value) -> Value {
    let mut desired = object.clone();
    if let Some(fields) = desired.as_object_mut() {
        fields.remove("metadata");
        fields.remove("status");
    }
    desired
}

pub(super) fn delete(
    state: &mut State,
    resource: &Resource,
    call: &Call,
    now: Timestamp,
) -> Result<Reply, Refusal> {
    let object = existing(state, resource, call)?;
    let options = if call.body.is_empty() {
        Value::Null
    } else {
        call.json(resource)?
    };
    for (field, reason) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let wanted = &options["preconditions"][field];
        if !wanted.is_null() && *wanted != object["metadata"][field] {
            let why = format!(
                "Precondition failed: {reason} in precondition does not match the {reason} in object meta"
            );
            return Err(conflict(resource, &call.name, &why));
        }
    }
    if resource.plural == "customresourcedefinitions" {
        return Ok(ok(200, delete_definition(state, resource, call, &object, now)));
    }
    let last = state.begin_deletion(&resource.id(), &call.place(), now);
    Ok(ok(200, last))
}

/// Its instances go first, those with finalizers when these are gone.
fn delete_definition(
    state: &mut State,
    resource: &Resource,
    call: &Call,
    definition: &Value,
    now: Timestamp,
) -> Value {
    let mut marked = definition.clone();
    marked["metadata"]["deletionTimestamp"] = format!("{now:.0}").into();
    marked["metadata"]["finalizers"] = json!(["customresourcecleanup.apiextensions.k8s.io"]);
    let terminating = json!({"type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress", "message": ""});
    if let Some(conditions) = marked["status"]["conditions"].as_array_mut() {
        conditions.push(terminating);
    }
    let marked = state.replace(&resource.id(), &call.place(), marked, "", now);
    let instances = instances_of(definition);
    let places: Vec<_> = state
        .objects
        .get(&instances)
        .map(|objects| objects.keys().cloned().collect())
        .unwrap_or_default();
    for place in places {
        state.begin_deletion(&instances, &place, now);
    }
    state.finish_definitions(now);
    marked
}
