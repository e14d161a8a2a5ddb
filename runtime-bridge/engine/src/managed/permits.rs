//! What a reconcile holds of its plugin, and whose answers need room.

use std::collections::BTreeSet;

use bridge_core::port::{External, Permit};
use parking_lot::Mutex;

/// What a reconcile holds of its plugin.
#[derive(Debug, Default)]
pub(super) struct Permits {
    /// For one call, until its answer is there; of an observation until the call that is decided from it has ended, or none is.
    pub(super) call: Option<Permit>,
    /// For a large observation, until a call was decided from it or the reconcile ends.
    pub(super) room: Option<Permit>,
}

impl Permits {
    pub(super) fn end_call(&mut self) {
        self.call = None;
    }

    pub(super) fn end_room(&mut self) {
        self.room = None;
    }

    /// Whether what is decided from may be large.
    pub(super) fn has_room(&self) -> bool {
        self.room.is_some()
    }

    /// Whether there is room, or can be at once.
    pub(super) fn takes_room(&mut self, external: &dyn External) -> bool {
        self.room = self.room.take().or_else(|| external.try_acquire_room());
        self.room.is_some()
    }
}

/// The objects, by uid, whose last answer was large.
#[derive(Debug, Default)]
pub(super) struct LargeAnswers(Mutex<BTreeSet<String>>);

impl LargeAnswers {
    pub(super) fn contains(&self, uid: &str) -> bool {
        self.0.lock().contains(uid)
    }

    pub(super) fn record(&self, uid: &str, is_large: bool) {
        let mut large = self.0.lock();
        if is_large {
            large.insert(uid.to_owned());
        } else if !large.is_empty() {
            large.remove(uid);
        }
    }

    pub(super) fn forget(&self, uid: &str) {
        self.record(uid, false);
    }
}
