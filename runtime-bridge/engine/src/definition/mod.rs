//! The shell of definitions of composite resources (XRDs): writes their CRDs, serves their composite resources while those are established, and takes
//! all of it down with the definition. What a definition says is [`bridge_core::definition`], its CRDs are [`bridge_core::crd`].

mod controller;
mod crds;
mod follow;
mod instance_deletions;
mod pass;
mod remains;
mod removal;
mod served_types;
mod standby;
mod types;
mod unlisted_since;

pub(crate) use self::crds::claim_crd_left;
pub use self::{
    controller::DefinitionReconciler,
    standby::Standby,
    types::{DefinedType, DefinedTypes},
};

use std::sync::Arc;

use bridge_core::{
    definition::{GROUP, KIND, PLURAL},
    watch_plan::GroupKind,
};

use crate::object::ApiType;

/// Definitions, in the version in which they are stored.
pub fn api() -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: GroupKind::new(GROUP, KIND),
        version: "v1".to_owned(),
        plural: PLURAL.to_owned(),
        namespaced: false,
    })
}
