use std::{collections::BTreeMap, sync::Arc};

use bridge_core::watch_plan::GroupKind;

use super::{
    Cause, Change, Edge, dependencies::Dependencies, edge::Outgoing, forgotten::Forgotten, kind::KindObjects,
    tombstones::Tombstones,
};
use crate::object::{Key, Object};

/// Edges of one kind, by registration: the last count.
pub(super) type RegisteredByKind = Vec<(u64, Arc<[Edge]>)>;

/// Where an object comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// A write of ours was answered with it.
    Answer,
    /// It was read past the watch.
    Read,
    /// The list or watch of its kind shows it.
    Watch,
}

/// All objects, and the indexes that span kinds.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) edges: BTreeMap<GroupKind, RegisteredByKind>,
    pub(super) kinds: BTreeMap<GroupKind, KindObjects>,
    pub(super) dependencies: Dependencies,
    pub(super) tombstones: Tombstones,
    forgotten: Forgotten,
}

impl Objects {
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.kinds.get(key.kind())?.get(key)
    }

    /// The edges that count for a kind.
    pub(super) fn edges(&self, kind: &GroupKind) -> Option<Arc<[Edge]>> {
        self.edges.get(kind)?.last().map(|(_, edges)| Arc::clone(edges))
    }

    /// The object depends on these from now on, if it is still the one that is known.
    pub(super) fn connect(&mut self, object: &Arc<Object>, outgoing: Outgoing) {
        let key = object.key();
        let Some(kind) = self.kinds.get_mut(key.kind()) else {
            return;
        };
        if !kind.get(&key).is_some_and(|known| Arc::ptr_eq(&known, object)) {
            return;
        }
        let former = kind.set_outgoing(&key, Outgoing::default());
        self.dependencies.unindex(&former, &key);
        self.dependencies.index(&outgoing, &key);
        drop(kind.set_outgoing(&key, outgoing));
    }

    /// An answer that bears a `deletionTimestamp` and nothing that holds it says that the object is gone, as the API server removes it in the very
    /// write that it answers.
    pub(super) fn put(
        &mut self,
        object: Arc<Object>,
        outgoing: Outgoing,
        cause: Cause,
        source: Source,
    ) -> Option<Change> {
        if source == Source::Answer && object.is_finally_deleted() {
            return self.gone(&object.key(), object.uid(), cause);
        }
        let is_gone = self.tombstones.contains(object.uid());
        // The kind's next watch shows what has outlived its definition. An answer or a read may be from before.
        let returns = is_gone && source == Source::Watch && self.tombstones.is_with_kind(object.uid());
        if is_gone && !returns {
            return None;
        }
        let key = object.key();
        let kind = self.kinds.get_mut(key.kind())?;
        let change = kind.put(&key, object, cause)?;
        if let Some(old) = &change.old {
            let former = kind.set_outgoing(&key, Outgoing::default());
            self.dependencies.unindex(&former, &key);
            if let Some(new) = &change.new
                && new.uid() != old.uid()
            {
                self.tombstones.add(old.uid());
            }
        }
        if let Some(new) = &change.new {
            if returns {
                self.tombstones.remove(new.uid());
            }
            self.forgotten.take(key.kind(), new.uid());
            self.dependencies.index(&outgoing, &key);
            drop(kind.set_outgoing(&key, outgoing));
        }
        Some(change)
    }

    /// Does what [`Objects::put`] does with what is known already, and says whether it is.
    pub(super) fn note_known(&mut self, key: &Key, uid: &str, version: u64) -> bool {
        // What is tombstoned is stored no more.
        let kind = self.kinds.get_mut(key.kind());
        kind.is_some_and(|kind| kind.note_known(key, uid, version))
    }

    pub(super) fn gone(&mut self, key: &Key, uid: &str, cause: Cause) -> Option<Change> {
        self.tombstones.add(uid);
        self.take(key, uid, cause)
    }

    fn take(&mut self, key: &Key, uid: &str, cause: Cause) -> Option<Change> {
        let forgotten = self.forgotten.take(key.kind(), uid);
        let old = self.remove(key, uid).or(forgotten)?;
        Some(Change {
            key: key.clone(),
            old: Some(old),
            new: None,
            cause,
        })
    }

    fn remove(&mut self, key: &Key, uid: &str) -> Option<Arc<Object>> {
        let kind = self.kinds.get_mut(key.kind())?;
        if kind.get(key)?.uid() != uid {
            return None;
        }
        let former = kind.set_outgoing(key, Outgoing::default());
        let old = kind.remove(key)?;
        self.dependencies.unindex(&former, key);
        Some(old)
    }

    pub(super) fn end_list(&mut self, kind: &GroupKind, version: u64) -> Vec<Change> {
        let Some(objects) = self.kinds.get_mut(kind) else {
            return Vec::new();
        };
        let mut missing = objects.end_list(version);
        let forgotten = self.forgotten.of_kind(kind);
        let forgotten = forgotten
            .filter(|last| last.resource_version() <= version && !objects.is_unreadable(&last.key()));
        missing.extend(forgotten.map(|last| (last.key(), last.uid().to_owned())));
        missing
            .iter()
            .filter_map(|(key, uid)| self.gone(key, uid, Cause::Watched))
            .collect()
    }

    pub(super) fn close(&mut self, kind: &GroupKind) -> Vec<Change> {
        let mut all = self.kinds.get(kind).map(KindObjects::all).unwrap_or_default();
        all.extend(self.forgotten.of_kind(kind).cloned());
        let changes = all
            .iter()
            .filter_map(|o| {
                self.tombstones.add_with_kind(o.uid());
                self.take(&o.key(), o.uid(), Cause::Watched)
            })
            .collect();
        self.kinds.remove(kind);
        changes
    }

    pub(super) fn forget(&mut self, kind: &GroupKind) {
        let Some(mut objects) = self.kinds.remove(kind) else {
            return;
        };
        let all = objects.all();
        for object in &all {
            let key = object.key();
            let former = objects.set_outgoing(&key, Outgoing::default());
            self.dependencies.unindex(&former, &key);
        }
        for object in all {
            if self.has_dependants(&object) {
                self.forgotten.add(&object);
            }
        }
    }
}
