//! What a plugin is, and whether a config is usable.

use crossbridge_types::{
    Config, ConfigVerdict, CredentialKey, DEFAULT_CONCURRENT_CALLS, DEFAULT_MESSAGE_BYTES, KindPage,
    PluginInfo, Violation, check, limits,
};

use super::{document, nested, scalar};
use crate::v1alpha1 as wire;

impl TryFrom<wire::GetPluginInfoResponse> for PluginInfo {
    type Error = Violation;

    fn try_from(wire: wire::GetPluginInfoResponse) -> Result<Self, Violation> {
        let lists_external = wire
            .features()
            .any(|feature| feature == wire::Feature::ListExternal);
        let info = Self {
            name: wire.name,
            version: wire.version,
            contract_versions: wire.contract_versions,
            lists_external,
            instance_id: wire.instance_id,
            max_concurrent_calls: scalar::count(wire.max_concurrent_calls, "max_concurrent_calls")?
                .unwrap_or(DEFAULT_CONCURRENT_CALLS),
            max_message_bytes: scalar::count(wire.max_message_bytes, "max_message_bytes")?
                .unwrap_or(DEFAULT_MESSAGE_BYTES),
            config_schema: document::optional_schema(&wire.config_schema_json, "config_schema_json")?,
            credential_keys: wire
                .credential_keys
                .into_iter()
                .map(|key| CredentialKey {
                    name: key.name,
                    description: limits::cut(key.description),
                    required: key.required,
                })
                .collect(),
        };
        info.check()?;
        Ok(info)
    }
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
                .map(|schema| schema.to_string())
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

impl TryFrom<wire::ListResourceKindsResponse> for KindPage {
    type Error = Violation;

    fn try_from(wire: wire::ListResourceKindsResponse) -> Result<Self, Violation> {
        let summary = |(index, summary): (usize, wire::ResourceKindSummary)| {
            check::required(&summary.digest, "digest")
                .and_then(|()| check::name(&summary.digest, "digest"))
                .and_then(|()| nested::required(summary.resource_type, "resource_type"))
                .map(|resource_type| (resource_type, summary.digest))
                .map_err(|violation| violation.within(format_args!("kinds[{index}]")))
        };
        check::name(&wire.next_page_token, "next_page_token")?;
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

impl TryFrom<wire::CheckConfigResponse> for ConfigVerdict {
    type Error = Violation;

    fn try_from(wire: wire::CheckConfigResponse) -> Result<Self, Violation> {
        check::name(&wire.identity, "identity")?;
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
