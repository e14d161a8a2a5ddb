//! What is given to `render`, read from files.

use std::{collections::BTreeMap, fs, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use bridge_core::{
    composite::{LiveObject, PipelineSpec},
    definition::Scope,
    function::{HiddenMap, SecretData},
};
use serde_json::{Map, Value};
use sha1::{Digest, Sha1};

use super::{RenderArgs, RenderError};
use crate::manifests;

/// All of it, as it is used.
pub(super) struct Inputs {
    /// As it was given, with a uid.
    pub composite: Value,
    pub scope: Scope,
    /// Name of the composition.
    pub composition: String,
    pub pipeline: PipelineSpec,
    /// Each with a uid and a version.
    pub observed: Vec<LiveObject>,
    /// Objects that functions may require.
    pub required: Vec<Value>,
    /// Of Secrets, by namespace and name.
    pub credentials: BTreeMap<(String, String), SecretData>,
    /// Functions as they were given, by name.
    pub functions: BTreeMap<String, Value>,
    pub context: HiddenMap,
}

/// `KEY=VALUE`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE".to_owned()),
    }
}

impl Inputs {
    pub(super) fn read(args: &RenderArgs) -> Result<Self, RenderError> {
        let mut composite = one(&args.composite)?;
        let composition = one(&args.composition)?;
        let scope = match &args.xrd {
            Some(path) => scope_of(&one(path)?),
            None if text(&composite, "/metadata/namespace").is_empty() => Scope::Cluster,
            None => Scope::Namespaced,
        };
        let wanted = &composition["spec"]["compositeTypeRef"];
        let typed = |of: &Value| format!("{} {}", text(of, "/apiVersion"), text(of, "/kind"));
        if typed(wanted) != typed(&composite) {
            return Err(RenderError::OtherType {
                wanted: typed(wanted),
                found: typed(&composite),
            });
        }
        let pipeline = PipelineSpec::parse(&composition["spec"]["pipeline"])
            .map_err(|error| RenderError::Composition(error.to_string()))?;
        if text(&composite, "/metadata/uid").is_empty() {
            composite["metadata"]["uid"] = uid_of(&composite).into();
        }
        let functions = match &args.functions {
            Some(path) => all(std::slice::from_ref(path))?,
            None => Vec::new(),
        };
        let named = |function: Value| (text(&function, "/metadata/name").to_owned(), function);
        Ok(Self {
            scope,
            composition: text(&composition, "/metadata/name").to_owned(),
            pipeline,
            observed: observed(&composite, all(&args.observed_resources)?)?,
            required: all(&args.required_resources)?,
            credentials: credentials(&args.function_credentials)?,
            functions: functions.into_iter().map(named).collect(),
            context: context(args)?,
            composite,
        })
    }
}

fn all(paths: &[std::path::PathBuf]) -> Result<Vec<Value>, RenderError> {
    let documents = manifests::read(paths)?;
    // Each was read from JSON.
    Ok(documents
        .into_iter()
        .filter_map(|document| serde_json::to_value(document.object).ok())
        .collect())
}

fn one(path: &Path) -> Result<Value, RenderError> {
    let mut documents = all(&[path.to_owned()])?;
    match (documents.pop(), documents.pop()) {
        (Some(one), None) => Ok(one),
        (found, _) => Err(RenderError::Input {
            path: path.to_owned(),
            why: match found {
                None => "there is no object in it".to_owned(),
                Some(_) => "there is more than one object in it".to_owned(),
            },
        }),
    }
}

fn scope_of(definition: &Value) -> Scope {
    let is_v1 = text(definition, "/apiVersion").ends_with("/v1");
    match text(definition, "/spec/scope") {
        "Cluster" => Scope::Cluster,
        "LegacyCluster" => Scope::LegacyCluster,
        "" if is_v1 => Scope::LegacyCluster,
        _ => Scope::Namespaced,
    }
}

/// The uid that Crossplane's `render` gives to a composite resource without one: a version 5 UUID of kind and name.
fn uid_of(composite: &Value) -> String {
    let (group, version) = match text(composite, "/apiVersion").split_once('/') {
        Some((group, version)) => (group, version),
        None => ("", text(composite, "/apiVersion")),
    };
    let named = format!(
        "{group}/{version}, Kind={}\0{}\0{}",
        text(composite, "/kind"),
        text(composite, "/metadata/namespace"),
        text(composite, "/metadata/name")
    );
    let mut hash = Sha1::new();
    hash.update([0; 16]);
    hash.update(named.as_bytes());
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    uuid::Uuid::from_bytes(bytes).to_string()
}

/// As the API server would hold them.
fn observed(composite: &Value, objects: Vec<Value>) -> Result<Vec<LiveObject>, RenderError> {
    let mut all = Vec::new();
    let mut foreign = Vec::new();
    for (number, mut object) in (1..).zip(objects) {
        let metadata = &mut object["metadata"];
        if metadata["uid"].is_null() {
            metadata["uid"] = format!("observed-{number}").into();
        }
        if metadata["resourceVersion"].is_null() {
            metadata["resourceVersion"] = "1".into();
        }
        let live = LiveObject { object };
        let name = text(&live.object, "/metadata/name").to_owned();
        let Some(resource_name) = live.resource_name().map(str::to_owned) else {
            return Err(RenderError::Observed(format!(
                "{} {name:?} has no annotation {}",
                text(&live.object, "/kind"),
                bridge_core::composite::names::RESOURCE_NAME
            )));
        };
        if live.ownership(text(composite, "/metadata/uid")) == bridge_core::composite::Ownership::Foreign {
            foreign.push(format!(
                "observed resource {resource_name:?} has a controller ref but is not controlled by the XR"
            ));
        }
        all.push(live);
    }
    match foreign.as_slice() {
        [] => Ok(all),
        [one] => Err(RenderError::Observed(one.clone())),
        more => Err(RenderError::Observed(format!("[{}]", more.join(", ")))),
    }
}

fn credentials(paths: &[std::path::PathBuf]) -> Result<BTreeMap<(String, String), SecretData>, RenderError> {
    let mut credentials = BTreeMap::new();
    for path in paths {
        for secret in all(std::slice::from_ref(path))? {
            let mut data = BTreeMap::new();
            for (key, value) in secret["data"].as_object().into_iter().flatten() {
                let decoded = BASE64_STANDARD.decode(value.as_str().unwrap_or_default());
                let value = decoded.map_err(|_| RenderError::Input {
                    path: path.clone(),
                    why: format!("key {key:?} of a Secret is not in base64"),
                })?;
                data.insert(key.clone(), value);
            }
            for (key, value) in secret["stringData"].as_object().into_iter().flatten() {
                data.insert(
                    key.clone(),
                    value.as_str().unwrap_or_default().as_bytes().to_vec(),
                );
            }
            let id = ["/metadata/namespace", "/metadata/name"].map(|part| text(&secret, part).to_owned());
            credentials.insert(id.into(), SecretData(data));
        }
    }
    Ok(credentials)
}

fn context(args: &RenderArgs) -> Result<HiddenMap, RenderError> {
    let mut context = Map::new();
    let parse = |key: &str, text: &str| {
        serde_yaml_ng::from_str::<Value>(text).map_err(|cause| RenderError::Context {
            key: key.to_owned(),
            cause,
        })
    };
    for (key, path) in &args.context_files {
        let text = fs::read_to_string(path).map_err(|error| RenderError::Input {
            path: path.into(),
            why: error.to_string(),
        })?;
        context.insert(key.clone(), parse(key, &text)?);
    }
    for (key, value) in &args.context_values {
        context.insert(key.clone(), parse(key, value)?);
    }
    Ok(HiddenMap(context))
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_composite_resource_without_uid_gets_that_of_upstream() {
        let of = |namespace: Value| {
            uid_of(&json!({
                "apiVersion": "example.org/v1", "kind": "XR", "metadata": { "name": "a", "namespace": namespace }
            }))
        };
        // Reckoned with Python's uuid.uuid5.
        assert_eq!(of(Value::Null), "b84d63d7-bd10-52e0-9ab4-223265dee24d");
        assert_eq!(of(json!("team")), "a3785cd5-cc56-5ab5-b29d-566188f198f1");
    }

    #[test]
    fn the_scope_follows_from_the_definition() {
        let of = |version: &str, scope: Value| {
            scope_of(&json!({
                "apiVersion": format!("apiextensions.crossplane.io/{version}"), "spec": { "scope": scope }
            }))
        };
        assert_eq!(of("v1", Value::Null), Scope::LegacyCluster);
        assert_eq!(of("v2", Value::Null), Scope::Namespaced);
        assert_eq!(of("v2", json!("LegacyCluster")), Scope::LegacyCluster);
        assert_eq!(of("v2", json!("Cluster")), Scope::Cluster);
    }

    #[test]
    fn an_observed_resource_of_another_owner_is_rejected() {
        let composite = json!({ "metadata": { "uid": "x" } });
        let object = |uid: &str| {
            json!({ "kind": "ConfigMap", "metadata": {
                "name": "a",
                "annotations": { "crossplane.io/composition-resource-name": "rn" },
                "ownerReferences": [{ "uid": uid, "controller": true }],
            }})
        };
        assert!(observed(&composite, vec![object("x")]).is_ok());
        assert_eq!(
            observed(&composite, vec![object("y")]).err().unwrap().to_string(),
            "invalid observed resources: observed resource \"rn\" has a controller ref but is not controlled by the XR"
        );
        let unnamed = json!({ "kind": "ConfigMap", "metadata": { "name": "a" } });
        let why = observed(&composite, vec![unnamed]).err().unwrap().to_string();
        assert!(why.contains("has no annotation"), "{why}");
    }
}
