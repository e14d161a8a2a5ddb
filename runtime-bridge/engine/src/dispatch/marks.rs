use bridge_core::queue::{Priority, Wake};

use super::Shared;
use crate::{
    object::Key,
    store::{Cause, Change},
};

impl Shared {
    pub(super) fn mark(&self, key: &Key, lane: &str, wake: Wake) {
        self.queue.lock().mark(key, key.kind(), &lane.to_owned(), wake);
        self.changed.notify_one();
    }

    /// Our own writes, and those of others to the status alone, are nobody's turn: a pass that writes knows what it wrote.
    pub(super) fn mark_changed(&self, change: &Change) {
        let Some(reconciler) = self.reconcilers.read().get(change.key.kind()).cloned() else {
            return;
        };
        let now = self.clock.now();
        let lane = change
            .new
            .as_deref()
            .map(|object| reconciler.lane(object))
            .unwrap_or_default();
        let wake = match (change.cause, change.new.as_deref()) {
            (Cause::Written, _) => return,
            (Cause::Listed, Some(object)) => reconciler.resume(object, now),
            _ if !change.beyond_status() => return,
            _ => Wake {
                at: now,
                priority: Priority::UserChange,
            },
        };
        self.mark(&change.key, &lane, wake);
    }

    /// What was there at the start is no change: dependants have their own first turn.
    pub(super) fn mark_dependants(&self, change: &Change) {
        if change.cause == Cause::Listed || !change.beyond_status() {
            return;
        }
        let wake = Wake {
            at: self.clock.now(),
            priority: Priority::DriftPoll,
        };
        for dependant in self.store.dependants(&change.key) {
            let reconciler = self.reconcilers.read().get(dependant.kind()).cloned();
            if let Some(reconciler) = reconciler {
                let lane = self
                    .store
                    .get(&dependant)
                    .map(|object| reconciler.lane(&object))
                    .unwrap_or_default();
                self.mark(&dependant, &lane, wake);
            }
        }
    }
}
