//! What a run looks up, found among what was given.

use bridge_core::{
    composite::{Found, Lookup},
    function::{Resource, ResourceMatch, ResourceSelector},
};
use serde_json::Value;

use super::inputs::Inputs;

/// As the cluster would answer that holds nothing else.
pub(super) fn find(inputs: &Inputs, lookup: &Lookup) -> Found {
    match lookup {
        Lookup::Resources(selector) => {
            let found = inputs.required.iter().filter(|object| matches(object, selector));
            Found::Resources(found.cloned().map(Resource::of).collect())
        }
        // No definitions are given.
        Lookup::Schema(_) => Found::Schema(None),
        Lookup::Secret { namespace, name } => {
            let id = (namespace.clone(), name.clone());
            Found::Secret(inputs.credentials.get(&id).cloned())
        }
    }
}

fn matches(object: &Value, selector: &ResourceSelector) -> bool {
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str();
    let is_of_kind =
        object["apiVersion"] == selector.api_version.as_str() && object["kind"] == selector.kind.as_str();
    is_of_kind
        && match &selector.matching {
            // By name without a namespace only what is in none is meant.
            ResourceMatch::Name(name) => {
                metadata["name"] == name.as_str() && namespace == selector.namespace.as_deref()
            }
            ResourceMatch::Labels(labels) => {
                let is_there = selector.namespace.is_none() || namespace == selector.namespace.as_deref();
                is_there
                    && labels
                        .iter()
                        .all(|(label, value)| metadata["labels"][label] == value.as_str())
            }
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selector(matching: ResourceMatch, namespace: Option<&str>) -> ResourceSelector {
        ResourceSelector {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            matching,
            namespace: namespace.map(str::to_owned),
        }
    }

    #[test]
    fn objects_are_required_by_name_and_place_or_by_labels() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "a", "namespace": "team", "labels": { "tier": "1" } }
        });
        let by_name = || ResourceMatch::Name("a".to_owned());
        let by_labels = |value: &str| ResourceMatch::Labels([("tier".to_owned(), value.to_owned())].into());
        assert!(matches(&object, &selector(by_name(), Some("team"))));
        assert!(!matches(&object, &selector(by_name(), None)));
        assert!(matches(&object, &selector(by_labels("1"), None)));
        assert!(matches(&object, &selector(by_labels("1"), Some("team"))));
        assert!(!matches(&object, &selector(by_labels("1"), Some("other"))));
        assert!(!matches(&object, &selector(by_labels("2"), None)));
        assert!(matches(
            &object,
            &selector(ResourceMatch::Labels([].into()), None)
        ));
    }
}
