//! The CRDs of a plugin.

use std::sync::Arc;

use bridge_core::{
    crd,
    kind::{Kind, ResourceType},
};
use bridge_engine::serve::DefinitionMode;
use bridge_plugin::Served;
use clap::ValueEnum;
use serde_json::Value;

use crate::plugins::Groups;

/// How CRDs in the cluster are managed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CrdMode {
    /// The leader creates them, and updates those that a bridge has created; never back to those of an older version.
    Install,
    /// Leave them alone, and serve the kinds whose CRDs are as they should be.
    Check,
}

impl From<CrdMode> for DefinitionMode {
    fn from(mode: CrdMode) -> Self {
        match mode {
            CrdMode::Install => Self::Install,
            CrdMode::Check => Self::Check,
        }
    }
}

/// A kind that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kind {kind} cannot be served: {why}")]
pub struct Refused {
    /// The type of the kind that is left out.
    pub kind: ResourceType,
    /// The rule of CRDs that it breaks.
    pub why: String,
}

/// All CRDs of one plugin.
pub struct Definitions {
    /// The CRDs of the plugin's two config kinds, by name.
    pub configs: Vec<(String, Value)>,
    /// The kinds that can be served, each with its CRD.
    pub kinds: Vec<(Arc<Kind>, Value)>,
    /// Kinds that have none.
    pub refused: Vec<Refused>,
}

impl Definitions {
    /// Creates the CRDs of what a plugin serves, as far as it may serve them: in its own groups and in these.
    pub fn of(served: &Served, groups: &Groups) -> Self {
        let name = |kind: &str| {
            let resource_type = ResourceType {
                group: served.info.name.clone(),
                version: crd::CONFIG_VERSION.into(),
                kind: kind.into(),
            };
            resource_type.to_string()
        };
        let mut definitions = Self {
            configs: vec![
                (name(crd::PROVIDER_CONFIG), crd::provider_config(&served.info)),
                (
                    name(crd::CLUSTER_PROVIDER_CONFIG),
                    crd::cluster_provider_config(&served.info),
                ),
            ],
            kinds: Vec::new(),
            refused: Vec::new(),
        };
        for refused in &served.refused {
            definitions.refused.push(Refused {
                kind: refused.resource_type.clone(),
                why: format!("invalid kind definition from the plugin: {}", refused.why),
            });
        }
        for kind in &served.kinds {
            if let Some(why) = groups.refusal(&served.info.name, &kind.resource_type) {
                definitions.refused.push(Refused {
                    kind: kind.resource_type.clone(),
                    why,
                });
                continue;
            }
            match crd::managed(kind) {
                Ok(crd) => definitions.kinds.push((Arc::clone(kind), crd)),
                Err(refused) => definitions.refused.push(Refused {
                    kind: refused.kind,
                    why: refused.why.to_string(),
                }),
            }
        }
        let version = &served.info.version;
        let configs = definitions.configs.iter_mut().map(|(_, crd)| crd);
        let kinds = definitions.kinds.iter_mut().map(|(_, crd)| crd);
        for crd in configs.chain(kinds) {
            crd::note_plugin(crd, &served.info.name);
            crd::note_versions(crd, version, env!("CARGO_PKG_VERSION"));
        }
        definitions
    }
}
