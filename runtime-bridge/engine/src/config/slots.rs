//! What is kept of each config while it is used.

use std::{collections::HashMap, sync::Arc};

use bridge_core::{back_off::BackoffPolicy, external::Config};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use super::{ConfigError, checks::Checks};
use crate::{
    object::{Key, Object},
    single_flight::SingleFlight,
};

/// A config that nobody asked for in this time is forgotten, with its credentials.
const UNUSED: SignedDuration = SignedDuration::from_mins(15);

/// Settings and credentials of all configs together that are kept, in bytes; those that were asked for least lately are forgotten first.
const MOST_KEPT: usize = 32 << 20;

/// One config.
pub(super) struct Slot {
    /// When it was asked for last, and how many bytes it keeps.
    used: Mutex<(Timestamp, usize)>,
    pub known: Mutex<Option<CachedConfig>>,
    pub checks: Checks,
    /// Many who ask at once cause one read and one check.
    pub reads: SingleFlight<(), Unread>,
    /// When to try again to write its condition; `None`: it is written.
    pub unreported: Mutex<Option<Timestamp>>,
}

/// Why an object, as it was then, could not be read.
pub(super) struct Unread {
    pub uid: String,
    pub generation: i64,
    pub error: ConfigError,
}

/// A config, and what it was read from.
#[derive(Clone)]
pub(super) struct CachedConfig {
    pub uid: String,
    pub generation: i64,
    pub secret: Option<(Key, u64)>,
    /// Read each time: nobody tells when a file changes.
    pub on_host: bool,
    pub config: Arc<Config>,
}

/// All configs that are used.
#[derive(Default)]
pub(super) struct Slots {
    /// With the uid of the object.
    by_key: HashMap<Key, (String, Arc<Slot>)>,
    /// Each call that ends asks for its config by its id, which is the uid.
    by_id: HashMap<String, Key>,
}

impl Slot {
    fn new(backoff: BackoffPolicy, now: Timestamp) -> Self {
        Self {
            used: Mutex::new((now, 0)),
            known: Mutex::default(),
            checks: Checks::new(backoff),
            reads: SingleFlight::default(),
            unreported: Mutex::default(),
        }
    }

    /// What was read of it.
    pub fn keep(&self, known: CachedConfig) -> Arc<Config> {
        self.used.lock().1 = size(&known.config);
        Arc::clone(&self.known.lock().insert(known).config)
    }
}

impl Unread {
    pub fn is_of(&self, config: &Object) -> bool {
        self.uid == config.uid() && self.generation == config.generation()
    }
}

impl CachedConfig {
    pub fn is_of(&self, config: &Config) -> bool {
        self.config.id == config.id && self.config.revision == config.revision
    }
}

impl Slots {
    /// That of a config, which is used now.
    pub fn of(&mut self, config: &Object, backoff: BackoffPolicy, now: Timestamp) -> Arc<Slot> {
        let key = config.key();
        let slot = if let Some((_, slot)) = self.by_key.get(&key) {
            slot.used.lock().0 = now;
            Arc::clone(slot)
        } else {
            self.forget_unused(now);
            Arc::new(Slot::new(backoff, now))
        };
        let uid = config.uid();
        let is_it = |(known, _): &(String, _)| known == uid;
        if !self.by_key.get(&key).is_some_and(is_it) {
            // A namesake goes on with the same slot: it knows of which uid is what it keeps.
            self.remove(&key);
            self.by_id.insert(uid.to_owned(), key.clone());
            self.by_key.insert(key, (uid.to_owned(), Arc::clone(&slot)));
        }
        slot
    }

    /// That of the config with this id. No other one is touched.
    pub fn with_id(&self, id: &str) -> Option<(Key, Arc<Slot>)> {
        let key = self.by_id.get(id)?;
        let (_, slot) = self.by_key.get(key)?;
        Some((key.clone(), Arc::clone(slot)))
    }

    /// The config is deleted.
    pub fn remove(&mut self, key: &Key) {
        if let Some((uid, _)) = self.by_key.remove(key)
            && self.by_id.get(&uid) == Some(key)
        {
            self.by_id.remove(&uid);
        }
    }

    /// Forgets configs that nobody uses, and the least used ones if all are too large together. Who asks for one of them again has it read anew.
    pub fn forget_unused(&mut self, now: Timestamp) {
        let slots = self.by_key.iter();
        let mut by_use: Vec<(Timestamp, usize, Key)> = slots
            .map(|(key, (_, slot))| {
                let (used, bytes) = *slot.used.lock();
                (used, bytes, key.clone())
            })
            .collect();
        by_use.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
        let mut kept = 0;
        for (at, (used, bytes, key)) in by_use.iter().enumerate() {
            let is_unused = now.duration_since(*used) >= UNUSED;
            if !is_unused {
                kept += bytes;
            }
            // The one that is used now stays, however large it is.
            if is_unused || at > 0 && kept > MOST_KEPT {
                self.forget(key);
            }
        }
    }

    /// Its credentials go. That calls have rejected it stays known: no check would find it out again, and it would pass as usable.
    fn forget(&mut self, key: &Key) {
        let Some((_, slot)) = self.by_key.get(key) else {
            return;
        };
        if slot.checks.is_rejected_by_calls() {
            *slot.known.lock() = None;
            slot.used.lock().1 = 0;
        } else {
            self.remove(key);
        }
    }
}

/// Bytes of what is kept of a config.
fn size(config: &Config) -> usize {
    let credentials = config.credentials.0.iter();
    let credentials: usize = credentials.map(|(name, value)| name.len() + value.len()).sum();
    let settings = config.settings.as_ref().map(serde_json::to_string);
    let settings = settings.and_then(Result::ok).map_or(0, |settings| settings.len());
    credentials + settings
}

#[cfg(test)]
mod tests {
    use bridge_core::back_off::policies;
    use serde_json::json;

    use super::*;
    use crate::config::config_api;

    fn config(name: &str, uid: &str) -> Object {
        let api = Arc::new(config_api("test.example.org"));
        let object =
            json!({"metadata": {"name": name, "namespace": "team", "uid": uid, "resourceVersion": "1"}});
        Object::decode(&api, &object.to_string()).unwrap()
    }

    #[test]
    fn a_config_is_found_by_its_id_while_others_are_locked() {
        let mut slots = Slots::default();
        let now = Timestamp::UNIX_EPOCH;
        let one = slots.of(&config("one", "1"), policies::CONFIG, now);
        let other = slots.of(&config("other", "2"), policies::CONFIG, now);
        let locks = (other.known.lock(), other.used.lock());
        let (key, found) = slots.with_id("1").unwrap();
        assert_eq!(key, config("one", "1").key());
        assert!(Arc::ptr_eq(&found, &one));
        drop(locks);
        slots.remove(&key);
        assert!(slots.with_id("1").is_none());
        assert!(slots.with_id("2").is_some());
    }

    #[test]
    fn a_namesake_takes_the_place_of_its_predecessor() {
        let mut slots = Slots::default();
        let now = Timestamp::UNIX_EPOCH;
        let former = slots.of(&config("one", "1"), policies::CONFIG, now);
        let next = slots.of(&config("one", "2"), policies::CONFIG, now);
        assert!(Arc::ptr_eq(&former, &next));
        assert!(slots.with_id("1").is_none());
        assert!(slots.with_id("2").is_some());
    }
}
