//! What users apply.

use serde_json::{Value, json};

use super::story::Story;

/// Group of what all stories share.
pub const GROUP: &str = "endings.example.org";
/// Finalizer of an object that takes a moment to go.
pub const HOLD: &str = "endings.example.org/hold";
/// The value of what is changed.
pub const CHANGED: &str = "changed";
/// The function that all compositions call.
pub const FUNCTION: &str = "function-fake";

/// The group of a story's own definition.
pub fn own_group(story: &str) -> String {
    format!("{story}.{GROUP}")
}

/// Namespaces of a story. Composite resources are in all of them.
pub fn namespaces(kind: Story, story: &str) -> Vec<String> {
    let more: &[&str] = match kind {
        Story::DefinitionDeleted => &["-b", "-c"],
        _ => &[],
    };
    let mut all = vec![story.to_owned()];
    all.extend(more.iter().map(|end| format!("{story}{end}")));
    all
}

/// A definition of orders, which are namespaced.
pub fn orders(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v2",
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("orders.{group}")},
        "spec": {
            "group": group,
            "names": {"kind": "Order", "plural": "orders"},
            "scope": "Namespaced",
            "versions": [version()],
        },
    })
}

/// A definition of purchases, which are claims.
pub fn purchases() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": format!("xpurchases.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {"kind": "XPurchase", "plural": "xpurchases"},
            "claimNames": {"kind": "Purchase", "plural": "purchases"},
            "scope": "LegacyCluster",
            "versions": [version()],
        },
    })
}

fn version() -> Value {
    json!({
        "name": "v1", "served": true, "referenceable": true,
        "schema": {"openAPIV3Schema": {
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {
                "second": {"type": "boolean"},
                "changed": {"type": "boolean"},
                "usage": {"type": "boolean"},
            }}},
        }},
    })
}

/// What the change of a composite resource makes it: another `first`, no `second`, and `fourth`.
pub fn change() -> Value {
    json!({"spec": {"second": false, "changed": true}})
}

/// Composes three `ConfigMap`s, and a usage: `third` uses `first`. What is changed is changed by a second step. `namespace`: that of what is composed, where the composite resource has
/// none.
pub fn composition(name: &str, group: &str, kind: &str, namespace: Option<&str>) -> Value {
    let place = |mut object: Value| {
        if let Some(namespace) = namespace {
            object["metadata"]["namespace"] = namespace.into();
        }
        object
    };
    let config_map = |name: &str, value: &str, when: Value| {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value},
        });
        json!({"object": place(object), "when": when, "ready": "always"})
    };
    let asked = |field: &str| json!({"equals": {"path": format!("/spec/{field}"), "value": true}});
    let usage = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "metadata": {"name": "third-uses-first"},
        "spec": {
            "of": {"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "first"}},
            "by": {"apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "third"}},
        },
    });
    let uses = json!({"object": place(usage), "when": asked("usage"), "ready": "always"});
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {"name": name},
        "spec": {
            "compositeTypeRef": {"apiVersion": format!("{group}/v1"), "kind": kind},
            "mode": "Pipeline",
            "pipeline": [
                step("compose", &json!({
                    "first": config_map("first", "first", json!("always")),
                    "second": config_map("second", "second", asked("second")),
                    "third": config_map("third", "third", json!("always")),
                    "usage": uses,
                })),
                step("change", &json!({
                    "first": config_map("first", CHANGED, asked("changed")),
                    "fourth": config_map("fourth", "fourth", asked("changed")),
                })),
            ],
        },
    })
}

fn step(name: &str, resources: &Value) -> Value {
    json!({
        "step": name,
        "functionRef": {"name": FUNCTION},
        "input": {"apiVersion": "fn.example.org/v1", "kind": "Program", "resources": resources},
    })
}

/// A composite resource.
pub fn order(story: Story, group: &str) -> Value {
    let uses = matches!(story, Story::CompositeDeleted | Story::UsageRemoved);
    json!({
        "apiVersion": format!("{group}/v1"), "kind": "Order",
        "metadata": {"name": "web"},
        "spec": {"second": story != Story::DefinitionDeleted, "usage": uses},
    })
}

/// A claim, whose composition has its name.
pub fn purchase(story: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Purchase",
        "metadata": {"name": story, "namespace": story},
        "spec": {"second": true, "usage": false, "compositionRef": {"name": story}},
    })
}
