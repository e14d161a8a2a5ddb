use std::{sync::Arc, time::Duration};

use bridge_core::queue::Wake;

use super::shared::Shared;
use crate::{
    object::Key,
    random,
    reconcile::Reconcile,
    store::{Cause, Change},
};

/// So many dependants of one change begin at once; of more, each adds this to the time over which all are spread.
const AT_ONCE: u32 = 16;
const FOR_EACH: Duration = Duration::from_millis(10);
const LONGEST_SPREAD: Duration = Duration::from_mins(1);

/// Objects that are resumed before other tasks have their turn.
const RESUMED_AT_ONCE: usize = 64;

impl Shared {
    pub(super) fn reconciler(&self, key: &Key) -> Option<Arc<dyn Reconcile>> {
        let reconcilers = self.reconcilers.read();
        reconcilers
            .get(key.kind())
            .map(|(_, reconciler)| Arc::clone(reconciler))
    }

    pub(super) fn mark(&self, key: &Key, flow: &str, wake: Wake) {
        self.queue.lock().mark(key, key.kind(), &flow.to_owned(), wake);
        self.changed.notify_one();
    }

    /// For a reason that the object itself does not show.
    pub(super) fn mark_lasting(&self, key: &Key, flow: &str, wake: Wake) {
        self.queue
            .lock()
            .mark_lasting(key, key.kind(), &flow.to_owned(), wake);
        self.changed.notify_one();
    }

    /// Passes begin from now on, though much may have become due while none did: each object has its turn as if it were seen for the first time.
    /// What changed meanwhile, or is under way, comes first; what is at rest is spread. What the objects themselves do not show is not lost: a
    /// dependency that changed, a turn that was asked for.
    pub(super) async fn resume_all(&self) {
        {
            let mut queue = self.queue.lock();
            let (now, spread) = (self.clock.now(), spread(queue.lasting()));
            queue.replan(
                |key, _| self.store.get(key).is_none(),
                || now + spread.mul_f64(random::fraction()),
            );
        }
        let kinds: Vec<_> = self.reconcilers.read().keys().cloned().collect();
        for kind in kinds {
            for (nth, object) in self.store.list(&kind).into_iter().enumerate() {
                if nth % RESUMED_AT_ONCE == RESUMED_AT_ONCE - 1 {
                    tokio::task::yield_now().await;
                }
                let key = object.key();
                if let Some(reconciler) = self.reconciler(&key) {
                    let wake = reconciler.initial_schedule(&object, self.clock.now());
                    self.mark(&key, &reconciler.flow(&object), wake);
                }
            }
        }
    }

    /// The write of its own reconcile is not an object's turn, as that knows what it wrote; of all else the reconciler says how urgent it is.
    pub(super) fn mark_changed(&self, change: &Change) {
        let Some(reconciler) = self.reconciler(&change.key) else {
            return;
        };
        if names_another(change) {
            let mut queue = self.queue.lock();
            queue.release(&change.key);
            self.consecutive_failures.lock().remove(&change.key);
        }
        // Nothing is remembered of it, and nothing is to be done: a standby would keep its name for ever.
        if change.new.is_none() && !self.scheduled.lock().contains(&change.key) {
            self.queue.lock().forget(&change.key);
            if let Some(last) = &change.old {
                reconciler.forget(last);
            }
            // The news may be late: another object may have its name by now, and its turn was just forgotten.
            if let Some(successor) = self.store.get(&change.key) {
                let wake = reconciler.initial_schedule(&successor, self.clock.now());
                self.mark(&change.key, &reconciler.flow(&successor), wake);
            }
            return;
        }
        let now = self.clock.now();
        let flow = change
            .new
            .as_deref()
            .map(|object| reconciler.flow(object))
            .unwrap_or_default();
        let wake = match (&change.cause, change.new.as_deref()) {
            (cause, _) if cause.is_by(&change.key) => return,
            (Cause::Listed, Some(object)) => reconciler.initial_schedule(object, now),
            _ => match reconciler.wake_priority(change) {
                Some(priority) => Wake { at: now, priority },
                None => return,
            },
        };
        self.mark(&change.key, &flow, wake);
    }

    /// What a first list shows may have come after a dependant looked for it. One that did not look yet has its own first turn.
    pub(super) fn mark_dependants(&self, change: &Change) {
        let wakes = self.store.wakes(change);
        if wakes.is_empty() {
            return;
        }
        let (now, spread) = (self.clock.now(), spread(wakes.len()));
        for (dependant, priority) in wakes {
            if change.cause == Cause::Listed && !self.scheduled.lock().contains(&dependant) {
                continue;
            }
            // It wrote that itself.
            if change.cause.is_by(&dependant) {
                continue;
            }
            if let Some(reconciler) = self.reconciler(&dependant) {
                let flow = self
                    .store
                    .get(&dependant)
                    .map(|object| reconciler.flow(&object))
                    .unwrap_or_default();
                let wake = Wake {
                    at: now + spread.mul_f64(random::fraction()),
                    priority,
                };
                self.mark_lasting(&dependant, &flow, wake);
            }
        }
    }
}

/// What had the name is gone: if anything has it, that is another object, which inherits neither failures nor back-off.
fn names_another(change: &Change) -> bool {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => old.uid() != new.uid(),
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// Over how long the turns of so many dependants are spread: a Secret that rotates must not make a whole account observe at once.
pub(crate) fn spread(dependants: usize) -> Duration {
    match u32::try_from(dependants) {
        Ok(few) if few <= AT_ONCE => Duration::ZERO,
        Ok(many) => (FOR_EACH * many).min(LONGEST_SPREAD),
        Err(_) => LONGEST_SPREAD,
    }
}
