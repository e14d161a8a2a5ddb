//! What changed between two looks at an object, in words.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use serde_json::Value;

const EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// What is told of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Look {
    conditions: BTreeMap<String, String>,
    external_name: Option<String>,
    deleting: bool,
}

impl Look {
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

/// What is new since the former look, or since nothing was known.
pub fn news(former: Option<&Look>, now: &Look) -> Vec<String> {
    let nothing = Look::default();
    let mut news = Vec::new();
    if former.is_none() {
        news.push("created".to_owned());
    }
    let former = former.unwrap_or(&nothing);
    if let Some(name) = now
        .external_name
        .as_ref()
        .filter(|_| now.external_name != former.external_name)
    {
        news.push(format!("external name {name}"));
    }
    if now.deleting && !former.deleting {
        news.push("is being deleted".to_owned());
    }
    for (kind, words) in &now.conditions {
        if former.conditions.get(kind) != Some(words) {
            news.push(format!("{kind}={words}"));
        }
    }
    for kind in former
        .conditions
        .keys()
        .filter(|kind| !now.conditions.contains_key(*kind))
    {
        news.push(format!("{kind} is no longer told"));
    }
    news
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn look(object: Value) -> Look {
        Look::at(&serde_json::from_value(object).unwrap())
    }

    #[test]
    fn only_what_changed_is_told() {
        let bare = look(json!({"metadata": {"name": "x"}}));
        assert_eq!(news(None, &bare), ["created"]);
        assert!(news(Some(&bare), &bare).is_empty());

        let creating = look(json!({
            "metadata": {"name": "x", "annotations": {"crossplane.io/external-name": "E1"}},
            "status": {"conditions": [
                {"type": "Ready", "status": "False", "reason": "Creating"},
                {"type": "AsyncOperation", "status": "False", "reason": "Running", "message": "30 %"},
            ]},
        }));
        let told = [
            "external name E1",
            "AsyncOperation=False (Running): 30 %",
            "Ready=False (Creating)",
        ];
        assert_eq!(news(Some(&bare), &creating), told);

        let deleting = look(json!({
            "metadata": {
                "name": "x",
                "annotations": {"crossplane.io/external-name": "E1"},
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            },
            "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Deleting"}]},
        }));
        let told = [
            "is being deleted",
            "Ready=False (Deleting)",
            "AsyncOperation is no longer told",
        ];
        assert_eq!(news(Some(&creating), &deleting), told);
    }
}
