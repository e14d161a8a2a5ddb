//! A plugin: its kinds, its config, and how it is served.

use std::{fmt, future::Future};

use schemars::{JsonSchema, Schema, schema_for};

use crate::{ConfigCall, CredentialKey, Failure, Kind, Resource};

/// A plugin: its kinds, what configures it, and the limits under which it is served.
#[must_use]
pub struct Plugin {
    name: String,
    version: String,
    kinds: Vec<Kind>,
    settings: Option<Schema>,
    credential_keys: Vec<CredentialKey>,
    max_concurrent_calls: usize,
    max_message_bytes: usize,
}

impl Plugin {
    /// A plugin without kinds. The name is a DNS subdomain of at most 63 bytes that stays the same for ever: `s3.aws.example.org`. The
    /// version is a semantic one: `env!("CARGO_PKG_VERSION")`.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            kinds: Vec::new(),
            settings: None,
            credential_keys: Vec::new(),
            max_concurrent_calls: 256,
            max_message_bytes: 4 << 20,
        }
    }

    /// Serves this kind.
    pub fn resource<R: Resource>(mut self, resource: R) -> Self {
        let _ = resource;
        self.kinds.push(R::kind());
        self
    }

    /// The type of the settings that a ProviderConfig holds; [`Config::settings`](crate::Config::settings) reads them.
    pub fn settings<S: JsonSchema>(mut self) -> Self {
        self.settings = Some(schema_for!(S));
        self
    }

    /// A credential that the plugin understands.
    pub fn credential(mut self, key: CredentialKey) -> Self {
        self.credential_keys.push(key);
        self
    }

    /// Tries a config, changing nothing, and says whom the upstream takes us for: account, subscription, project; empty if it does not
    /// say. Without it, every config whose settings can be read is good.
    pub fn check_config<F, A>(self, check: F) -> Self
    where
        F: Fn(ConfigCall) -> A + Send + Sync + 'static,
        A: Future<Output = Result<String, Failure>> + Send + 'static,
    {
        let _ = check;
        self
    }

    /// Calls that are worked on at once; more wait. Unset: 256.
    pub fn max_concurrent_calls(mut self, calls: usize) -> Self {
        self.max_concurrent_calls = calls;
        self
    }

    /// The largest message that is taken. Unset: 4 MiB.
    pub fn max_message_bytes(mut self, bytes: usize) -> Self {
        self.max_message_bytes = bytes;
        self
    }

    /// Serves at the endpoint that `PROVIDER_PLUGIN_ENDPOINT` names until SIGTERM or SIGINT; then lets running calls end, and returns.
    ///
    /// # Errors
    /// A mistake in the plugin's declarations, or an endpoint that cannot be served.
    #[allow(clippy::unused_async)]
    pub async fn serve(self) -> Result<(), ServeError> {
        Err(ServeError(format!(
            "{} {} is not served yet",
            self.name, self.version
        )))
    }
}

/// Why a plugin could not be served. `Debug` reads like `Display`, so that `main` may return it.
#[derive(thiserror::Error)]
#[error("{0}")]
pub struct ServeError(String);

impl fmt::Debug for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
