//! What is checked of a plugin's description of itself and of its kinds, beside its own form.

use bridge_core::kind::{Kind, PluginInfo, ResourceType};
use crossbridge_proto::v1alpha1 as wire;

use crate::CONTRACT_VERSION;

/// Why an answer to `GetPluginInfo` is of no use.
pub(crate) enum InvalidInfo {
    /// The plugin speaks these versions only.
    Contract(Vec<String>),
    /// The answer breaks the contract, for this reason.
    Other(String),
}

/// The version is checked first, as another version's answer may be of another form.
pub(crate) fn info(answer: wire::GetPluginInfoResponse) -> Result<PluginInfo, InvalidInfo> {
    let versions = &answer.contract_versions;
    if !versions.is_empty() && !versions.iter().any(|version| version == CONTRACT_VERSION) {
        return Err(InvalidInfo::Contract(answer.contract_versions));
    }
    PluginInfo::try_from(answer).map_err(|violation| InvalidInfo::Other(violation.to_string()))
}

/// One kind, which must be the one that was asked for.
pub(crate) fn kind(
    answer: wire::GetResourceKindResponse,
    asked: &ResourceType,
    digest: &str,
) -> Result<Kind, String> {
    let kind = Kind::try_from(answer).map_err(|violation| violation.to_string())?;
    if kind.resource_type != *asked {
        return Err(format!(
            "resource_kind.resource_type is {}, and {asked} was asked for",
            kind.resource_type
        ));
    }
    Ok(Kind {
        digest: digest.into(),
        ..kind
    })
}
