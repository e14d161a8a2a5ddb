//! Schemas of the fields that Crossplane adds to each composite resource and claim, to the letter.

use serde_json::{Map, Value, json};

use crate::definition::{DeletePolicy, UpdatePolicy};

/// References and selectors, which composite resources and claims have in common.
pub(super) fn choice(default_update_policy: Option<UpdatePolicy>) -> Map<String, Value> {
    let mut policy = json!({ "type": "string", "enum": ["Automatic", "Manual"] });
    if let Some(default) = default_update_policy {
        policy["default"] = json!(default.as_str());
    }
    fields([
        ("compositionRef", reference(&["name"])),
        ("compositionSelector", selector()),
        ("compositionRevisionRef", reference(&["name"])),
        ("compositionRevisionSelector", selector()),
        ("compositionUpdatePolicy", policy),
    ])
}

/// References to what is composed. Those of a composite resource in a namespace are to its own namespace.
pub(super) fn resource_refs(has_namespace: bool) -> Value {
    let mut properties = json!({
        "apiVersion": { "type": "string" },
        "kind": { "type": "string" },
        "name": { "type": "string" },
    });
    if has_namespace {
        properties["namespace"] = json!({ "type": "string" });
    }
    json!({
        "type": "array",
        "x-kubernetes-list-type": "atomic",
        "items": { "type": "object", "required": ["apiVersion", "kind"], "properties": properties },
    })
}

/// What a claim does with its composite resource when it is deleted.
pub(super) fn delete_policy(default: Option<DeletePolicy>) -> Value {
    let mut policy = json!({ "type": "string", "enum": ["Background", "Foreground"] });
    if let Some(default) = default {
        policy["default"] = json!(default.as_str());
    }
    policy
}

/// An object of these strings, all of them required.
pub(super) fn reference(fields: &[&str]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| ((*field).to_owned(), json!({ "type": "string" })))
        .collect();
    json!({ "type": "object", "required": fields, "properties": properties })
}

fn selector() -> Value {
    json!({
        "type": "object",
        "required": ["matchLabels"],
        "properties": {
            "matchLabels": { "type": "object", "additionalProperties": { "type": "string" } },
        },
    })
}

pub(super) fn conditions() -> Value {
    json!({
        "type": "array",
        "description": "Conditions of the resource.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "reason", "status", "type"],
            "properties": {
                "lastTransitionTime": { "type": "string", "format": "date-time" },
                "message": { "type": "string" },
                "reason": { "type": "string" },
                "status": { "type": "string" },
                "type": { "type": "string" },
                "observedGeneration": { "type": "integer", "format": "int64" },
            },
        },
    })
}

/// When the connection Secret was last written.
pub(super) fn connection_details() -> Value {
    json!({
        "type": "object",
        "properties": { "lastPublishedTime": { "type": "string", "format": "date-time" } },
    })
}

/// Types of the conditions that a claim copies.
pub(super) fn claim_condition_types() -> Value {
    json!({ "type": "array", "x-kubernetes-list-type": "set", "items": { "type": "string" } })
}

/// Properties by name.
pub(super) fn fields<const N: usize>(fields: [(&str, Value); N]) -> Map<String, Value> {
    fields
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}
