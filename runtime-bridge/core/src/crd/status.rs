//! Schema of a managed resource's `status`.

use serde_json::{Value, json};

use super::condition;

/// `at_provider`: the kind's own status schema.
pub(super) fn managed(at_provider: &Value) -> Value {
    json!({
        "type": "object",
        "description": "Observed state of the resource.",
        "properties": {
            "atProvider": at_provider,
            "conditions": condition::list(),
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "The metadata.generation that this status was written for.",
            },
            "lastHandledReconcileAt": {
                "type": "string",
                "description": "The last value of the annotation crossplane.io/reconcile-requested-at that was acted upon.",
            },
            "crossbridge": crossbridge(),
        },
    })
}

/// What may be lost: of its safety a deletion alone depends on it, which begins with it. Fields that a newer bridge writes are kept.
fn crossbridge() -> Value {
    json!({
        "type": "object",
        "description": "The bridge's own notes. Nothing in it is for configuring anything.",
        "x-kubernetes-preserve-unknown-fields": true,
        "properties": {
            "createToken": {
                "type": "string",
                "description": "Token of the creation that was confirmed.",
            },
            "deletion": {
                "type": "object",
                "description": "The Delete that the deletion began with: until it is answered, or can have no effect any more, the object stays.",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "token": {"type": "string", "description": "Token of this Delete."},
                    "deadline": {
                        "type": "string",
                        "format": "date-time",
                        "description": "Nothing is sent after it.",
                    },
                    "after": {"type": "string", "description": "Token of what the record held then."},
                },
            },
            "question": {
                "type": "object",
                "description": "What a person is asked; the answer is an annotation that repeats its id.",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "id": {"type": "string", "description": "The word that the answer repeats."},
                    "token": {"type": "string", "description": "Token of the creation that is asked about."},
                },
            },
            "operation": {
                "type": "object",
                "description": "The operation that runs in the external system.",
                "x-kubernetes-preserve-unknown-fields": true,
                "properties": {
                    "handle": {
                        "type": "string",
                        "description": "The plugin's own handle.",
                    },
                    "verb": {
                        "type": "string",
                        "description": "Create, Update or Delete.",
                    },
                    "phase": {
                        "type": "string",
                        "description": "Step that it has reached.",
                    },
                    "progress": {
                        "type": "integer",
                        "format": "int32",
                        "description": "Percent done.",
                    },
                    "since": {
                        "type": "string",
                        "format": "date-time",
                        "description": "When it began.",
                    },
                    "generation": {
                        "type": "integer",
                        "format": "int64",
                        "description": "The metadata.generation that it was begun for.",
                    },
                    "pollDriven": {
                        "type": "boolean",
                        "description": "It moves only when polled.",
                    },
                    "expireTime": {
                        "type": "string",
                        "format": "date-time",
                        "description": "When it may be forgotten in the external system.",
                    },
                    "externalName": {
                        "type": "string",
                        "description": "The external resource that it is about.",
                    },
                    "incarnation": {
                        "type": "integer",
                        "format": "int64",
                        "description": "Which of the object's external resources that is, counted from 0.",
                    },
                    "sensitiveDigest": {
                        "type": "string",
                        "description": "Keyed digest of the sensitive values that an Update applies.",
                    },
                },
            },
        },
    })
}
