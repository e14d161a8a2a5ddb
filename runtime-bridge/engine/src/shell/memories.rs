//! The memory of each object, and the certainty that one pass at a time has it.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::OwnedMutexGuard;

use crate::object::{Key, Object};

/// One memory for each object. An object of the same name that was made anew is another.
pub(crate) struct Memories<M>(Mutex<HashMap<Key, Remembered<M>>>);

struct Remembered<M> {
    uid: String,
    memory: Arc<tokio::sync::Mutex<M>>,
}

/// One object's memory, held by one reconcile.
pub(crate) type MemoryGuard<M> = OwnedMutexGuard<M>;

impl<M> Default for Memories<M> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<M: Default> Memories<M> {
    /// Takes the object's memory; `None`: another pass has it, for instance one that still persists an answer. The answer's second part is
    /// the uid of a former object of that name, which is gone.
    pub fn take(&self, object: &Object) -> (Option<MemoryGuard<M>>, Option<String>) {
        let mut memories = self.0.lock();
        let fresh = || Remembered {
            uid: object.uid().to_owned(),
            memory: Arc::default(),
        };
        let remembered = memories.entry(object.key()).or_insert_with(fresh);
        let former = (remembered.uid != object.uid()).then(|| std::mem::replace(remembered, fresh()).uid);
        (Arc::clone(&remembered.memory).try_lock_owned().ok(), former)
    }

    /// What an object's memory says; `None`: nothing is remembered of it, or a pass has it now.
    pub fn peek<R>(&self, object: &Object, read: impl FnOnce(&M) -> R) -> Option<R> {
        let memory = {
            let memories = self.0.lock();
            let remembered = memories.get(&object.key())?;
            (remembered.uid == object.uid()).then(|| Arc::clone(&remembered.memory))?
        };
        let memory = memory.try_lock().ok()?;
        Some(read(&memory))
    }

    /// Uids of the objects that are remembered.
    pub fn uids(&self) -> Vec<String> {
        let memories = self.0.lock();
        let mut uids: Vec<String> = memories
            .values()
            .map(|remembered| remembered.uid.clone())
            .collect();
        uids.sort();
        uids
    }

    /// Forgets an object that is gone; the answer is its uid, if it was known.
    pub fn forget(&self, key: &Key, uid: Option<&str>) -> Option<String> {
        let mut memories = self.0.lock();
        let known = memories
            .get(key)
            .filter(|remembered| uid.is_none_or(|uid| remembered.uid == uid))?
            .uid
            .clone();
        memories.remove(key);
        Some(known)
    }
}
