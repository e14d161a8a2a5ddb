//! From what lies in a Secret, a variable or a file to credentials by name.
//!
//! One rule for all sources. Several named values (a Secret, a directory) are the credentials as they are. One value (a key of a
//! Secret, a variable, a file) that is a JSON object holds the credentials by name; anything else is one credential, under the name
//! that the value has.

use std::collections::BTreeMap;

use bridge_core::external::Secrets;
use serde_json::Value;

use super::{
    ConfigError, ConfigPolicy,
    host::{Content, Host},
    spec::{ConfigSpec, SecretKey, Source},
};
use crate::{
    object::{Key, Object},
    secret::SecretData,
};

/// Where the credentials of a config are to be read.
pub(super) enum CredentialsLocation {
    /// None are given.
    Nowhere,
    Secret(SecretKey),
    Variable(String),
    Path(String),
}

impl CredentialsLocation {
    pub(super) fn of(config: &Object, spec: &ConfigSpec, policy: ConfigPolicy) -> Result<Self, ConfigError> {
        let key = config.key();
        let lacks = |field: &str| ConfigError::Invalid {
            config: key.clone(),
            why: format!("spec.credentials.{field} is not set, which its source needs"),
        };
        let credentials = &spec.credentials;
        let location = match credentials.source {
            Source::None | Source::InjectedIdentity => Self::Nowhere,
            Source::Secret => Self::Secret(
                spec.secret(config.namespace())
                    .ok_or_else(|| lacks("secretRef"))?,
            ),
            Source::Environment => {
                Self::Variable(credentials.env.as_ref().ok_or_else(|| lacks("env"))?.name.clone())
            }
            Source::Filesystem => {
                Self::Path(credentials.fs.as_ref().ok_or_else(|| lacks("fs"))?.path.clone())
            }
        };
        let on_host = matches!(location, Self::Variable(_) | Self::Path(_));
        if on_host && !policy.allows_host(config) {
            return Err(ConfigError::HostForbidden { config: key });
        }
        Ok(location)
    }
}

/// Credentials of a Secret, or of one key of it.
pub(super) fn of_secret(config: &Key, secret: &SecretKey, data: &SecretData) -> Result<Secrets, ConfigError> {
    let Some(key) = &secret.key else {
        return Ok(data.data.clone());
    };
    match data.data.0.get(key) {
        Some(value) => Ok(of_value(key, value)),
        None => Err(ConfigError::SecretKeyMissing {
            config: config.clone(),
            secret: format!("{}/{}", secret.namespace, secret.name),
            key: key.clone(),
        }),
    }
}

/// Credentials of a variable.
pub(super) fn of_variable(config: &Key, host: &dyn Host, name: &str) -> Result<Secrets, ConfigError> {
    let value = host.variable(name).map_err(|source| ConfigError::Host {
        config: config.clone(),
        source,
    })?;
    Ok(of_value(name, &value))
}

/// Credentials of a file or directory.
pub(super) fn of_path(config: &Key, host: &dyn Host, path: &str) -> Result<Secrets, ConfigError> {
    let content = host.content(path).map_err(|source| ConfigError::Host {
        config: config.clone(),
        source,
    })?;
    Ok(match content {
        Content::Directory(files) => Secrets(
            files
                .into_iter()
                .map(|(name, value)| (name, without_newline(&value).to_vec()))
                .collect(),
        ),
        Content::File(value) => {
            let name = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path);
            of_value(name, without_newline(&value))
        }
    })
}

/// Credentials of one value, which has this name: those of a JSON object by their names, anything else as one.
pub fn of_value(name: &str, value: &[u8]) -> Secrets {
    if let Ok(Value::Object(credentials)) = serde_json::from_slice(value) {
        let text = |value: Value| match value {
            Value::String(text) => text,
            other => other.to_string(),
        };
        return Secrets(
            credentials
                .into_iter()
                .map(|(name, value)| (name, text(value).into_bytes()))
                .collect(),
        );
    }
    Secrets(BTreeMap::from([(name.to_owned(), value.to_vec())]))
}

/// Editors end files with one.
fn without_newline(value: &[u8]) -> &[u8] {
    let value = value.strip_suffix(b"\n").unwrap_or(value);
    value.strip_suffix(b"\r").unwrap_or(value)
}
