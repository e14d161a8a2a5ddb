use std::{collections::BTreeMap, sync::Arc};

use bridge_core::watch_plan::GroupKind;

use super::{Cause, Change, References, index::Index, kind::KindObjects, tombstones::Tombstones};
use crate::object::{Key, Object};

/// All objects, and the indexes that span kinds.
#[derive(Default)]
pub(super) struct Objects {
    /// The last one of a kind counts.
    pub(super) references: BTreeMap<GroupKind, Vec<(u64, Arc<References>)>>,
    pub(super) kinds: BTreeMap<GroupKind, KindObjects>,
    pub(super) owners: Index<String>,
    pub(super) referrers: Index<Key>,
    pub(super) tombstones: Tombstones,
}

impl Objects {
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.kinds.get(key.kind())?.get(key)
    }

    pub(super) fn rule(&self, kind: &GroupKind) -> Option<Arc<References>> {
        self.references
            .get(kind)?
            .last()
            .map(|(_, rule)| Arc::clone(rule))
    }

    /// The object refers to these from now on, if it is still the one that is known.
    pub(super) fn refer(&mut self, object: &Arc<Object>, references: Vec<Key>) {
        let key = object.key();
        let Some(kind) = self.kinds.get_mut(key.kind()) else {
            return;
        };
        if !kind.get(&key).is_some_and(|known| Arc::ptr_eq(&known, object)) {
            return;
        }
        for former in kind.references_of(&key) {
            self.referrers.remove(former, &key);
        }
        for reference in &references {
            self.referrers.insert(reference.clone(), &key);
        }
        kind.set_references(&key, references);
    }

    pub(super) fn put(&mut self, object: Arc<Object>, cause: Cause) -> Option<Change> {
        if self.tombstones.contains(object.uid()) {
            return None;
        }
        if is_finally_deleted(&object) {
            return self.gone(&object.key(), object.uid(), cause);
        }
        let key = object.key();
        let references = self.rule(key.kind()).map(|rule| rule(&object));
        let kind = self.kinds.get_mut(key.kind())?;
        let change = kind.put(&key, object, cause)?;
        if let Some(old) = &change.old {
            unindex(
                &mut self.owners,
                &mut self.referrers,
                kind.references_of(&key),
                old,
                &key,
            );
            if let Some(new) = &change.new
                && new.uid() != old.uid()
            {
                self.tombstones.add(old.uid());
            }
        }
        if let Some(new) = &change.new {
            for owner in new.owners() {
                self.owners.insert(owner.uid.clone(), &key);
            }
            let references = references.unwrap_or_default();
            for reference in &references {
                self.referrers.insert(reference.clone(), &key);
            }
            kind.set_references(&key, references);
        }
        Some(change)
    }

    pub(super) fn gone(&mut self, key: &Key, uid: &str, cause: Cause) -> Option<Change> {
        self.tombstones.add(uid);
        let kind = self.kinds.get_mut(key.kind())?;
        if kind.get(key)?.uid() != uid {
            return None;
        }
        let references = kind.references_of(key).to_vec();
        let old = kind.remove(key)?;
        unindex(&mut self.owners, &mut self.referrers, &references, &old, key);
        Some(Change {
            key: key.clone(),
            old: Some(old),
            new: None,
            cause,
        })
    }

    pub(super) fn end_list(&mut self, kind: &GroupKind, version: u64) -> Vec<Change> {
        let missing = self
            .kinds
            .get_mut(kind)
            .map(|objects| objects.end_list(version))
            .unwrap_or_default();
        missing
            .iter()
            .filter_map(|(key, uid)| self.gone(key, uid, Cause::Watched))
            .collect()
    }

    pub(super) fn close(&mut self, kind: &GroupKind) -> Vec<Change> {
        let all = self.kinds.get(kind).map(KindObjects::all).unwrap_or_default();
        let changes = all
            .iter()
            .filter_map(|o| self.gone(&o.key(), o.uid(), Cause::Watched))
            .collect();
        self.kinds.remove(kind);
        changes
    }

    pub(super) fn forget(&mut self, kind: &GroupKind) {
        let Some(objects) = self.kinds.remove(kind) else {
            return;
        };
        for object in objects.all() {
            let key = object.key();
            unindex(
                &mut self.owners,
                &mut self.referrers,
                objects.references_of(&key),
                &object,
                &key,
            );
        }
    }
}

fn unindex(
    owners: &mut Index<String>,
    referrers: &mut Index<Key>,
    references: &[Key],
    object: &Object,
    key: &Key,
) {
    for owner in object.owners() {
        owners.remove(&owner.uid, key);
    }
    for reference in references {
        referrers.remove(reference, key);
    }
}

/// The API server removes such an object in the very write that it answers.
fn is_finally_deleted(object: &Object) -> bool {
    object.is_deleting() && object.meta.finalizers.as_ref().is_none_or(Vec::is_empty)
}
