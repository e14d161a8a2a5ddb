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

    /// What a first list shows may have come after a dependant looked for it. One that did not look yet has its own first turn.
    pub(super) fn mark_dependants(&self, change: &Change) {
        let dependants = self.store.dependants(&change.key);
        if dependants.is_empty() || !change.concerns_dependants() {
            return;
        }
        let wake = Wake {
            at: self.clock.now(),
            priority: Priority::DriftPoll,
        };
        for dependant in dependants {
            if change.cause == Cause::Listed && !self.looked.lock().contains(&dependant) {
                continue;
            }
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
