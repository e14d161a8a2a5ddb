//! Schema of `status.conditions`.

use serde_json::{Value, json};

/// A list map by type, with `observedGeneration`, as Crossplane writes it.
pub(super) fn list() -> Value {
    json!({
        "type": "array",
        "description": "Conditions of the object.",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["lastTransitionTime", "reason", "status", "type"],
            "properties": {
                "type": {
                    "type": "string",
                    "description": "Type of the condition; at most one of each.",
                },
                "status": {
                    "type": "string",
                    "description": "True, False or Unknown.",
                },
                "reason": {
                    "type": "string",
                    "description": "Why, as one stable word.",
                },
                "message": {
                    "type": "string",
                    "description": "Why, for people.",
                },
                "lastTransitionTime": {
                    "type": "string",
                    "format": "date-time",
                    "description": "When it last changed.",
                },
                "observedGeneration": {
                    "type": "integer",
                    "format": "int64",
                    "description": "The metadata.generation that it speaks of.",
                },
            },
        },
    })
}
