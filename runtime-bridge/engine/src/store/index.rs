use std::{collections::HashMap, hash::Hash};

use crate::object::Key;

/// Which objects have a property. Most values have one or two objects, so a small vector beats a set.
#[derive(Debug)]
pub(super) struct Index<T> {
    keys: HashMap<T, Vec<Key>>,
}

impl<T> Default for Index<T> {
    fn default() -> Self {
        Self { keys: HashMap::new() }
    }
}

impl<T: Hash + Eq> Index<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub(super) fn contains(&self, value: &T) -> bool {
        self.keys.contains_key(value)
    }

    /// All values that some object has.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.keys.keys()
    }

    pub(super) fn insert(&mut self, value: T, key: &Key) {
        let keys = self.keys.entry(value).or_default();
        if let Err(place) = keys.binary_search(key) {
            keys.insert(place, key.clone());
        }
    }

    pub(super) fn remove(&mut self, value: &T, key: &Key) {
        if let Some(keys) = self.keys.get_mut(value) {
            if let Ok(place) = keys.binary_search(key) {
                keys.remove(place);
            }
            if keys.is_empty() {
                self.keys.remove(value);
            }
        }
    }

    /// The first few, and how many there are.
    pub(super) fn first(&self, value: &T, most: usize) -> (Vec<Key>, usize) {
        let keys = self.keys.get(value).map(Vec::as_slice).unwrap_or_default();
        (keys.iter().take(most).cloned().collect(), keys.len())
    }

    /// In order of their keys.
    pub(super) fn get(&self, value: &T) -> Vec<Key> {
        self.keys.get(value).cloned().unwrap_or_default()
    }
}
