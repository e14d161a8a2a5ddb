use std::collections::{BTreeMap, HashMap};

/// So many deletions are remembered. What is older is settled by a direct read.
const KEPT: usize = 20_000;

/// Uids that are known to be gone. A uid is never used twice.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    uids: HashMap<Box<str>, Tombstone>,
    /// The oldest first.
    order: BTreeMap<u64, Box<str>>,
    /// How many were ever added.
    added: u64,
}

#[derive(Debug)]
struct Tombstone {
    place: u64,
    /// It went with its definition: its own deletion was not seen.
    with_kind: bool,
}

impl Tombstones {
    pub(super) fn add(&mut self, uid: &str) {
        self.insert(uid, false);
    }

    /// The definition of its kind is gone, or is taken for gone. An object outlives that if somebody removes the finalizer of the definition.
    pub(super) fn add_with_kind(&mut self, uid: &str) {
        self.insert(uid, true);
    }

    fn insert(&mut self, uid: &str, with_kind: bool) {
        if let Some(known) = self.uids.get_mut(uid) {
            known.with_kind &= with_kind;
            return;
        }
        self.added += 1;
        let place = self.added;
        self.uids.insert(uid.into(), Tombstone { place, with_kind });
        self.order.insert(place, uid.into());
        if self.order.len() > KEPT
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.uids.remove(&oldest);
        }
    }

    /// It exists all the same.
    pub(super) fn remove(&mut self, uid: &str) {
        if let Some(known) = self.uids.remove(uid) {
            self.order.remove(&known.place);
        }
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        self.uids.contains_key(uid)
    }

    /// It went with its definition, and nothing else says that it is gone.
    pub(super) fn is_with_kind(&self, uid: &str) -> bool {
        self.uids.get(uid).is_some_and(|known| known.with_kind)
    }
}
