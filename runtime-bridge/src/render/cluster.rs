//! What a run looks up, found among what was given.

use std::{collections::BTreeMap, sync::Arc};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bridge_core::{
    composite::{Composite, Found, Lookup, RunFailure, SecretName, own_secret, secret_of},
    function::{Observed, Resource, ResourceMatch, ResourceSelector, SecretData, schema_of_kind},
};
use serde_json::Value;

use super::inputs::{Inputs, text};

/// As the cluster would answer that holds nothing else.
pub(super) fn find(inputs: &Inputs, lookup: &Lookup) -> Found {
    match lookup {
        Lookup::Resources(selector) => {
            let found = inputs.store.iter().filter(|object| matches(object, selector));
            Found::Resources(found.cloned().map(Resource::of).collect())
        }
        Lookup::Schema(selector) => {
            let mut schemas = inputs.schemas.iter();
            Found::Schema(schemas.find_map(|document| schema_of_kind(document, selector)))
        }
        Lookup::Secret { namespace, name } => match secret(inputs, namespace, name).map(data).transpose() {
            Ok(data) => Found::Secret(data),
            Err(why) => Found::Failed(why),
        },
    }
}

/// What functions are shown, with connection details from the Secrets that were given.
pub(super) fn with_connection_details(
    inputs: &Inputs,
    observed: &Observed,
) -> Result<Arc<Observed>, RunFailure> {
    let mut observed = observed.clone();
    let xr = Composite::parse(observed.composite.object.clone(), inputs.scope);
    if let Some(name) = own_secret(&xr) {
        observed.composite.connection_details =
            details(inputs, &name, xr.uid(), || "the composite resource".to_owned())?;
    }
    for (resource_name, resource) in &mut observed.resources {
        if let Some(name) = secret_of(&resource.object) {
            let uid = text(&resource.object, "/metadata/uid");
            resource.connection_details = details(inputs, &name, uid, || {
                format!("composed resource {resource_name:?}")
            })?;
        }
    }
    Ok(Arc::new(observed))
}

/// Of a Secret that another object controls nothing is shown, as in a cluster.
fn details(
    inputs: &Inputs,
    name: &SecretName,
    uid: &str,
    of: impl Fn() -> String,
) -> Result<SecretData, RunFailure> {
    let secret = secret(inputs, &name.namespace, &name.name);
    let secret = secret.filter(|secret| {
        let owners = secret["metadata"]["ownerReferences"].as_array();
        let mut owners = owners.into_iter().flatten();
        owners.all(|owner| owner["controller"] != true || owner["uid"] == uid)
    });
    let data = secret.map(data).transpose();
    data.map(Option::unwrap_or_default)
        .map_err(|why| RunFailure::ConnectionDetails { of: of(), why })
}

fn secret<'a>(inputs: &'a Inputs, namespace: &str, name: &str) -> Option<&'a Value> {
    inputs.store.iter().find(|object| {
        text(object, "/apiVersion") == "v1"
            && text(object, "/kind") == "Secret"
            && text(object, "/metadata/namespace") == namespace
            && text(object, "/metadata/name") == name
    })
}

/// As the API server would hold it: what is in `stringData` replaces what is in `data`.
fn data(secret: &Value) -> Result<SecretData, String> {
    let mut data = BTreeMap::new();
    for (key, value) in secret["data"].as_object().into_iter().flatten() {
        let decoded = BASE64_STANDARD.decode(value.as_str().unwrap_or_default());
        let name = text(secret, "/metadata/name");
        let value = decoded.map_err(|_| format!("key {key:?} of Secret {name:?} is not in base64"))?;
        data.insert(key.clone(), value);
    }
    for (key, value) in secret["stringData"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap_or_default();
        data.insert(key.clone(), value.as_bytes().to_vec());
    }
    Ok(SecretData(data))
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

    #[test]
    fn a_secret_that_cannot_be_read_is_named() {
        let of =
            |data: Value| json!({ "metadata": { "name": "s" }, "data": data, "stringData": { "b": "2" } });
        let read = data(&of(json!({ "a": "MQ==", "b": "MQ==" }))).unwrap();
        assert_eq!(
            read.0,
            [("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"2".to_vec())].into()
        );
        assert_eq!(
            data(&of(json!({ "a": "?" }))).unwrap_err(),
            "key \"a\" of Secret \"s\" is not in base64"
        );
    }
}
