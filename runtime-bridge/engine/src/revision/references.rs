//! Which revisions are referred to.

use std::collections::BTreeSet;

use bridge_core::{composite::Preferences, revision::Composition, watch_plan::GroupKind};

use crate::{
    definition::DefinedTypes,
    store::Store,
    watch::{WatchState, Watches},
};

/// Names of the revisions that composite resources of a composition's type, and their claims, refer to; `None`: not all of those who may refer to one are known.
pub(super) fn referenced(
    composition: &Composition,
    types: &DefinedTypes,
    store: &Store,
    watches: &Watches,
) -> Option<BTreeSet<String>> {
    let group = composition.type_ref.api_version.rsplit_once('/')?.0;
    let kind = GroupKind::new(group, &composition.type_ref.kind);
    let terms = types.get(&kind)?.terms;
    let mut names = BTreeSet::new();
    for kind in terms.claim.iter().map(|claim| &claim.kind).chain([&kind]) {
        if watches.state(kind) != WatchState::Live {
            return None;
        }
        for object in store.list(kind) {
            if !object.is_readable() {
                return None;
            }
            names.extend(Preferences::read(&object.to_value(), terms.machinery).revision);
        }
    }
    Some(names)
}
