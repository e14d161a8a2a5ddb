//! What configs of a namespace may do: tenants write them.

use bridge_core::external::Document;

use super::ConfigError;
use crate::object::Object;

/// What the operator lets configs of a namespace do, beyond Secrets of their own namespace. Configs of the cluster may do all of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConfigPolicy {
    /// Take credentials from the bridge's variables and files.
    pub namespaced_host: bool,
    /// Give the plugin no credentials, so that it acts as itself.
    pub namespaced_ambient: bool,
    /// Say by `settings.endpoint` where calls and credentials go.
    pub namespaced_endpoint: bool,
}

impl ConfigPolicy {
    /// Whether the config may name variables and files.
    pub(super) fn allows_host(self, config: &Object) -> bool {
        self.namespaced_host || config.namespace().is_none()
    }

    /// Checks what a config says, before anything is read for it.
    pub(super) fn check_settings(
        self,
        config: &Object,
        settings: Option<&Document>,
    ) -> Result<(), ConfigError> {
        let names_one = settings.is_some_and(|settings| settings.contains_key("endpoint"));
        if names_one && config.namespace().is_some() && !self.namespaced_endpoint {
            return Err(ConfigError::EndpointForbidden { config: config.key() });
        }
        Ok(())
    }

    /// Checks what was found, before the plugin is asked: `is_empty` is the identity of the plugin itself, whatever it was read from. A plugin
    /// that takes no credentials has no other.
    pub(super) fn check_credentials(
        self,
        config: &Object,
        is_empty: bool,
        takes_credentials: bool,
    ) -> Result<(), ConfigError> {
        if is_empty && takes_credentials && config.namespace().is_some() && !self.namespaced_ambient {
            return Err(ConfigError::AmbientForbidden { config: config.key() });
        }
        Ok(())
    }
}
