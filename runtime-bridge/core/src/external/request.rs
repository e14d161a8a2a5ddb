//! What a call is about.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::kind::ResourceType;

use super::Document;

/// A call that a plugin serves for one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Look; changes nothing.
    Observe,
    /// Make.
    Create,
    /// Change in place.
    Update,
    /// Remove.
    Delete,
    /// Follow an operation.
    Poll,
}

/// Secret values by key. `Debug` prints the keys only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(pub BTreeMap<String, Vec<u8>>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.keys().map(|key| (key, "redacted")))
            .finish()
    }
}

/// A resolved provider config: where, and as whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Stable id of the ProviderConfig, for instance its uid.
    pub id: String,
    /// Changes whenever settings or credentials do.
    pub revision: String,
    /// Digest of the settings alone, for the record. Never of credentials.
    pub settings_digest: String,
    /// Whom the upstream takes us for, as CheckConfig said; empty if it says nothing.
    pub identity: String,
    /// Valid by the plugin's config schema.
    pub settings: Option<Document>,
    /// Empty: ambient identity.
    pub credentials: Secrets,
    /// When the credentials go stale.
    pub credentials_expire: Option<jiff::Timestamp>,
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

/// What a call is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Which kind.
    pub resource_type: ResourceType,
    /// Where and as whom.
    pub config: Arc<Config>,
    /// For whom.
    pub owner: Owner,
    /// Empty where none is known and the contract allows it.
    pub external_name: String,
    /// Ours, at most 63 of `[a-z0-9-]`.
    pub ownership_marker: String,
    /// One that a person has said is ours too; empty: none.
    pub former_marker: String,
    /// Whatever the plugin last returned; empty: nothing.
    pub provider_state: String,
}

/// What the user asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct DesiredState {
    /// The whole wish, without secrets.
    pub parameters: Document,
    /// JSON Pointer into `parameters` -> value that was read from a Secret (UTF-8).
    pub sensitive: Secrets,
}
