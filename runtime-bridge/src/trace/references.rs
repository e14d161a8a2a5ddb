//! What an object refers to, read as it is now.

use bridge_core::{
    crd::{CLUSTER_PROVIDER_CONFIG, PROVIDER_CONFIG},
    watch_plan::GroupKind,
};
use bridge_engine::{
    config::{ConfigObjects, SecretSource},
    engine::Lookup,
    object::{Key, Object},
    secret::SecretError,
};
use serde_json::Value;

use super::facts::{Reference, Secret};
use crate::object_lookup::Reader;

/// The config that it refers to, which is of the plugin's group.
pub(super) async fn config(object: &Object, reader: &Reader) -> Reference {
    let spec = object.spec_value();
    let named = |field: &str, or: &str| spec["providerConfigRef"][field].as_str().unwrap_or(or).to_owned();
    let (kind, name) = (named("kind", CLUSTER_PROVIDER_CONFIG), named("name", "default"));
    let namespace = object.namespace().filter(|_| kind == PROVIDER_CONFIG);
    let plugin = reader.plugin_of(&object.api.kind, &kind);
    Reference {
        object: match &plugin {
            None => Err(format!(
                "the cluster has no CRD of {kind} in the object's group or above it"
            )),
            Some(plugin) => {
                let key = Key::new(GroupKind::new(plugin, &kind), namespace, &name);
                match reader.get(&key).await {
                    Lookup::Live(found) | Lookup::Direct(found) => Ok(found),
                    Lookup::Unavailable(error) => Err(error.to_string()),
                }
            }
        },
        namespace: namespace.map(str::to_owned),
        kind,
        name,
    }
}

/// A Secret that the spec names.
#[derive(Debug, PartialEq, Eq)]
struct SecretReference {
    /// The field of the spec, as in `forProvider.passwordSecretRef`.
    field: String,
    namespace: String,
    name: String,
    /// `None`: the bridge writes it, and needs no key.
    key: Option<String>,
}

/// The Secrets that it refers to.
pub(super) async fn secrets(object: &Object, reader: &Reader) -> Vec<Secret> {
    let mut secrets = Vec::new();
    for named in named(&object.spec_value(), object.namespace()) {
        let read = SecretSource::read(reader, &named.namespace, &named.name).await;
        let state = match (&read, &named.key) {
            (Ok(secret), Some(key)) if !secret.data.0.contains_key(key) => format!("has no key {key:?}"),
            (Ok(_), Some(key)) => format!("key {key:?}"),
            (Ok(_), None) => "written by the bridge".to_owned(),
            (Err(SecretError::NotFound { .. }), Some(_)) => "does not exist".to_owned(),
            (Err(SecretError::NotFound { .. }), None) => "not written yet".to_owned(),
            (Err(SecretError::Api { source, .. }), _) => format!("cannot be read: {source}"),
        };
        secrets.push(Secret {
            field: named.field,
            namespace: named.namespace,
            name: named.name,
            state,
        });
    }
    secrets
}

fn named(spec: &Value, namespace: Option<&str>) -> Vec<SecretReference> {
    let mut found = Vec::new();
    find(&spec["forProvider"], "forProvider", namespace, &mut found);
    found.extend(secret_in(
        &spec["writeConnectionSecretToRef"],
        "writeConnectionSecretToRef",
        namespace,
    ));
    found
}

/// References to a key of a Secret stand in fields that end so, see docs/provider-config.md.
fn find(value: &Value, path: &str, namespace: Option<&str>, found: &mut Vec<SecretReference>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(number, value)| (number.to_string(), value))
            .collect(),
        _ => return,
    };
    for (name, value) in children {
        let path = format!("{path}.{name}");
        let secret = secret_in(value, &path, namespace).filter(|_| name.ends_with("SecretRef"));
        match secret {
            Some(secret) => found.push(secret),
            None => find(value, &path, namespace, found),
        }
    }
}

fn secret_in(reference: &Value, field: &str, namespace: Option<&str>) -> Option<SecretReference> {
    let text = |name: &str| reference[name].as_str().map(str::to_owned);
    Some(SecretReference {
        field: field.to_owned(),
        // An object of a namespace reads and writes there only.
        namespace: namespace.map(str::to_owned).or_else(|| text("namespace"))?,
        name: text("name")?,
        key: text("key"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_found_wherever_the_spec_names_them() {
        let spec = json!({
            "forProvider": {
                "size": 1,
                "passwordSecretRef": { "name": "password", "key": "it", "namespace": "other" },
                "users": [{ "tokenSecretRef": { "name": "tokens", "key": "one" } }],
                "fakeSecretRef": "text",
            },
            "writeConnectionSecretToRef": { "name": "connection" },
        });
        let secret = |field: &str, name: &str, key: Option<&str>| SecretReference {
            field: field.to_owned(),
            namespace: "team".to_owned(),
            name: name.to_owned(),
            key: key.map(str::to_owned),
        };
        assert_eq!(
            named(&spec, Some("team")),
            [
                secret("forProvider.passwordSecretRef", "password", Some("it")),
                secret("forProvider.users.0.tokenSecretRef", "tokens", Some("one")),
                secret("writeConnectionSecretToRef", "connection", None),
            ]
        );
        let named: Vec<SecretReference> = named(&spec, None);
        assert_eq!(
            named
                .iter()
                .map(|secret| secret.namespace.as_str())
                .collect::<Vec<_>>(),
            ["other"]
        );
    }
}
