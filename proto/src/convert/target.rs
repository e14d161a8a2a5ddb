//! What a call is about: type, config, owner, names, the desired state.

use std::sync::Arc;

use crossbridge_types::{Config, DesiredState, Owner, ResourceType, Secrets, Target, Violation};

use super::{document, nested, scalar};
use crate::v1alpha1 as wire;

impl TryFrom<wire::ResourceType> for ResourceType {
    type Error = Violation;

    fn try_from(wire: wire::ResourceType) -> Result<Self, Violation> {
        let resource_type = Self {
            group: wire.group,
            version: wire.version,
            kind: wire.kind,
        };
        resource_type.check()?;
        Ok(resource_type)
    }
}

impl From<&ResourceType> for wire::ResourceType {
    fn from(resource_type: &ResourceType) -> Self {
        Self {
            group: resource_type.group.clone(),
            version: resource_type.version.clone(),
            kind: resource_type.kind.clone(),
        }
    }
}

impl TryFrom<wire::ObjectRef> for Owner {
    type Error = Violation;

    fn try_from(wire: wire::ObjectRef) -> Result<Self, Violation> {
        let owner = Self {
            namespace: wire.namespace,
            name: wire.name,
            uid: wire.uid,
            generation: wire.generation,
        };
        owner.check()?;
        Ok(owner)
    }
}

impl From<&Owner> for wire::ObjectRef {
    fn from(owner: &Owner) -> Self {
        Self {
            namespace: owner.namespace.clone(),
            name: owner.name.clone(),
            uid: owner.uid.clone(),
            generation: owner.generation,
        }
    }
}

/// What is not sent stays empty.
impl TryFrom<wire::ConfigContext> for Config {
    type Error = Violation;

    fn try_from(wire: wire::ConfigContext) -> Result<Self, Violation> {
        let config = Self {
            id: wire.config_id,
            revision: wire.revision,
            settings_digest: String::new(),
            identity: String::new(),
            settings: document::optional(wire.settings, "settings")?,
            credentials: Secrets(wire.credentials.into_iter().collect()),
            credentials_expire: scalar::time(wire.credentials_expire_time, "credentials_expire_time")?,
        };
        config.check()?;
        Ok(config)
    }
}

impl From<&Config> for wire::ConfigContext {
    fn from(config: &Config) -> Self {
        Self {
            config_id: config.id.clone(),
            revision: config.revision.clone(),
            settings: config.settings.clone().map(wire::Document::of),
            credentials: config.credentials.0.clone().into_iter().collect(),
            credentials_expire_time: scalar::wire_time(config.credentials_expire),
        }
    }
}

impl TryFrom<wire::Target> for Target {
    type Error = Violation;

    fn try_from(wire: wire::Target) -> Result<Self, Violation> {
        let target = Self {
            resource_type: nested::required(wire.resource_type, "resource_type")?,
            config: Arc::new(nested::required(wire.config, "config")?),
            owner: nested::required(wire.owner, "owner")?,
            external_name: wire.external_name,
            ownership_marker: wire.ownership_marker,
            former_marker: wire.former_marker,
            provider_state: wire.provider_state,
        };
        target.check()?;
        Ok(target)
    }
}

impl From<&Target> for wire::Target {
    fn from(target: &Target) -> Self {
        Self {
            resource_type: Some((&target.resource_type).into()),
            config: Some((&*target.config).into()),
            owner: Some((&target.owner).into()),
            external_name: target.external_name.clone(),
            ownership_marker: target.ownership_marker.clone(),
            former_marker: target.former_marker.clone(),
            provider_state: target.provider_state.clone(),
        }
    }
}

impl TryFrom<wire::DesiredState> for DesiredState {
    type Error = Violation;

    fn try_from(wire: wire::DesiredState) -> Result<Self, Violation> {
        let values = wire.sensitive_values.into_iter();
        let desired = Self {
            parameters: document::required(wire.parameters, "parameters")?,
            sensitive: Secrets(
                values
                    .map(|(pointer, text)| (pointer, text.into_bytes()))
                    .collect(),
            ),
        };
        desired.check()?;
        Ok(desired)
    }
}

/// Fails where a sensitive value is no text.
impl TryFrom<&DesiredState> for wire::DesiredState {
    type Error = Violation;

    fn try_from(desired: &DesiredState) -> Result<Self, Violation> {
        desired.check()?;
        let text = |(pointer, value): (&String, &Vec<u8>)| {
            // Checked above: nothing is replaced.
            (pointer.clone(), String::from_utf8_lossy(value).into_owned())
        };
        Ok(Self {
            parameters: Some(wire::Document::of(desired.parameters.clone())),
            sensitive_values: desired.sensitive.0.iter().map(text).collect(),
        })
    }
}

impl From<ResourceType> for wire::ResourceType {
    fn from(resource_type: ResourceType) -> Self {
        (&resource_type).into()
    }
}
