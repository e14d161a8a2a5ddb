use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{Cause, Change, edge::Outgoing, index::Index};
use crate::object::{Key, Object};

/// Where users and providers keep the name of the external resource.
pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// The objects of one kind.
#[derive(Default)]
pub(super) struct KindObjects {
    entries: BTreeMap<Key, Entry>,
    external_names: Index<String>,
    /// By the uid of the owner that controls them.
    controlled: Index<String>,
    /// The version in which they are watched; `None`: nobody watches them.
    version: Option<String>,
    /// Grows with each full list.
    list: u64,
    /// A list was complete.
    listed: bool,
    /// The last list showed them, and nothing of them could ever be read.
    unreadable: BTreeSet<Key>,
}

struct Entry {
    object: Arc<Object>,
    outgoing: Outgoing,
    /// The last list that showed it.
    list: u64,
}

impl KindObjects {
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.entries.get(key).map(|entry| Arc::clone(&entry.object))
    }

    pub(super) fn all(&self) -> Vec<Arc<Object>> {
        self.entries
            .values()
            .map(|entry| Arc::clone(&entry.object))
            .collect()
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn with_external_name(&self, name: &str) -> Vec<Key> {
        self.external_names.get(&name.to_owned())
    }

    /// What an owner of this uid controls.
    pub(super) fn controlled_by(&self, uid: &str) -> Vec<Key> {
        self.controlled.get(&uid.to_owned())
    }

    pub(super) fn outgoing(&self, key: &Key) -> Option<&Outgoing> {
        self.entries.get(key).map(|entry| &entry.outgoing)
    }

    /// Answers what it depended on until now.
    pub(super) fn set_outgoing(&mut self, key: &Key, outgoing: Outgoing) -> Outgoing {
        match self.entries.get_mut(key) {
            Some(entry) => std::mem::replace(&mut entry.outgoing, outgoing),
            None => Outgoing::default(),
        }
    }

    /// Objects in another version are none of the store's: who reads them would take them for those of this one.
    pub(super) fn set_version(&mut self, version: &str) {
        self.version = Some(version.to_owned());
    }

    pub(super) fn begin_list(&mut self) {
        self.list += 1;
        self.unreadable.clear();
    }

    /// What the list that ends did not show and is not newer than it: key and uid.
    pub(super) fn end_list(&mut self, version: u64) -> Vec<(Key, String)> {
        self.listed = true;
        self.entries
            .iter()
            .filter(|(_, entry)| entry.list < self.list && entry.object.resource_version() <= version)
            .map(|(key, entry)| (key.clone(), entry.object.uid().to_owned()))
            .collect()
    }

    /// The list shows it, and it cannot be read.
    pub(super) fn keep_unreadable(&mut self, key: &Key) {
        match self.entries.get_mut(key) {
            Some(entry) => entry.list = self.list,
            None => drop(self.unreadable.insert(key.clone())),
        }
    }

    pub(super) fn is_unreadable(&self, key: &Key) -> bool {
        self.unreadable.contains(key)
    }

    /// A list or watch shows it, and what is stored is no older: false if that is not so, and then nothing has changed.
    pub(super) fn note_known(&mut self, key: &Key, uid: &str, version: u64) -> bool {
        let known = self.entries.get_mut(key);
        let known =
            known.filter(|entry| entry.object.uid() == uid && entry.object.resource_version() >= version);
        let Some(entry) = known else { return false };
        entry.list = self.list;
        self.unreadable.remove(key);
        true
    }

    /// The newest write wins.
    pub(super) fn put(&mut self, key: &Key, object: Arc<Object>, cause: Cause) -> Option<Change> {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.list = self.list;
        }
        self.unreadable.remove(key);
        if self
            .version
            .as_ref()
            .is_some_and(|version| *version != object.api.version)
        {
            return None;
        }
        let old = self.get(key);
        if old
            .as_ref()
            .is_some_and(|old| old.resource_version() >= object.resource_version())
        {
            return None;
        }
        if let Some(old) = &old {
            self.unindex(key, old);
        }
        if let Some(name) = object.annotation(EXTERNAL_NAME) {
            self.external_names.insert(name.to_owned(), key);
        }
        if let Some(uid) = controller(&object) {
            self.controlled.insert(uid.to_owned(), key);
        }
        let outgoing = self
            .entries
            .remove(key)
            .map(|entry| entry.outgoing)
            .unwrap_or_default();
        self.entries.insert(
            key.clone(),
            Entry {
                object: Arc::clone(&object),
                outgoing,
                list: self.list,
            },
        );
        let cause = if cause == Cause::Watched && !self.listed {
            Cause::Listed
        } else {
            cause
        };
        Some(Change {
            key: key.clone(),
            old,
            new: Some(object),
            cause,
        })
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<Object>> {
        let entry = self.entries.remove(key)?;
        self.unindex(key, &entry.object);
        Some(entry.object)
    }

    fn unindex(&mut self, key: &Key, object: &Object) {
        if let Some(name) = object.annotation(EXTERNAL_NAME) {
            self.external_names.remove(&name.to_owned(), key);
        }
        if let Some(uid) = controller(object) {
            self.controlled.remove(&uid.to_owned(), key);
        }
    }
}

/// Uid of the owner that controls it.
fn controller(object: &Object) -> Option<&str> {
    let owner = object
        .owners()
        .iter()
        .find(|owner| owner.controller == Some(true))?;
    Some(&owner.uid)
}
