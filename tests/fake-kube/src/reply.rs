//! Answers, as the API server puts them.

use serde_json::{Value, json};

use crate::resource::Resource;

/// What a request came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Reply {
    pub(crate) code: u16,
    pub(crate) body: Body,
    /// Seconds.
    pub(crate) retry_after: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    Json(Value),
    Text(&'static str),
}

/// A refusal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Refusal(pub(crate) Reply);

impl From<Refusal> for Reply {
    fn from(refusal: Refusal) -> Self {
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

/// A `Status` that says no. `name`: of the object, where the answer speaks of one.
pub(crate) fn status(code: u16, reason: &str, message: &str, resource: &Resource, name: &str) -> Refusal {
    let mut details = json!({"group": resource.group, "kind": resource.plural});
    if !name.is_empty() {
        details["name"] = name.into();
    }
    Refusal(ok(
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

pub(crate) fn not_found(resource: &Resource, name: &str) -> Refusal {
    let message = format!("{} not found", about(resource, name));
    status(404, "NotFound", &message, resource, name)
}

pub(crate) fn already_exists(resource: &Resource, name: &str) -> Refusal {
    let message = format!("{} already exists", about(resource, name));
    status(409, "AlreadyExists", &message, resource, name)
}

pub(crate) fn conflict(resource: &Resource, name: &str, why: &str) -> Refusal {
    let message = format!(
        "Operation cannot be fulfilled on {}: {why}",
        about(resource, name)
    );
    status(409, "Conflict", &message, resource, name)
}

pub(crate) fn modified(resource: &Resource, name: &str) -> Refusal {
    conflict(
        resource,
        name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}

pub(crate) fn invalid(resource: &Resource, name: &str, why: &str) -> Refusal {
    let message = format!("{} is invalid: {why}", about(resource, name));
    status(422, "Invalid", &message, resource, name)
}

pub(crate) fn bad_request(resource: &Resource, why: &str) -> Refusal {
    status(400, "BadRequest", why, resource, "")
}

/// So the API server says that a test of a JSON patch failed, and no more.
pub(crate) fn rejected(resource: &Resource, name: &str) -> Refusal {
    let message = "the server rejected our request due to an error in our request";
    status(422, "Invalid", message, resource, name)
}

/// No such path.
pub(crate) fn not_served() -> Refusal {
    Refusal(Reply {
        code: 404,
        body: Body::Text("404 page not found\n"),
        retry_after: None,
    })
}

/// This fake does not know how.
pub(crate) fn not_implemented(what: &'static str) -> Refusal {
    Refusal(Reply {
        code: 501,
        body: Body::Text(what),
        retry_after: None,
    })
}

pub(crate) fn expired(resource: &Resource) -> Value {
    let Refusal(reply) = status(
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
