//! Deletion, under its preconditions.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Call, form, namespaces, write::existing};
use crate::{
    admission,
    collector::{FOREGROUND, ORPHAN},
    reply::{ErrorReply, Reply, conflict, deleted, ok},
    resource::Resource,
    state::{ClusterState, finalizers, instances_of, is_deleting},
};

pub(super) fn delete(
    state: &mut ClusterState,
    resource: &Resource,
    call: &Call,
    now: Timestamp,
) -> Result<Reply, ErrorReply> {
    let object = existing(state, resource, call)?;
    let options = if call.body.is_empty() {
        Value::Null
    } else {
        call.json()?
    };
    check(resource, &call.name, &object, &options["preconditions"])?;
    admission::may_delete(state, resource, &object)?;
    if resource.plural == "customresourcedefinitions" {
        return Ok(ok(200, delete_definition(state, resource, call, &object, now)));
    }
    if resource.plural == "namespaces" {
        return Ok(ok(200, namespaces::delete(state, resource, call, &object, now)));
    }
    let policy = options["propagationPolicy"].as_str();
    let policy = policy
        .or_else(|| call.parameter("propagationPolicy"))
        .unwrap_or_default();
    let after = finalizers_after(&object, policy);
    let mut marked = object.clone();
    if finalizers(&object) != after {
        marked["metadata"]["finalizers"] = json!(after);
    }
    if after.is_empty() {
        state.remove(&resource.id(), &call.storage_key(), None, "", now);
        return Ok(deleted(resource, &call.name, &object));
    }
    if !is_deleting(&object) {
        ClusterState::mark(&mut marked, now);
    }
    let stored = state.replace(&resource.id(), &call.storage_key(), marked, "", now);
    Ok(ok(200, form::shown(resource, &stored)))
}

fn check(resource: &Resource, name: &str, object: &Value, preconditions: &Value) -> Result<(), ErrorReply> {
    for (field, word, meaning) in [
        (
            "uid",
            "UID",
            "The object might have been deleted and then recreated",
        ),
        (
            "resourceVersion",
            "ResourceVersion",
            "The object might have been modified",
        ),
    ] {
        let (Some(wanted), Some(own)) = (preconditions[field].as_str(), object["metadata"][field].as_str())
        else {
            continue;
        };
        if wanted != own {
            let why = format!(
                "the {word} in the precondition ({wanted}) does not match the {word} in record ({own}). {meaning}"
            );
            // The real one names it by kind here, and not by plural.
            let by_kind = Resource {
                plural: resource.kind.clone(),
                ..resource.clone()
            };
            return Err(conflict(&by_kind, name, &why));
        }
    }
    Ok(())
}

/// A policy takes off the finalizers of others, and puts on its own.
fn finalizers_after<'a>(object: &'a Value, policy: &str) -> Vec<&'a str> {
    let mut after = finalizers(object);
    let own = match policy {
        "Orphan" => Some(ORPHAN),
        "Foreground" => Some(FOREGROUND),
        "Background" => None,
        // None is given: what there is stays.
        _ => return after,
    };
    if own.is_some_and(|own| after.contains(&own))
        && !after.iter().any(|one| is_of_policy(one) && Some(*one) != own)
    {
        return after;
    }
    after.retain(|one| !is_of_policy(one));
    after.extend(own);
    after
}

fn is_of_policy(finalizer: &str) -> bool {
    [ORPHAN, FOREGROUND].contains(&finalizer)
}

/// Its instances go first, those with finalizers when these are deleted.
fn delete_definition(
    state: &mut ClusterState,
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
    let marked = state.replace(&resource.id(), &call.storage_key(), marked, "", now);
    let instances = instances_of(definition);
    let places: Vec<_> = state
        .objects
        .get(&instances)
        .map(|objects| objects.keys().cloned().collect())
        .unwrap_or_default();
    for storage_key in places {
        state.begin_deletion(&instances, &storage_key, now);
    }
    state.finish_definitions(now);
    marked
}
