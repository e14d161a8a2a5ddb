//! Where a plugin works, and with which credentials.

use std::{sync::Arc, time::SystemTime};

use crossbridge_types as types;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::Failure;

/// A resolved `ProviderConfig`: settings and credentials. Sent on every call; cache SDK clients by
/// ([`id`](Self::id), [`revision`](Self::revision)). `Debug` prints no credential.
#[derive(Debug, Clone)]
pub struct Config(pub(crate) Arc<types::Config>);

impl Config {
    /// Stable id of the `ProviderConfig`.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Changes whenever settings or credentials do.
    pub fn revision(&self) -> &str {
        &self.0.revision
    }

    /// The settings, as the type given to [`Plugin::settings`](crate::Plugin::settings). None at all read as `{}`.
    ///
    /// # Errors
    /// `INVALID_CONFIG` that names the field.
    pub fn settings<S: DeserializeOwned>(&self) -> Result<S, Failure> {
        let settings = Value::Object(self.0.settings.clone().unwrap_or_default());
        serde_path_to_error::deserialize(settings)
            .map_err(|error| Failure::invalid_config(format!("the provider config's settings: {error}")))
    }

    /// A credential, if it was given.
    pub fn credential(&self, key: &str) -> Option<&[u8]> {
        self.0.credentials.0.get(key).map(Vec::as_slice)
    }

    /// A credential that must be there and is text.
    ///
    /// # Errors
    /// `UNAUTHENTICATED` when it is missing, empty or not UTF-8.
    pub fn required_credential(&self, key: &str) -> Result<&str, Failure> {
        self.credential(key)
            .and_then(|value| std::str::from_utf8(value).ok())
            .filter(|value| !value.is_empty())
            .ok_or_else(|| {
                Failure::unauthenticated(format!(
                    "the provider config's credentials lack {key:?}: add it to the Secret"
                ))
            })
    }

    /// No credentials at all: use the identity that the plugin's own environment gives.
    pub fn is_ambient(&self) -> bool {
        self.0.credentials.0.is_empty()
    }

    /// After this the credentials are stale. The SDK answers `CREDENTIALS_EXPIRED` by itself to a call that comes later.
    pub fn credentials_expire_time(&self) -> Option<SystemTime> {
        self.0.credentials_expire.map(SystemTime::from)
    }
}

/// A credential that the plugin understands.
#[derive(Debug, Clone)]
pub struct CredentialKey {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) required: bool,
}

impl CredentialKey {
    /// An optional credential under this key.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            required: false,
        }
    }

    /// It must be there, unless there are no credentials at all, which means ambient identity.
    #[must_use]
    pub fn required(mut self) -> Self {
        self.required = true;
        self
    }
}
