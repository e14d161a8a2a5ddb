//! The form of objects: as they are read from a request, and as they are stored.

use serde_json::Value;

use super::write::Half;
use crate::{
    metadata,
    reply::{ErrorReply, bad_request},
    resource::Resource,
    schema::{self, Violation},
};

/// Set by the API server alone.
const OWNED: [&str; 2] = ["creationTimestamp", "generation"];

/// Reads an object from a request. A custom resource must hold kind and apiVersion; built-in kinds need not.
pub(super) fn read(resource: &Resource, mut object: Value) -> Result<Value, ErrorReply> {
    if !object.is_object() {
        return Err(bad_request("the body is no object"));
    }
    if resource.custom {
        for (field, expected) in [("kind", &resource.kind), ("apiVersion", &resource.api_version())] {
            if object[field] != **expected {
                return Err(bad_request(&format!(
                    "{field} must be {expected}, not {}",
                    object[field]
                )));
            }
        }
        schema::coerce(&resource.schema, &mut object);
        object["metadata"] = metadata::read(&object["metadata"]).map_err(|why| bad_request(&why))?;
        return Ok(object);
    }
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = resource.kind.clone().into();
    schema::print_numbers(&mut object);
    if let Ok(read) = metadata::read(&object["metadata"]) {
        object["metadata"] = read;
    }
    Ok(object)
}

/// What an apply is about: of an object with a status of its own, all but that.
pub(super) fn applied(resource: &Resource, change: &Value) -> Value {
    let mut applied = change.clone();
    if resource.has_status {
        super::write::remove(&mut applied, "status");
    }
    applied
}

/// A name or namespace that an object gives must be that of the request.
pub(super) fn must_agree(object: &Value, field: &str, asked: &str) -> Result<(), ErrorReply> {
    match object["metadata"][field].as_str() {
        Some(given) if given != asked => Err(bad_request(&format!(
            "the {field} of the object ({given}) does not match the {field} of the request ({asked})"
        ))),
        _ => Ok(()),
    }
}

/// Removes what a creation may hold and does not count.
pub(super) fn forget_what_the_server_sets(object: &mut Value) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for field in [
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "selfLink",
        ] {
            metadata.remove(field);
        }
    }
}

/// Restores what an update may hold and does not count, and what it may leave out.
pub(super) fn keep_what_the_server_sets(new: &mut Value, old: &Value) {
    let (Some(new), Some(old)) = (new["metadata"].as_object_mut(), old["metadata"].as_object()) else {
        return;
    };
    let mut keep = |field: &str, given: bool| match old.get(field) {
        Some(value) if given || !new.contains_key(field) => drop(new.insert(field.to_owned(), value.clone())),
        None if given => drop(new.remove(field)),
        _ => {}
    };
    for field in OWNED {
        keep(field, true);
    }
    // A deletion that has begun stays as it is; one that has not, no update begins.
    keep("deletionTimestamp", old.contains_key("deletionTimestamp"));
    for field in ["uid", "deletionGracePeriodSeconds", "namespace", "name"] {
        keep(field, false);
    }
    keep("resourceVersion", true);
}

/// What counts as a generation: everything but metadata.
pub(super) fn desired(object: &Value) -> Value {
    let mut desired = object.clone();
    super::write::remove(&mut desired, "metadata");
    desired
}

/// What is wrong with an object; `old`: which half of what it replaces.
pub(super) fn violations(resource: &Resource, new: &Value, old: Option<(&Value, Half)>) -> Vec<Violation> {
    let mut found = metadata::violations(&new["metadata"], old.map(|(old, _)| &old["metadata"]));
    if !resource.custom {
        return found;
    }
    match old {
        Some((_, Half::Status)) => {
            let schema = &resource.schema["properties"]["status"];
            if let Some(status) = new.get("status").filter(|_| !schema.is_null()) {
                found.extend(schema::violations(schema, status, "status"));
            }
        }
        Some((_, Half::Rest)) | None => found.extend(schema::violations(&resource.schema, new, "")),
    }
    found
}

/// An object as it is read back: what is stored may lack defaults, and hold what the schema no longer knows.
pub(crate) fn shown(resource: &Resource, stored: &Value) -> Value {
    let mut object = stored.clone();
    if resource.custom {
        // Without a webhook versions differ in their name alone.
        object["apiVersion"] = resource.api_version().into();
        schema::coerce(&resource.schema, &mut object);
    }
    object
}
