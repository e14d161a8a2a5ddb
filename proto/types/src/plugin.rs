//! What a plugin is, and whether a config is usable.

use serde_json::Value;

use crate::{Failure, ResourceType, Rule, Violation, check, kind::check_schema, limits};

/// Calls that a plugin takes at once, where it declares no limit.
pub const DEFAULT_CONCURRENT_CALLS: usize = 256;

/// Largest message that a plugin takes, in bytes, where it declares no limit.
pub const DEFAULT_MESSAGE_BYTES: usize = limits::ANSWER;

/// What a plugin is, as reported in the handshake.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginInfo {
    /// DNS subdomain, at most 63 bytes, stable for ever; also the API group of its ProviderConfig kinds.
    pub name: String,
    /// Its release, a semantic version.
    pub version: String,
    /// Contract packages served, best first; not empty.
    pub contract_versions: Vec<String>,
    /// Random at each start.
    pub instance_id: String,
    /// Calls it will take at once; the default is filled in.
    pub max_concurrent_calls: usize,
    /// Largest message it will take, in bytes; the default is filled in.
    pub max_message_bytes: usize,
    /// Structural schema of the settings; `None`: no settings.
    pub config_schema: Option<Value>,
    /// Credentials that it understands.
    pub credential_keys: Vec<CredentialKey>,
    /// Whether it serves `DiscoveryService.List`: `FEATURE_LIST_EXTERNAL`.
    pub lists_external: bool,
}

/// One credential that a plugin understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialKey {
    /// Key in the credentials map.
    pub name: String,
    /// What the credential is, for people.
    pub description: String,
    /// Must be there unless the whole map is empty.
    pub required: bool,
}

impl PluginInfo {
    /// Checks the forms of its texts, and the schema of the settings.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Violation> {
        check::dns_subdomain(&self.name, check::LABEL_LIMIT, "name")?;
        check::at_most(&self.version, check::LABEL_LIMIT, "version")?;
        check::semantic_version(&self.version, "version")?;
        if self.contract_versions.is_empty() {
            return Err(Violation::new("contract_versions", Rule::Required));
        }
        check::count(&self.contract_versions, limits::RULES, "contract_versions")?;
        check::each(&self.contract_versions, "contract_versions", |version| {
            check::name(version, "")
        })?;
        check::required(&self.instance_id, "instance_id")?;
        check::name(&self.instance_id, "instance_id")?;
        check::count(&self.credential_keys, limits::RULES, "credential_keys")?;
        if let Some(schema) = &self.config_schema {
            check_schema(schema, "config_schema_json")?;
        }
        check::each(&self.credential_keys, "credential_keys", |key| {
            check::secret_key(&key.name, "name")
        })?;
        check::distinct(&self.credential_keys, "credential_keys", "name", |key| &key.name)
    }
}

/// One page of the names and digests of a plugin's kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KindPage {
    /// Type and digest; the digest changes when, and only when, the kind does.
    pub kinds: Vec<(ResourceType, String)>,
    /// Empty on the last page.
    pub next_page_token: String,
}

/// How a config fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigVerdict {
    /// Usable, with what the upstream takes us for.
    Usable {
        /// Account, subscription or project; empty: not reported.
        identity: String,
    },
    /// Settings or credentials do not work, with the reason.
    Unusable(Failure),
}
