//! `spec` of a config, as its CRD has it.

use bridge_core::external::Document;
use serde::Deserialize;

use crate::object::Object;

/// Settings, and where credentials lie.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ConfigSpec {
    pub(super) settings: Option<Document>,
    pub(super) credentials: Credentials,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Credentials {
    pub(super) source: Source,
    secret_ref: Option<SecretRef>,
    pub(super) env: Option<Variable>,
    pub(super) fs: Option<File>,
}

/// Where credentials come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) enum Source {
    #[default]
    None,
    Secret,
    InjectedIdentity,
    Environment,
    Filesystem,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct SecretRef {
    namespace: Option<String>,
    name: String,
    key: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Variable {
    pub(super) name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct File {
    pub(super) path: String,
}

/// A Secret, or one key of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretKey {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The key; `None`: all of it.
    pub key: Option<String>,
}

impl ConfigSpec {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it, as a sentence.
    pub fn of(config: &Object) -> Result<Self, String> {
        match config.spec() {
            Some(spec) => serde_json::from_str(spec.get()).map_err(|error| format!("spec: {error}")),
            None => Ok(Self::default()),
        }
    }

    /// A config of a namespace reads Secrets of that namespace, whatever it says.
    pub fn secret(&self, namespace: Option<&str>) -> Option<SecretKey> {
        let reference = self.credentials.secret_ref.as_ref()?;
        let namespace = namespace.or(reference.namespace.as_deref())?;
        Some(SecretKey {
            namespace: namespace.to_owned(),
            name: reference.name.clone(),
            key: reference.key.clone(),
        })
    }
}
