//! Which rule is broken, and what breaking it has to remember.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, PoisonError},
};

/// The rule that is broken, and a memory that an honest plugin would not have.
#[derive(Debug, Default)]
pub struct Faults {
    id: String,
    memory: Mutex<Memory>,
}

#[derive(Debug, Default)]
struct Memory {
    seen: BTreeSet<String>,
    counts: BTreeMap<String, usize>,
    kept: BTreeMap<String, String>,
    client: String,
}

impl Faults {
    pub fn set(&mut self, id: String) {
        self.id = id;
    }

    /// Whether this rule is to be broken. Behind a `#` stands in which of several ways.
    pub fn on(&self, id: &str) -> bool {
        self.id == id
    }

    /// In which way this rule is to be broken; empty: the usual one.
    pub fn variant(&self, id: &str) -> Option<&str> {
        let rest = self.id.strip_prefix(id)?;
        if rest.is_empty() {
            return Some("");
        }
        rest.strip_prefix('#')
    }

    /// True the first time only.
    pub fn once(&self, what: &str) -> bool {
        self.update(|memory| memory.seen.insert(what.to_owned()))
    }

    /// How often it came up, this time included.
    pub fn count(&self, what: &str) -> usize {
        self.update(|memory| {
            let count = memory.counts.entry(what.to_owned()).or_default();
            *count += 1;
            *count
        })
    }

    /// What was kept under this key, or now is.
    pub fn first(&self, key: &str, value: &str) -> String {
        self.update(|memory| {
            memory
                .kept
                .entry(key.to_owned())
                .or_insert_with(|| value.to_owned())
                .clone()
        })
    }

    /// Whether something is kept under this key.
    pub fn contains(&self, key: &str) -> bool {
        self.update(|memory| memory.kept.contains_key(key))
    }

    /// To which folder the one client of the process leads.
    pub fn set_client(&self, folder: &str) {
        self.update(|memory| folder.clone_into(&mut memory.client));
    }

    /// That of the last who set it.
    pub fn client(&self) -> String {
        self.update(|memory| memory.client.clone())
    }

    fn update<T>(&self, change: impl FnOnce(&mut Memory) -> T) -> T {
        change(&mut self.memory.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
