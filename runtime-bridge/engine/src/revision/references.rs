//! Which revisions are referred to.

use std::{collections::BTreeSet, sync::Arc};

use bridge_core::{composite::Preferences, definition::Terms, revision::Composition, watch_plan::GroupKind};

use crate::{
    api_error::ApiError,
    definition::{self, DefinedTypes},
    object::{Key, Object},
    store::Store,
    watch::{WatchState, Watches},
    write::Writer,
};

/// Who may refer to the revisions of a composition: composite resources of its type, and their claims.
pub(super) struct Users {
    kinds: Vec<GroupKind>,
    terms: Arc<Terms>,
}

impl Users {
    /// `None`: not all of them are known.
    pub(super) fn of(
        composition: &Composition,
        types: &DefinedTypes,
        store: &Store,
        watches: &Watches,
    ) -> Option<Self> {
        let group = composition.type_ref.api_version.rsplit_once('/')?.0;
        let kind = GroupKind::new(group, &composition.type_ref.kind);
        let terms = types.get(&kind)?.terms;
        let definition = Key::new(definition::api().kind.clone(), None, &terms.definition);
        let definition = store.get(&definition)?;
        // Claims that are offered no more live on, in a CRD that is still the definition's.
        if terms.claim.is_none() {
            let crds = watches.definitions_controlled_by(definition.uid())?;
            if crds.iter().any(|crd| crd != definition.name()) {
                return None;
            }
        }
        let kinds = terms.claim.iter().map(|claim| claim.kind.clone());
        Some(Self {
            kinds: kinds.chain([kind]).collect(),
            terms,
        })
    }

    /// Names of the revisions that they refer to, as far as is known without asking; `None`: some of them are not known.
    pub(super) fn referenced(&self, store: &Store, watches: &Watches) -> Option<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for kind in &self.kinds {
            if watches.state(kind) != WatchState::Live {
                return None;
            }
            self.add(&mut names, &store.list(kind))?;
        }
        Some(names)
    }

    /// Likewise, by asking: copies are behind for as long as nobody notices that a connection is dead, and what refers to a revision cannot be mended
    /// once that is gone.
    pub(super) async fn referenced_live(
        &self,
        writer: &Writer,
        watches: &Watches,
    ) -> Result<BTreeSet<String>, ApiError> {
        let mut names = BTreeSet::new();
        for kind in &self.kinds {
            let api = watches
                .wanted_api(kind)
                .ok_or_else(|| ApiError::NotServed(format!("{kind} is not watched any more")))?;
            let all = writer.list_live(&api, None).await?;
            self.add(&mut names, &all)
                .ok_or_else(|| ApiError::Unusable(format!("an object of {kind} cannot be read")))?;
        }
        Ok(names)
    }

    /// `None`: one of them cannot be read.
    fn add(&self, names: &mut BTreeSet<String>, all: &[Arc<Object>]) -> Option<()> {
        for object in all {
            if !object.is_readable() {
                return None;
            }
            names.extend(Preferences::read(&object.to_value(), self.terms.machinery).revision);
        }
        Some(())
    }
}
