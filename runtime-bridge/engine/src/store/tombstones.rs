use std::collections::{HashSet, VecDeque};

/// So many deletions are remembered. What is older is settled by a direct read.
const KEPT: usize = 20_000;

/// Uids that are known to be gone. A uid is never used twice.
#[derive(Debug, Default)]
pub(super) struct Tombstones {
    uids: HashSet<Box<str>>,
    order: VecDeque<Box<str>>,
}

impl Tombstones {
    pub(super) fn add(&mut self, uid: &str) {
        if !self.uids.insert(uid.into()) {
            return;
        }
        self.order.push_back(uid.into());
        if self.order.len() > KEPT
            && let Some(oldest) = self.order.pop_front()
        {
            self.uids.remove(&oldest);
        }
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        self.uids.contains(uid)
    }
}
