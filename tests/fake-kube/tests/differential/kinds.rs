//! The kinds of the sequences: one for each way in which the API server treats objects.

use serde_json::{Value, json};

use crate::server::{DEFINITIONS, Server};

pub const GROUP: &str = "differential.example.org";

/// Plural and kind of each definition.
pub const KINDS: [(&str, &str); 4] = [
    ("plains", "Plain"),
    // Without a status subresource.
    ("bares", "Bare"),
    // Unknown fields stay.
    ("frees", "Free"),
    // Required fields, limits, and defaults from the top.
    ("stricts", "Strict"),
];

/// Every way in which a field may be declared.
fn fields() -> Value {
    json!({"type": "object", "properties": {
        "size": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "word": {"type": "string"},
        "colour": {"type": "string", "default": "red"},
        "maybe": {"type": "string", "nullable": true},
        "perhaps": {"type": "string", "nullable": true, "default": "yes"},
        "choice": {"type": "string", "enum": ["a", "b"]},
        "either": {"x-kubernetes-int-or-string": true},
        "words": {"type": "array", "items": {"type": "string"}},
        "holes": {"type": "array", "items": {"type": "number", "nullable": true}},
        "items": {"type": "array", "items": {"type": "object", "properties": {
            "x": {"type": "integer", "default": 5},
            "y": {"type": "string", "nullable": true},
        }}},
        "map": {"type": "object", "additionalProperties": {"type": "number"}},
        "objects": {"type": "object", "additionalProperties": {"type": "object", "properties": {
            "x": {"type": "number", "default": 1.5},
        }}},
        "nested": {"type": "object", "properties": {
            "a": {"type": "integer", "default": 1},
            "deep": {"type": "object", "properties": {"b": {"type": "number"}}},
        }},
        "given": {"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 2}}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
            "known": {"type": "object", "properties": {"a": {"type": "number"}}},
        }},
        "any": {"x-kubernetes-preserve-unknown-fields": true},
        "frees": {"type": "array", "items": {
            "type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"size": {"type": "integer"}},
        }},
    }})
}

fn schema(plural: &str) -> Value {
    let mut spec = fields();
    let mut status = fields();
    match plural {
        "frees" => {
            spec["x-kubernetes-preserve-unknown-fields"] = true.into();
            status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        }
        "stricts" => {
            spec["required"] = json!(["size"]);
            spec["properties"]["size"]["minimum"] = 0.into();
            spec["properties"]["words"]["maxItems"] = 2.into();
            spec["properties"]["word"]["maxLength"] = 3.into();
            status["default"] = json!({"size": 1.0});
            status["properties"]["ratio"]["maximum"] = 10.into();
        }
        _ => {}
    }
    json!({"type": "object", "properties": {"spec": spec, "status": status}})
}

/// Creates them all, and waits until they are served.
pub async fn define(server: &Server) {
    for (plural, kind) in KINDS {
        let mut version = json!({
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema(plural)},
        });
        if plural != "bares" {
            version["subresources"] = json!({"status": {}});
        }
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{GROUP}")},
            "spec": {
                "group": GROUP, "scope": "Namespaced", "versions": [version],
                "names": {
                    "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": kind.to_lowercase(),
                },
            },
        });
        let made = server.post(DEFINITIONS, &definition).await;
        assert_eq!(made.code, 201, "{made:?}");
    }
    for (plural, _) in KINDS {
        let path = format!("/apis/{GROUP}/v1/{plural}");
        server
            .eventually("the kind is served", || async {
                server.get(&path).await.code == 200
            })
            .await;
    }
}
