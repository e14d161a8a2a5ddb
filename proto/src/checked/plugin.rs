//! What a plugin is, and how a config fared.

use serde_json::Value;

use super::{Config, Document, Failure, ResourceType, Rule, Violation, kind::schema, nested, text};
use crate::v1alpha1 as wire;

/// Calls that a plugin takes at once, where it says nothing.
pub const DEFAULT_CONCURRENT_CALLS: usize = 256;

/// Largest message that a plugin takes, in bytes, where it says nothing.
pub const DEFAULT_MESSAGE_BYTES: usize = 4 << 20;

/// Who answers.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginInfo {
    /// DNS subdomain, at most 63 bytes, stable for ever.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// Contract packages served, best first; not empty.
    pub contract_versions: Vec<String>,
    /// Serves `DiscoveryService`.
    pub lists_external: bool,
    /// Random at each start.
    pub instance_id: String,
    /// Calls it will take at once; the default is filled in.
    pub max_concurrent_calls: usize,
    /// Largest message it will take, in bytes; the default is filled in.
    pub max_message_bytes: usize,
    /// Structural schema of the settings; `None`: no settings.
    pub config_schema: Option<Document>,
    /// Credentials that it understands.
    pub credential_keys: Vec<CredentialKey>,
}

/// One credential that a plugin understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialKey {
    /// Key in the credentials map.
    pub name: String,
    /// For people.
    pub description: String,
    /// Must be there unless the whole map is empty.
    pub required: bool,
}

impl TryFrom<wire::GetPluginInfoResponse> for PluginInfo {
    type Error = Violation;

    fn try_from(wire: wire::GetPluginInfoResponse) -> Result<Self, Violation> {
        text::dns_subdomain(&wire.name, text::LABEL_LIMIT, "name")?;
        text::semantic_version(&wire.version, "version")?;
        if wire.contract_versions.is_empty() {
            return Err(Violation::new("contract_versions", Rule::Required));
        }
        text::required(&wire.instance_id, "instance_id")?;
        let lists_external = wire
            .features()
            .any(|feature| feature == wire::Feature::ListExternal);
        Ok(Self {
            name: wire.name,
            version: wire.version,
            contract_versions: wire.contract_versions,
            lists_external,
            instance_id: wire.instance_id,
            max_concurrent_calls: text::count(wire.max_concurrent_calls, "max_concurrent_calls")?
                .unwrap_or(DEFAULT_CONCURRENT_CALLS),
            max_message_bytes: text::count(wire.max_message_bytes, "max_message_bytes")?
                .unwrap_or(DEFAULT_MESSAGE_BYTES),
            config_schema: schema::optional(&wire.config_schema_json, "config_schema_json")?,
            credential_keys: credential_keys(wire.credential_keys)?,
        })
    }
}

fn credential_keys(wire: Vec<wire::CredentialKey>) -> Result<Vec<CredentialKey>, Violation> {
    let keys: Vec<_> = wire
        .into_iter()
        .map(|key| CredentialKey {
            name: key.name,
            description: key.description,
            required: key.required,
        })
        .collect();
    nested::check_each(&keys, "credential_keys", |key| {
        text::secret_key(&key.name, "name")
    })?;
    nested::distinct(&keys, "credential_keys", "name", |key| &key.name)?;
    Ok(keys)
}

impl From<PluginInfo> for wire::GetPluginInfoResponse {
    fn from(info: PluginInfo) -> Self {
        let features = if info.lists_external {
            vec![wire::Feature::ListExternal.into()]
        } else {
            Vec::new()
        };
        Self {
            name: info.name,
            version: info.version,
            contract_versions: info.contract_versions,
            features,
            instance_id: info.instance_id,
            max_concurrent_calls: i32::try_from(info.max_concurrent_calls).unwrap_or(i32::MAX),
            max_message_bytes: i64::try_from(info.max_message_bytes).unwrap_or(i64::MAX),
            config_schema_json: info
                .config_schema
                .map(|schema| Value::Object(schema).to_string())
                .unwrap_or_default(),
            credential_keys: info
                .credential_keys
                .into_iter()
                .map(|key| wire::CredentialKey {
                    name: key.name,
                    description: key.description,
                    required: key.required,
                })
                .collect(),
        }
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

impl TryFrom<wire::ListResourceKindsResponse> for KindPage {
    type Error = Violation;

    fn try_from(wire: wire::ListResourceKindsResponse) -> Result<Self, Violation> {
        let summary = |(index, summary): (usize, wire::ResourceKindSummary)| {
            text::required(&summary.digest, "digest")
                .and_then(|()| nested::required(summary.resource_type, "resource_type"))
                .map(|resource_type| (resource_type, summary.digest))
                .map_err(|violation| violation.within(format_args!("kinds[{index}]")))
        };
        Ok(Self {
            kinds: wire
                .kinds
                .into_iter()
                .enumerate()
                .map(summary)
                .collect::<Result<_, _>>()?,
            next_page_token: wire.next_page_token,
        })
    }
}

/// A config to try.
impl TryFrom<wire::CheckConfigRequest> for Config {
    type Error = Violation;

    fn try_from(wire: wire::CheckConfigRequest) -> Result<Self, Violation> {
        nested::required(wire.config, "config")
    }
}

/// How a config fared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigVerdict {
    /// Usable. Whom the upstream takes us for: account, subscription, project; empty: it does not say.
    Usable {
        /// Account, subscription, project.
        identity: String,
    },
    /// Unusable.
    Unusable(Failure),
}

impl TryFrom<wire::CheckConfigResponse> for ConfigVerdict {
    type Error = Violation;

    fn try_from(wire: wire::CheckConfigResponse) -> Result<Self, Violation> {
        Ok(match nested::optional(wire.failure, "failure")? {
            Some(failure) => Self::Unusable(failure),
            None => Self::Usable {
                identity: wire.identity,
            },
        })
    }
}

impl From<ConfigVerdict> for wire::CheckConfigResponse {
    fn from(verdict: ConfigVerdict) -> Self {
        match verdict {
            ConfigVerdict::Usable { identity } => Self {
                failure: None,
                identity,
            },
            ConfigVerdict::Unusable(failure) => Self {
                failure: Some(failure.into()),
                identity: String::new(),
            },
        }
    }
}
