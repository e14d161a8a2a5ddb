//! Answers, as the API server puts them.

use serde_json::{Value, json};

use crate::{owners::FieldConflict, resource::Resource, schema::Violation};

/// What a request came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) body: Body,
    /// The `Retry-After` header, in seconds.
    pub(crate) retry_after: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Json(Value),
    Text(&'static str),
}

/// A reply that rejects the request, mostly with a `Status`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErrorReply(pub(crate) Reply);

impl From<ErrorReply> for Reply {
    fn from(refusal: ErrorReply) -> Self {
        refusal.0
    }
}

pub(crate) fn ok(code: u16, body: Value) -> Reply {
    Reply {
        code,
        body: Body::Json(body),
        retry_after: None,
    }
}

/// A `Status` of a failure. `name`: of the object, where the answer speaks of one.
pub(crate) fn status(code: u16, reason: &str, message: &str, resource: &Resource, name: &str) -> ErrorReply {
    let mut details = json!({});
    for (field, value) in [
        ("name", name),
        ("group", &resource.group),
        ("kind", &resource.plural),
    ] {
        if !value.is_empty() {
            details[field] = value.into();
        }
    }
    ErrorReply(ok(
        code,
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "details": details,
            "code": code,
        }),
    ))
}

fn about(resource: &Resource, name: &str) -> String {
    let group = if resource.group.is_empty() {
        String::new()
    } else {
        format!(".{}", resource.group)
    };
    format!("{}{group} \"{name}\"", resource.plural)
}

pub(crate) fn not_found(resource: &Resource, name: &str) -> ErrorReply {
    let message = format!("{} not found", about(resource, name));
    status(404, "NotFound", &message, resource, name)
}

/// `deleting`: its deletion has begun.
pub(crate) fn already_exists(resource: &Resource, name: &str, deleting: bool) -> ErrorReply {
    let why = if deleting { "object is being deleted: " } else { "" };
    let message = format!("{why}{} already exists", about(resource, name));
    status(409, "AlreadyExists", &message, resource, name)
}

pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> ErrorReply {
    let message = format!(
        "Operation cannot be fulfilled on {}: {why}",
        about(resource, name)
    );
    status(409, "Conflict", &message, resource, name)
}

/// An apply without force of what other managers own.
pub(crate) fn owned_by_others(resource: &Resource, name: &str, conflicts: &[FieldConflict]) -> ErrorReply {
    let fields: Vec<String> = conflicts
        .iter()
        .map(|conflict| format!("conflict with {:?}: {}", conflict.manager, conflict.field))
        .collect();
    let count = conflicts.len();
    let plural = if count == 1 { "conflict" } else { "conflicts" };
    let message = format!("Apply failed with {count} {plural}: {}", fields.join(", "));
    let mut reply = status(409, "Conflict", &message, resource, name);
    if let Body::Json(body) = &mut reply.0.body {
        let causes = conflicts.iter().map(|conflict| {
            json!({
                "reason": "FieldManagerConflict", "field": conflict.field,
                "message": format!("conflict with {:?}", conflict.manager),
            })
        });
        body["details"] = json!({"causes": causes.collect::<Vec<_>>()});
    }
    reply
}

/// Refused by a policy.
pub(crate) fn forbidden(resource: &Resource, name: &str, why: &str) -> ErrorReply {
    let message = format!("{} is forbidden: {why}", about(resource, name));
    status(403, "Forbidden", &message, resource, name)
}

pub(crate) fn modified(resource: &Resource, name: &str) -> ErrorReply {
    conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

/// Where an object is rejected, the answer gives the kind in place of the plural.
fn by_kind(resource: &Resource) -> Resource {
    Resource {
        plural: resource.kind.clone(),
        ..resource.clone()
    }
}

pub(crate) fn invalid(resource: &Resource, name: &str, why: &str) -> ErrorReply {
    let resource = by_kind(resource);
    let message = format!("{} is invalid: {why}", about(&resource, name));
    status(422, "Invalid", &message, &resource, name)
}

/// A replacement that names no version: here the answer gives the plural all the same.
pub(crate) fn invalid_version(resource: &Resource, name: &str) -> ErrorReply {
    let why = "Invalid value: 0: must be specified for an update";
    let field = "metadata.resourceVersion";
    let message = format!("{} is invalid: {field}: {why}", about(resource, name));
    let refusal = status(422, "Invalid", &message, resource, name);
    because(
        refusal,
        json!([{"reason": "FieldValueInvalid", "message": why, "field": field}]),
    )
}

/// The patched object cannot be read.
pub(crate) fn unreadable_patch(why: &str) -> ErrorReply {
    let refusal = without_details(
        422,
        "Invalid",
        &format!(" \"\" is invalid: patch: Invalid value: {why}"),
    );
    because(
        refusal,
        json!([{"reason": "FieldValueInvalid", "message": why, "field": "patch"}]),
    )
}

fn because(mut refusal: ErrorReply, causes: Value) -> ErrorReply {
    if let Body::Json(body) = &mut refusal.0.body {
        body["details"]["causes"] = causes;
    }
    refusal
}

/// # Errors
/// The rejection of the object, with all of its violations.
pub(crate) fn violated(resource: &Resource, name: &str, violations: &[Violation]) -> Result<(), ErrorReply> {
    if violations.is_empty() {
        return Ok(());
    }
    let why: Vec<String> = violations
        .iter()
        .map(|one| format!("{}: {}", one.field, one.message))
        .collect();
    let causes = violations
        .iter()
        .map(|one| json!({"reason": one.reason, "message": one.message, "field": one.field}));
    Err(because(
        invalid(resource, name, &why.join(", ")),
        causes.collect(),
    ))
}

/// A rejection that names no object.
pub(crate) fn bad_request(why: &str) -> ErrorReply {
    without_details(400, "BadRequest", why)
}

/// The API server's answer to a failed test of a JSON patch, without its reason.
pub(crate) fn rejected() -> ErrorReply {
    without_details(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
    )
}

fn without_details(code: u16, reason: &str, message: &str) -> ErrorReply {
    ErrorReply(ok(
        code,
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }),
    ))
}

/// `verb`: as in RBAC.
pub(crate) fn method_not_allowed(resource: &Resource, verb: &str) -> ErrorReply {
    let message = format!(
        "{verb} is not supported on resources of kind \"{}.{}\"",
        resource.plural, resource.group
    );
    status(405, "MethodNotAllowed", &message, resource, "")
}

/// Nothing new comes into a namespace that is being deleted.
pub(crate) fn terminating(resource: &Resource, namespace: &str, name: &str) -> ErrorReply {
    let message = format!(
        "{} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
        about(resource, name)
    );
    let cause = json!({
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    });
    because(status(403, "Forbidden", &message, resource, name), json!([cause]))
}

/// An object is deleted for good.
pub(crate) fn deleted(resource: &Resource, name: &str, object: &Value) -> Reply {
    ok(
        200,
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": {
                "name": name, "group": resource.group, "kind": resource.plural, "uid": object["metadata"]["uid"],
            },
        }),
    )
}

/// The API server's answer to a path that it does not serve.
pub(crate) fn not_served() -> ErrorReply {
    ErrorReply(Reply {
        code: 404,
        body: Body::Text("404 page not found\n"),
        retry_after: None,
    })
}

/// What a real API server serves and this fake does not.
pub(crate) fn not_implemented(what: &'static str) -> ErrorReply {
    ErrorReply(Reply {
        code: 501,
        body: Body::Text(what),
        retry_after: None,
    })
}

pub(crate) fn expired(resource: &Resource) -> Value {
    let ErrorReply(reply) = status(
        410,
        "Expired",
        "The resourceVersion for the provided watch is too old.",
        resource,
        "",
    );
    match reply.body {
        Body::Json(body) => body,
        Body::Text(_) => Value::Null,
    }
}
