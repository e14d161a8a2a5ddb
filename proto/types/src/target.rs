//! What a call is about: type, config, owner, names.

use std::sync::Arc;

use crate::{Document, ResourceType, Secrets, Violation, check};

/// A resolved provider config: where, and as whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Stable id of the `ProviderConfig`, for instance its uid.
    pub id: String,
    /// Changes whenever settings or credentials do.
    pub revision: String,
    /// Digest of the settings alone, for the record. Never of credentials. Not sent.
    pub settings_digest: String,
    /// The identity that the upstream sees, as CheckConfig reported it; empty: none. Not sent.
    pub identity: String,
    /// Valid by the plugin's config schema.
    pub settings: Option<Document>,
    /// Resolved credentials by key; empty: the plugin's ambient identity.
    pub credentials: Secrets,
    /// When the credentials go stale.
    pub credentials_expire: Option<jiff::Timestamp>,
}

/// The Kubernetes object on whose behalf a call is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    /// The object's `metadata.name`.
    pub name: String,
    /// The object's `metadata.uid`.
    pub uid: String,
    /// `metadata.generation` of the desired state.
    pub generation: i64,
}

/// What a call is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// The type of the resource.
    pub resource_type: ResourceType,
    /// The config of the call: where, and as whom.
    pub config: Arc<Config>,
    /// The Kubernetes object that the resource belongs to.
    pub owner: Owner,
    /// Empty where none is known and the contract allows it.
    pub external_name: String,
    /// At most 63 of `[a-z0-9-]`, begins with a letter.
    pub ownership_marker: String,
    /// Another that counts as ours too; empty: none.
    pub former_marker: String,
    /// Whatever the plugin last returned, at most 4 KiB; empty: nothing.
    pub provider_state: String,
}

impl Config {
    /// Checks that it can be identified.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Violation> {
        check::required(&self.id, "config_id")?;
        check::required(&self.revision, "revision")
    }
}

impl Owner {
    /// Checks that it can be identified.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Violation> {
        check::required(&self.name, "name")?;
        check::required(&self.uid, "uid")
    }
}

impl Target {
    /// Checks sizes and forms, and every part. Whether there must be an external name depends on the call.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Violation> {
        check::required(&self.ownership_marker, "ownership_marker")?;
        check::marker(&self.ownership_marker, "ownership_marker")?;
        check::marker(&self.former_marker, "former_marker")?;
        check::at_most(&self.provider_state, check::STATE_LIMIT, "provider_state")?;
        let within = |field| move |violation: Violation| violation.within(field);
        self.resource_type.check().map_err(within("resource_type"))?;
        self.config.check().map_err(within("config"))?;
        self.owner.check().map_err(within("owner"))
    }
}
