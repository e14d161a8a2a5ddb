//! Which revisions are referred to.

use std::collections::BTreeSet;

use bridge_core::{composite::Preferences, revision::Composition, watch_plan::GroupKind};

use crate::{
    definition::DefinedTypes,
    store::Store,
    watch::{WatchState, Watches},
};

/// Names of the revisions that composite resources of a composition's type refer to; `None`: not all of those who may refer to one are known.
pub(super) fn referenced(
    composition: &Composition,
    types: &DefinedTypes,
    store: &Store,
    watches: &Watches,
) -> Option<BTreeSet<String>> {
    let group = composition.type_ref.api_version.rsplit_once('/')?.0;
    let kind = GroupKind::new(group, &composition.type_ref.kind);
    let terms = types.get(&kind)?.terms;
    // Claims refer to revisions, too, and are not watched.
    if terms.claim.is_some() || watches.state(&kind) != WatchState::Live {
        return None;
    }
    let all = store.list(&kind);
    if !all.iter().all(|object| object.is_readable()) {
        return None;
    }
    let names = all
        .iter()
        .filter_map(|object| Preferences::read(&object.to_value(), terms.machinery).revision);
    Some(names.collect())
}
