//! What changed between two states of an object, in words.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::DynamicObject;
use serde_json::Value;

use super::composed::{composes, origin};

const EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// The parts of an object whose changes are printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObjectState {
    conditions: BTreeMap<String, String>,
    external_name: Option<String>,
    deleting: bool,
    composes: BTreeSet<String>,
    origin: Option<String>,
}

impl ObjectState {
    pub fn at(object: &DynamicObject) -> Self {
        let conditions = object.data["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten();
        Self {
            conditions: conditions.filter_map(condition).collect(),
            external_name: object
                .metadata
                .annotations
                .as_ref()
                .and_then(|all| all.get(EXTERNAL_NAME))
                .cloned(),
            deleting: object.metadata.deletion_timestamp.is_some(),
            composes: composes(object),
            origin: origin(object),
        }
    }
}

/// The type, and the rest in words.
fn condition(condition: &Value) -> Option<(String, String)> {
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    let words = format!("{} ({})", text("status"), text("reason"));
    let words = match text("message") {
        "" => words,
        message => format!("{words}: {message}"),
    };
    Some((condition["type"].as_str()?.to_owned(), words))
}

/// The changes since the former state, or all of it if there is none, one line each.
pub fn changes(former: Option<&ObjectState>, now: &ObjectState) -> Vec<String> {
    let nothing = ObjectState::default();
    let mut changes = Vec::new();
    if former.is_none() {
        changes.push(match &now.origin {
            Some(origin) => format!("created as {origin}"),
            None => "created".to_owned(),
        });
    }
    let former = former.unwrap_or(&nothing);
    if let Some(name) = now
        .external_name
        .as_ref()
        .filter(|_| now.external_name != former.external_name)
    {
        changes.push(format!("external name {name}"));
    }
    if now.deleting && !former.deleting {
        changes.push("is being deleted".to_owned());
    }
    for composed in now.composes.difference(&former.composes) {
        changes.push(format!("composes {composed}"));
    }
    for gone in former.composes.difference(&now.composes) {
        changes.push(format!("no longer composes {gone}"));
    }
    for (kind, words) in &now.conditions {
        if former.conditions.get(kind) != Some(words) {
            changes.push(format!("{kind}={words}"));
        }
    }
    for kind in former
        .conditions
        .keys()
        .filter(|kind| !now.conditions.contains_key(*kind))
    {
        changes.push(format!("{kind} condition removed"));
    }
    changes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state_of(object: Value) -> ObjectState {
        ObjectState::at(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn unchanged_conditions_are_not_printed() {
        let bare = state_of(json!({"metadata": {"name": "x"}}));
        assert_eq!(changes(None, &bare), ["created"]);
        assert!(changes(Some(&bare), &bare).is_empty());

        let creating = state_of(json!({
            "metadata": {"name": "x", "annotations": {"crossplane.io/external-name": "E1"}},
            "status": {"conditions": [
                {"type": "Ready", "status": "False", "reason": "Creating"},
                {"type": "AsyncOperation", "status": "False", "reason": "Running", "message": "30 %"},
            ]},
        }));
        let reported = [
            "external name E1",
            "AsyncOperation=False (Running): 30 %",
            "Ready=False (Creating)",
        ];
        assert_eq!(changes(Some(&bare), &creating), reported);

        let deleting = state_of(json!({
            "metadata": {
                "name": "x",
                "annotations": {"crossplane.io/external-name": "E1"},
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            },
            "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Deleting"}]},
        }));
        let reported = [
            "is being deleted",
            "Ready=False (Deleting)",
            "AsyncOperation condition removed",
        ];
        assert_eq!(changes(Some(&creating), &deleting), reported);
    }
    #[test]
    fn what_is_composed_is_printed_as_it_comes_and_goes() {
        let order = |refs: Value| {
            state_of(json!({
                "metadata": {"name": "x", "namespace": "default"},
                "spec": {"crossplane": {"resourceRefs": refs}},
            }))
        };
        let (one, two) = (
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "one"}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "two"}),
        );
        let both = order(json!([one, two]));
        assert_eq!(
            changes(None, &both),
            [
                "created",
                "composes ConfigMap default/one",
                "composes ConfigMap default/two"
            ]
        );
        assert_eq!(
            changes(Some(&both), &order(json!([two]))),
            ["no longer composes ConfigMap default/one"]
        );
        let legacy = state_of(json!({
            "metadata": {"name": "x"},
            "spec": {"resourceRefs": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "b"}]},
        }));
        assert_eq!(changes(None, &legacy), ["created", "composes ConfigMap b/a"]);
        let composed = state_of(json!({
            "metadata": {
                "name": "one",
                "annotations": {"crossplane.io/composition-resource-name": "settings"},
                "ownerReferences": [
                    {"apiVersion": "a/v1", "kind": "Order", "name": "x", "uid": "u", "controller": true}
                ],
            },
        }));
        assert_eq!(changes(None, &composed), ["created as \"settings\" of Order x"]);
    }
}
