use std::{collections::BTreeMap, sync::Arc};

use super::{Cause, Change, EXTERNAL_NAME, index::Index};
use crate::object::{Key, Object};

/// The objects of one kind.
#[derive(Default)]
pub(super) struct KindObjects {
    entries: BTreeMap<Key, Entry>,
    labels: Index<(String, String)>,
    external_names: Index<String>,
    /// Grows with each full list.
    list: u64,
    /// A list was complete.
    listed: bool,
}

struct Entry {
    object: Arc<Object>,
    references: Box<[Key]>,
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

    pub(super) fn with_label(&self, label: &str, value: &str) -> Vec<Key> {
        self.labels.get(&(label.to_owned(), value.to_owned()))
    }

    pub(super) fn with_external_name(&self, name: &str) -> Vec<Key> {
        self.external_names.get(&name.to_owned())
    }

    pub(super) fn references_of(&self, key: &Key) -> &[Key] {
        self.entries.get(key).map_or(&[], |entry| &entry.references)
    }

    pub(super) fn set_references(&mut self, key: &Key, references: Vec<Key>) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.references = references.into();
        }
    }

    pub(super) fn begin_list(&mut self) {
        self.list += 1;
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

    pub(super) fn keep(&mut self, key: &Key) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.list = self.list;
        }
    }

    /// The newest write wins.
    pub(super) fn put(&mut self, key: &Key, object: Arc<Object>, cause: Cause) -> Option<Change> {
        self.keep(key);
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
        for (label, value) in object.meta.labels.iter().flatten() {
            self.labels.insert((label.clone(), value.clone()), key);
        }
        if let Some(name) = object.annotation(EXTERNAL_NAME) {
            self.external_names.insert(name.to_owned(), key);
        }
        let references = self
            .entries
            .remove(key)
            .map(|entry| entry.references)
            .unwrap_or_default();
        self.entries.insert(
            key.clone(),
            Entry {
                object: Arc::clone(&object),
                references,
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
        for (label, value) in object.meta.labels.iter().flatten() {
            self.labels.remove(&(label.clone(), value.clone()), key);
        }
        if let Some(name) = object.annotation(EXTERNAL_NAME) {
            self.external_names.remove(&name.to_owned(), key);
        }
    }
}
