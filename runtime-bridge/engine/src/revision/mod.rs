//! The shells of compositions and of their revisions: revisions are created, adopted, renumbered and collected, and each says whether its pipeline can be
//! run. What is decided, and why, is [`bridge_core::revision`].

mod composition;
mod references;
mod validity;

pub(crate) use self::validity::active_functions;
pub use self::{composition::CompositionReconciler, validity::RevisionReconciler};

use std::sync::Arc;

use bridge_core::{
    definition::GROUP,
    revision::{COMPOSITION, COMPOSITION_REVISION},
    watch_plan::GroupKind,
};

use crate::object::ApiType;

/// Compositions.
pub fn compositions() -> Arc<ApiType> {
    api(COMPOSITION, "compositions")
}

/// Revisions of compositions.
pub fn revisions() -> Arc<ApiType> {
    api(COMPOSITION_REVISION, "compositionrevisions")
}

fn api(kind: &str, plural: &str) -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: GroupKind::new(GROUP, kind),
        version: "v1".to_owned(),
        plural: plural.to_owned(),
        namespaced: false,
    })
}
