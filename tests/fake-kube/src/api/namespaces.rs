//! Namespaces: what may be written in them, and how they end.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Call, write::existing};
use crate::{
    reply::{ErrorReply, Reply, not_found, ok, terminating},
    resource::{Resource, built_in},
    state::{ClusterState, is_deleting},
};

/// The finalizer of the content, kept in `spec`.
const CONTENT: &str = "kubernetes";

/// A new one, as the API server fills it in.
pub(crate) fn begin(namespace: &mut Value, name: &str) {
    namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name.into();
    namespace["spec"] = json!({"finalizers": [CONTENT]});
    namespace["status"] = json!({"phase": "Active"});
}

/// Nothing is written in a namespace that is not there, and nothing new in one that is being deleted.
pub(super) fn may_write(
    state: &ClusterState,
    resource: &Resource,
    namespace: &str,
    name: &str,
    new: bool,
) -> Result<(), ErrorReply> {
    let Some(found) = state.object("namespaces", "", "", namespace) else {
        let namespaces = built_in().into_iter().find(|one| one.plural == "namespaces");
        return Err(not_found(
            &namespaces.unwrap_or_else(|| resource.clone()),
            namespace,
        ));
    };
    if new && is_deleting(found) {
        return Err(terminating(resource, namespace, name));
    }
    Ok(())
}

/// Takes `spec.finalizers` as they are given. It is not checked whether the namespace is empty: what is in it stays where it is.
pub(super) fn finalize(
    state: &mut ClusterState,
    resource: &Resource,
    call: &Call,
    given: &Value,
    now: Timestamp,
) -> Result<Reply, ErrorReply> {
    let mut new = existing(state, resource, call)?;
    match given["spec"]
        .get("finalizers")
        .filter(|finalizers| finalizers.as_array().is_some_and(|all| !all.is_empty()))
    {
        Some(finalizers) => new["spec"]["finalizers"] = finalizers.clone(),
        None => new["spec"] = json!({}),
    }
    let (id, storage_key) = (resource.id(), call.storage_key());
    if is_deleting(&new) && new["spec"]["finalizers"].is_null() {
        state.remove(&id, &storage_key, None, call.manager(), now);
        return Ok(ok(200, new));
    }
    Ok(ok(
        200,
        state.replace(&id, &storage_key, new, call.manager(), now),
    ))
}

/// Begins to delete one: its content holds it.
pub(super) fn delete(
    state: &mut ClusterState,
    resource: &Resource,
    call: &Call,
    namespace: &Value,
    now: Timestamp,
) -> Value {
    if namespace["spec"]["finalizers"].is_null() {
        return state.begin_deletion(&resource.id(), &call.storage_key(), now);
    }
    if is_deleting(namespace) {
        return namespace.clone();
    }
    let mut marked = namespace.clone();
    marked["metadata"]["deletionTimestamp"] = format!("{now:.0}").into();
    marked["status"]["phase"] = "Terminating".into();
    state.replace(&resource.id(), &call.storage_key(), marked, call.manager(), now)
}
