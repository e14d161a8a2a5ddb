//! Whom and what a call is about.

use std::{fmt, time::SystemTime};

use super::{Document, Secrets, Violation, document, nested, text};
use crate::v1alpha1 as wire;

/// API type of a managed resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceType {
    /// API group, a DNS subdomain.
    pub group: String,
    /// Version, a DNS label.
    pub version: String,
    /// Kind, in `PascalCase`.
    pub kind: String,
}

impl ResourceType {
    /// Checks the forms of its three parts.
    pub fn check(&self) -> Result<(), Violation> {
        text::api_group(&self.group, "group")?;
        text::dns_label(&self.version, "version")?;
        text::pascal_case(&self.kind, "kind")
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.kind, self.group, self.version)
    }
}

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

impl From<ResourceType> for wire::ResourceType {
    fn from(resource_type: ResourceType) -> Self {
        Self {
            group: resource_type.group,
            version: resource_type.version,
            kind: resource_type.kind,
        }
    }
}

/// The Kubernetes object on whose behalf a call is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation` that the wish was taken from.
    pub generation: i64,
}

impl TryFrom<wire::ObjectRef> for Owner {
    type Error = Violation;

    fn try_from(wire: wire::ObjectRef) -> Result<Self, Violation> {
        text::required(&wire.name, "name")?;
        text::required(&wire.uid, "uid")?;
        Ok(Self {
            namespace: wire.namespace,
            name: wire.name,
            uid: wire.uid,
            generation: wire.generation,
        })
    }
}

impl From<Owner> for wire::ObjectRef {
    fn from(owner: Owner) -> Self {
        Self {
            namespace: owner.namespace,
            name: owner.name,
            uid: owner.uid,
            generation: owner.generation,
        }
    }
}

/// A resolved provider config: where, and as whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Stable id of the `ProviderConfig`.
    pub config_id: String,
    /// Changes whenever settings or credentials do.
    pub revision: String,
    /// Valid by the plugin's config schema.
    pub settings: Option<Document>,
    /// Empty: ambient identity.
    pub credentials: Secrets,
    /// After this the credentials are stale.
    pub credentials_expire_time: Option<SystemTime>,
}

impl TryFrom<wire::ConfigContext> for Config {
    type Error = Violation;

    fn try_from(wire: wire::ConfigContext) -> Result<Self, Violation> {
        text::required(&wire.config_id, "config_id")?;
        text::required(&wire.revision, "revision")?;
        Ok(Self {
            config_id: wire.config_id,
            revision: wire.revision,
            settings: document::optional(wire.settings, "settings")?,
            credentials: wire.credentials.into(),
            credentials_expire_time: text::time(wire.credentials_expire_time, "credentials_expire_time")?,
        })
    }
}

impl From<Config> for wire::ConfigContext {
    fn from(config: Config) -> Self {
        Self {
            config_id: config.config_id,
            revision: config.revision,
            settings: config.settings.map(wire::Document::of),
            credentials: config.credentials.into(),
            credentials_expire_time: config.credentials_expire_time.map(Into::into),
        }
    }
}

/// What a call is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Type.
    pub resource_type: ResourceType,
    /// Where and as whom.
    pub config: Config,
    /// For whom.
    pub owner: Owner,
    /// Empty where none is known. Update and Delete require one; whether Observe and Create do is the kind's matter.
    pub external_name: String,
    /// At most 63 of `[a-z0-9-]`, begins with a letter.
    pub ownership_marker: String,
    /// Another that counts as ours; empty: none.
    pub former_marker: String,
    /// Whatever the plugin last returned, at most 4 KiB; empty: nothing.
    pub provider_state: String,
}

impl TryFrom<wire::Target> for Target {
    type Error = Violation;

    fn try_from(wire: wire::Target) -> Result<Self, Violation> {
        text::required(&wire.ownership_marker, "ownership_marker")?;
        text::marker(&wire.ownership_marker, "ownership_marker")?;
        text::marker(&wire.former_marker, "former_marker")?;
        text::at_most(&wire.provider_state, text::STATE_LIMIT, "provider_state")?;
        Ok(Self {
            resource_type: nested::required(wire.resource_type, "resource_type")?,
            config: nested::required(wire.config, "config")?,
            owner: nested::required(wire.owner, "owner")?,
            external_name: wire.external_name,
            ownership_marker: wire.ownership_marker,
            former_marker: wire.former_marker,
            provider_state: wire.provider_state,
        })
    }
}

impl From<Target> for wire::Target {
    fn from(target: Target) -> Self {
        Self {
            resource_type: Some(target.resource_type.into()),
            config: Some(target.config.into()),
            owner: Some(target.owner.into()),
            external_name: target.external_name,
            ownership_marker: target.ownership_marker,
            former_marker: target.former_marker,
            provider_state: target.provider_state,
        }
    }
}
