//! What the bridge knows of the cluster: objects by kind, indexes, tombstones. Synchronous, and never behind our own writes.

mod change;
mod index;
mod kind;
mod objects;
mod tombstones;

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bridge_core::watch_plan::GroupKind;
use parking_lot::RwLock;

pub use self::change::{Cause, Change, Selector};
use self::{kind::KindObjects, objects::Objects};
use crate::object::{Key, Object};

/// Where users and providers keep the name of the external resource.
pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// Finds what an object refers to: its `ProviderConfig`, its Secrets, other managed resources.
pub type References = dyn Fn(&Object) -> Vec<Key> + Send + Sync;

/// Hears of changes, in the task that brings them: it must be quick and must not block. It may look at the store.
pub type Listener = dyn Fn(&Change) + Send + Sync;

/// The objects of all watched kinds.
///
/// Per name the newest write wins, by `resourceVersion`: an event that is older than our own last write changes nothing, and
/// once a uid is known to be gone, nothing brings it back.
#[derive(Default)]
pub struct Store {
    objects: RwLock<Objects>,
    listeners: RwLock<BTreeMap<GroupKind, Vec<Registered>>>,
    next_listener: AtomicU64,
}

struct Registered {
    id: u64,
    selector: Selector,
    listener: Arc<Listener>,
}

/// How the references of a kind's objects are found, until this is dropped.
#[must_use = "a rule counts only while its handle lives"]
pub struct ReferenceRule {
    store: Arc<Store>,
    kind: GroupKind,
    id: u64,
}

impl Drop for ReferenceRule {
    fn drop(&mut self) {
        let id = self.id;
        self.store
            .change_rules(&self.kind, |rules| rules.retain(|(rule, _)| *rule != id));
    }
}

impl Store {
    /// Says how to find the references of a kind's objects, for as long as the answer is kept. Of several rules for one kind the newest counts.
    pub fn register_references(
        self: &Arc<Self>,
        kind: &GroupKind,
        references: Arc<References>,
    ) -> ReferenceRule {
        let id = self.next_listener.fetch_add(1, Ordering::Relaxed);
        self.change_rules(kind, |rules| rules.push((id, references)));
        ReferenceRule {
            store: Arc::clone(self),
            kind: kind.clone(),
            id,
        }
    }

    /// What the objects of the kind refer to is found anew if another rule counts then.
    fn change_rules(&self, kind: &GroupKind, change: impl FnOnce(&mut Vec<(u64, Arc<References>)>)) {
        let rule = {
            let mut objects = self.objects.write();
            let rules = objects.references.entry(kind.clone()).or_default();
            let former = rules.last().map(|(_, rule)| Arc::clone(rule));
            change(rules);
            let rule = rules.last().map(|(_, rule)| Arc::clone(rule));
            if rules.is_empty() {
                objects.references.remove(kind);
            }
            let same = match (&former, &rule) {
                (Some(former), Some(rule)) => Arc::ptr_eq(former, rule),
                (former, rule) => former.is_none() && rule.is_none(),
            };
            if same {
                return;
            }
            rule
        };
        // Without the lock: each object's spec is parsed for it. What comes meanwhile is found by the new rule.
        for object in self.list(kind) {
            let references = rule.as_ref().map(|rule| rule(&object)).unwrap_or_default();
            self.objects.write().refer(&object, references);
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

    /// Objects that name this uid as an owner. For the layer of compositions; nothing else uses it yet.
    pub fn owned_by(&self, uid: &str) -> Vec<Key> {
        self.objects.read().owners.get(&uid.to_owned())
    }

    /// Objects of a kind that bear a label. For the layer of compositions; nothing else uses it yet.
    pub fn with_label(&self, kind: &GroupKind, label: &str, value: &str) -> Vec<Key> {
        self.objects
            .read()
            .kinds
            .get(kind)
            .map(|k| k.with_label(label, value))
            .unwrap_or_default()
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

    /// Objects that refer to this one, which need not exist.
    pub fn referring_to(&self, key: &Key) -> Vec<Key> {
        self.objects.read().referrers.get(key)
    }

    /// The first few objects that refer to this one, in order of their keys, and how many there are in all.
    pub fn first_referring_to(&self, key: &Key, most: usize) -> (Vec<Key>, usize) {
        self.objects.read().referrers.first(key, most)
    }

    /// Objects that refer to this one, directly or by way of others.
    pub fn dependants(&self, key: &Key) -> BTreeSet<Key> {
        let objects = self.objects.read();
        let mut found = BTreeSet::new();
        let mut next = objects.referrers.get(key);
        while let Some(dependant) = next.pop() {
            if found.insert(dependant.clone()) {
                next.extend(objects.referrers.get(&dependant));
            }
        }
        found
    }

    /// What an object refers to, as the kind's rule says.
    pub fn references_of(&self, object: &Object) -> Vec<Key> {
        let references = self.objects.read().rule(&object.api.kind);
        references
            .map(|references| references(object))
            .unwrap_or_default()
    }

    /// This uid is known to be gone. `false` says nothing: ask the API server.
    pub fn is_tombstoned(&self, uid: &str) -> bool {
        self.objects.read().tombstones.contains(uid)
    }

    /// Takes in the answer to a write of ours, so that the next look is not behind it.
    ///
    /// An answer that bears a `deletionTimestamp` and no finalizer says that the object is gone.
    pub fn observe_write(&self, object: Arc<Object>) {
        let change = self.objects.write().put(object, Cause::Written);
        self.tell(change);
    }

    /// Takes in an object that was read past the watch.
    pub fn observe_read(&self, object: Arc<Object>) {
        let change = self.objects.write().put(object, Cause::Watched);
        self.tell(change);
    }

    /// Takes in that a write or read of ours found the object with this uid gone.
    pub fn observe_gone(&self, key: &Key, uid: &str) {
        let change = self.objects.write().gone(key, uid, Cause::Written);
        self.tell(change);
    }

    /// Hears of changes to a kind from now on. Returns what [`Store::unlisten`] takes.
    pub fn listen(&self, kind: &GroupKind, selector: Selector, listener: Arc<Listener>) -> u64 {
        let id = self.next_listener.fetch_add(1, Ordering::Relaxed);
        let registered = Registered {
            id,
            selector,
            listener,
        };
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

    /// The kind is no longer served: its objects are gone for good.
    pub(crate) fn close(&self, kind: &GroupKind) {
        let changes = self.objects.write().close(kind);
        self.tell(changes);
    }

    /// The watch is no longer wanted: its objects are forgotten, which says nothing about whether they exist.
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
        let change = self.objects.write().put(Arc::new(object), Cause::Watched);
        self.tell(change);
    }

    /// The list shows an object that cannot be read: it exists, and stays as it was.
    pub(crate) fn observe_unreadable(&self, key: &Key) {
        if let Some(objects) = self.objects.write().kinds.get_mut(key.kind()) {
            objects.keep(key);
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
                .filter(|registered| registered.selector.matches(&change))
                .map(|registered| Arc::clone(&registered.listener))
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

#[cfg(test)]
mod tests;
