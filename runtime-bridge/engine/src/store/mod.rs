//! What the bridge knows of the cluster: objects by kind, indexes, tombstones. Synchronous, and never behind our own writes.

mod change;
mod dependencies;
pub mod edge;
mod forgotten;
mod index;
mod kind;
mod objects;
mod tombstones;
mod wakes;

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bridge_core::watch_plan::GroupKind;
use parking_lot::RwLock;

pub use self::{
    change::{Cause, Change},
    edge::{Edge, Interest, LabelSelection, NeededKind},
    kind::EXTERNAL_NAME,
};
use self::{
    edge::Outgoing,
    kind::KindObjects,
    objects::{Objects, RegisteredByKind, Source},
};
use crate::object::{Key, Object};

/// Hears of changes, in the task that brings them: it must be quick and must not block. It may look at the store.
pub type Listener = dyn Fn(&Change) + Send + Sync;

/// The objects of all watched kinds.
///
/// Per name the newest write wins, by `resourceVersion`: an event that is older than our own last write changes nothing, and
/// once a uid is known to be gone, nothing brings it back. Of one that went with its definition that is not certain: the next watch
/// of its kind may show it again.
#[derive(Default)]
pub struct Store {
    objects: RwLock<Objects>,
    listeners: RwLock<BTreeMap<GroupKind, Vec<Registered>>>,
    /// Hears of changes to all kinds, after those that listen to one.
    dispatch: RwLock<Option<Arc<Listener>>>,
    next_listener: AtomicU64,
}

struct Registered {
    id: u64,
    listener: Arc<Listener>,
}

/// What a kind's objects depend on, until this is dropped.
#[must_use = "edges count only while their handle lives"]
pub struct RegisteredEdges {
    store: Arc<Store>,
    kind: GroupKind,
    id: u64,
}

impl RegisteredEdges {
    /// These count instead, and no change in between is missed.
    pub fn replace(&self, edges: Arc<[Edge]>) {
        let id = self.id;
        self.store.change_edges(&self.kind, |registered| {
            let ours = registered.iter_mut().find(|(of, _)| *of == id);
            let former = ours.map(|(_, ours)| (id, mem::replace(ours, edges)));
            former.into_iter().collect()
        });
    }
}

impl Drop for RegisteredEdges {
    fn drop(&mut self) {
        let id = self.id;
        self.store.change_edges(&self.kind, |edges| {
            edges.extract_if(.., |(of, _)| *of == id).collect()
        });
    }
}

impl Store {
    /// Says how the objects of a kind depend on others, for as long as the answer is kept. Of several for one kind the newest count.
    pub fn register_edges(self: &Arc<Self>, kind: &GroupKind, edges: Arc<[Edge]>) -> RegisteredEdges {
        let id = self.next_listener.fetch_add(1, Ordering::Relaxed);
        self.change_edges(kind, |registered| {
            registered.push((id, edges));
            Vec::new()
        });
        RegisteredEdges {
            store: Arc::clone(self),
            kind: kind.clone(),
            id,
        }
    }

    /// What the objects of the kind depend on is found anew if other edges count then. `change` answers the edges that it took off.
    fn change_edges(&self, kind: &GroupKind, change: impl FnOnce(&mut RegisteredByKind) -> RegisteredByKind) {
        let (former, edges, ended) = {
            let mut objects = self.objects.write();
            let former = objects.edges(kind);
            let registered = objects.edges.entry(kind.clone()).or_default();
            let ended = change(registered);
            if registered.is_empty() {
                objects.edges.remove(kind);
            }
            (former, objects.edges(kind), ended)
        };
        // Without the lock: what an edge holds may be the last of something that has edges of its own.
        drop(ended);
        if are_same(former.as_ref(), edges.as_ref()) {
            return;
        }
        // Likewise: each object's spec is parsed for it. What comes meanwhile is found by the new edges.
        for object in self.list(kind) {
            let outgoing = edges.as_ref().map(|edges| Outgoing::of(edges, &object));
            let mut objects = self.objects.write();
            // Else whoever changed them since does this.
            if are_same(edges.as_ref(), objects.edges(kind).as_ref()) {
                objects.connect(&object, outgoing.unwrap_or_default());
            }
        }
    }

    /// One object, at least as new as our own last write of it.
    pub fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.objects.read().get(key)
    }

    /// All objects of a kind, in order of their keys.
    pub fn list(&self, kind: &GroupKind) -> Vec<Arc<Object>> {
        self.objects
            .read()
            .kinds
            .get(kind)
            .map(KindObjects::all)
            .unwrap_or_default()
    }

    /// How many objects of a kind there are.
    pub fn count(&self, kind: &GroupKind) -> usize {
        self.objects.read().kinds.get(kind).map_or(0, KindObjects::len)
    }

    /// Objects of a kind that bear an external name: who else wants it?
    pub fn with_external_name(&self, kind: &GroupKind, name: &str) -> Vec<Key> {
        self.objects
            .read()
            .kinds
            .get(kind)
            .map(|k| k.with_external_name(name))
            .unwrap_or_default()
    }

    /// What an object of this uid controls, of all kinds that are watched.
    pub fn controlled_by(&self, uid: &str) -> Vec<Arc<Object>> {
        let objects = self.objects.read();
        let keys = objects.kinds.values().flat_map(|kind| kind.controlled_by(uid));
        keys.filter_map(|key| objects.get(&key)).collect()
    }

    /// The first few objects that refer to this one, which need not exist, in order of their keys, and how many there are in all.
    pub fn first_referring_to(&self, key: &Key, most: usize) -> (Vec<Key>, usize) {
        self.objects.read().dependencies.referrers.first(key, most)
    }

    /// The kinds that stored objects need to be watched.
    pub fn needed(&self) -> BTreeSet<NeededKind> {
        self.objects
            .read()
            .dependencies
            .needed
            .values()
            .cloned()
            .collect()
    }

    /// Notified whenever [`Store::needed`] may answer otherwise. For one who waits.
    pub(crate) fn needs_changed(&self) -> Arc<tokio::sync::Notify> {
        Arc::clone(&self.objects.read().dependencies.needs_changed)
    }

    /// This uid is known to be gone. `false` says nothing: ask the API server.
    pub fn is_tombstoned(&self, uid: &str) -> bool {
        self.objects.read().tombstones.contains(uid)
    }

    /// Takes in the answer to a write of ours, so that the next look is not behind it. `by`: the object whose reconcile wrote.
    ///
    /// An answer that bears a `deletionTimestamp` and no finalizer says that the object is gone.
    pub fn observe_write(&self, object: Arc<Object>, by: Option<&Key>) {
        self.put(object, Cause::of_write(by), Source::Answer);
    }

    /// Takes in an object that was read past the watch.
    pub fn observe_read(&self, object: Arc<Object>) {
        self.put(object, Cause::Watched, Source::Read);
    }

    /// Takes in that a write or read of ours found the object with this uid gone. `by`: the object whose reconcile did.
    pub fn observe_gone(&self, key: &Key, uid: &str, by: Option<&Key>) {
        let change = self.objects.write().gone(key, uid, Cause::of_write(by));
        self.tell(change);
    }

    /// What an object depends on is found without the lock, as it parses; if other edges count when it is held, it is found anew. Of Secrets
    /// the data never comes in, whoever brings it.
    fn put(&self, object: Arc<Object>, cause: Cause, source: Source) {
        let object = if object.api.is_metadata_only() {
            Arc::new(object.identity())
        } else {
            object
        };
        let kind = &object.api.kind;
        let change = loop {
            let edges = self.objects.read().edges(kind);
            let outgoing = edges.as_ref().map(|edges| Outgoing::of(edges, &object));
            let mut objects = self.objects.write();
            if are_same(edges.as_ref(), objects.edges(kind).as_ref()) {
                break objects.put(Arc::clone(&object), outgoing.unwrap_or_default(), cause, source);
            }
        };
        self.tell(change);
    }

    /// Hears of changes to all kinds from now on: who gives objects their turns. One at a time.
    pub(crate) fn dispatch_to(&self, listener: Arc<Listener>) {
        *self.dispatch.write() = Some(listener);
    }

    /// Hears of changes to a kind from now on. Returns what [`Store::unlisten`] takes.
    pub fn listen(&self, kind: &GroupKind, listener: Arc<Listener>) -> u64 {
        let id = self.next_listener.fetch_add(1, Ordering::Relaxed);
        let registered = Registered { id, listener };
        self.listeners
            .write()
            .entry(kind.clone())
            .or_default()
            .push(registered);
        id
    }

    /// Ends it.
    pub fn unlisten(&self, kind: &GroupKind, id: u64) {
        let ended: Vec<Registered> = match self.listeners.write().get_mut(kind) {
            Some(listeners) => listeners
                .extract_if(.., |registered| registered.id == id)
                .collect(),
            None => Vec::new(),
        };
        // Without the lock: what a listener holds may be the last of an engine, whose other subscriptions then end here too.
        drop(ended);
    }

    /// Objects of this kind may come from now on. Its watch says so, or whoever has none.
    pub fn open(&self, kind: &GroupKind) {
        self.objects.write().kinds.entry(kind.clone()).or_default();
    }

    /// Likewise, in this version alone.
    pub(crate) fn open_version(&self, kind: &GroupKind, version: &str) {
        let mut objects = self.objects.write();
        objects
            .kinds
            .entry(kind.clone())
            .or_default()
            .set_version(version);
    }

    /// The kind is no longer served: its objects are gone, as far as its next watch does not show them again.
    pub(crate) fn close(&self, kind: &GroupKind) {
        let changes = self.objects.write().close(kind);
        self.tell(changes);
    }

    /// The watch is no longer wanted: its objects are forgotten, which says nothing about whether they exist. Of those on which others depend, the
    /// next list tells which are gone.
    pub(crate) fn forget(&self, kind: &GroupKind) {
        self.objects.write().forget(kind);
    }

    /// A full list begins.
    pub(crate) fn begin_list(&self, kind: &GroupKind) {
        if let Some(objects) = self.objects.write().kinds.get_mut(kind) {
            objects.begin_list();
        }
    }

    /// The full list is complete as of `version`: what it did not show, and we did not write since, is gone.
    pub(crate) fn end_list(&self, kind: &GroupKind, version: u64) {
        let changes = self.objects.write().end_list(kind, version);
        self.tell(changes);
    }

    /// An object as a list or watch shows it.
    pub(crate) fn observe(&self, object: Object) {
        self.put(Arc::new(object), Cause::Watched, Source::Watch);
    }

    /// The same of an object that may be known already, in that version or a newer one: true, if so. Nothing else of it need be read then.
    pub(crate) fn observe_known(&self, key: &Key, uid: &str, version: u64) -> bool {
        self.objects.write().note_known(key, uid, version)
    }

    /// The list shows an object that cannot be read: it exists, and stays as it was.
    pub(crate) fn observe_unreadable(&self, key: &Key) {
        if let Some(objects) = self.objects.write().kinds.get_mut(key.kind()) {
            objects.keep_unreadable(key);
        }
    }

    /// The watch shows a deletion.
    pub(crate) fn observe_deleted(&self, key: &Key, uid: &str) {
        let change = self.objects.write().gone(key, uid, Cause::Watched);
        self.tell(change);
    }

    /// With no lock of the store held: listeners may look at it.
    fn tell(&self, changes: impl IntoIterator<Item = Change>) {
        for change in changes {
            let interested: Vec<Arc<Listener>> = self
                .listeners
                .read()
                .get(change.key.kind())
                .into_iter()
                .flatten()
                .map(|registered| Arc::clone(&registered.listener))
                .chain(self.dispatch.read().clone())
                .collect();
            for listener in interested {
                // A fault of one who hears of it is neither the others' nor that of who brings it.
                if catch_unwind(AssertUnwindSafe(|| listener(&change))).is_err() {
                    tracing::error!(object = %change.key, "a listener panicked");
                }
            }
        }
    }
}

fn are_same(one: Option<&Arc<[Edge]>>, other: Option<&Arc<[Edge]>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => Arc::ptr_eq(one, other),
        (one, other) => one.is_none() && other.is_none(),
    }
}

#[cfg(test)]
mod tests;
