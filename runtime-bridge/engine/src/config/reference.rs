//! Which config a managed resource refers to, and which Secret a config refers to.

use bridge_core::{
    crd::{CLUSTER_PROVIDER_CONFIG, CONFIG_VERSION, PROVIDER_CONFIG},
    kind::ResourceType,
    watch_plan::GroupKind,
};
use serde::Deserialize;

use super::{
    ConfigError,
    spec::{ConfigSpec, Source},
};
use crate::object::{ApiType, Key, Object};

/// How the namespaced configs of a plugin are addressed.
pub fn config_api(plugin: &str) -> ApiType {
    ApiType::new(&config_type(plugin, PROVIDER_CONFIG), "providerconfigs", true)
}

/// How the cluster-scoped configs of a plugin are addressed.
pub fn cluster_config_api(plugin: &str) -> ApiType {
    ApiType::new(
        &config_type(plugin, CLUSTER_PROVIDER_CONFIG),
        "clusterproviderconfigs",
        false,
    )
}

fn config_type(plugin: &str, kind: &str) -> ResourceType {
    ResourceType {
        group: plugin.to_owned(),
        version: CONFIG_VERSION.to_owned(),
        kind: kind.to_owned(),
    }
}

/// The Secret that a config takes its credentials from: a change of it is a change of the config.
pub fn secret_of(config: &Object) -> Option<Key> {
    let spec = ConfigSpec::of(config).ok()?;
    match spec.credentials.source {
        Source::Secret => spec
            .secret(config.namespace())
            .map(|secret| Key::secret(&secret.namespace, &secret.name)),
        Source::None | Source::InjectedIdentity | Source::Environment | Source::Filesystem => None,
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    provider_config_ref: Reference,
}

#[derive(Deserialize)]
#[serde(default)]
struct Reference {
    kind: String,
    name: String,
}

/// As the CRDs have it.
impl Default for Reference {
    fn default() -> Self {
        Self {
            kind: CLUSTER_PROVIDER_CONFIG.to_owned(),
            name: "default".to_owned(),
        }
    }
}

/// The config that a managed resource refers to. A cluster-scoped one can refer to nothing but a cluster-scoped config.
pub fn config_of(plugin: &str, object: &Object) -> Result<Key, ConfigError> {
    let invalid = |why: String| ConfigError::InvalidReference { why };
    let spec: Spec = match object.spec() {
        Some(spec) => serde_json::from_str(spec.get()).map_err(|error| invalid(error.to_string()))?,
        None => Spec::default(),
    };
    let Reference { kind, name } = spec.provider_config_ref;
    let namespace = match (kind.as_str(), object.namespace()) {
        (CLUSTER_PROVIDER_CONFIG, _) => None,
        (PROVIDER_CONFIG, Some(namespace)) => Some(namespace),
        _ => return Err(invalid(format!("kind {kind:?} is not one that it can refer to"))),
    };
    Ok(Key::new(GroupKind::new(plugin, &kind), namespace, &name))
}
