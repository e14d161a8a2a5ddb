use std::sync::{
    Arc, Weak,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::Notify;

/// Announces that the cluster may serve something else.
#[derive(Debug)]
pub(crate) struct ServedChanges {
    /// Wakes the task that plans the watches.
    plan: Arc<Notify>,
    count: Arc<Count>,
}

/// Number of changes until now.
#[derive(Debug, Default)]
struct Count {
    changes: AtomicU64,
    /// Wakes those who wait in the order in which they began to: `tokio::sync::watch` draws it, and a simulation would not repeat itself.
    changed: Notify,
}

impl ServedChanges {
    pub(crate) fn new(plan: Arc<Notify>) -> Arc<Self> {
        let count = Arc::default();
        Arc::new(Self { plan, count })
    }

    pub(crate) fn tell(&self) {
        self.plan.notify_one();
        self.count.changes.fetch_add(1, Ordering::AcqRel);
        self.count.changed.notify_waiters();
    }

    /// Changes from now on.
    pub(crate) fn subscribe(self: &Arc<Self>) -> ServedChange {
        ServedChange {
            of: Arc::downgrade(self),
            count: Arc::clone(&self.count),
            seen: self.count.changes.load(Ordering::Acquire),
        }
    }
}

impl Drop for ServedChanges {
    fn drop(&mut self) {
        self.count.changed.notify_waiters();
    }
}

/// Waits for what the cluster serves to change.
#[derive(Debug)]
pub struct ServedChange {
    of: Weak<ServedChanges>,
    count: Arc<Count>,
    /// How many changes were seen.
    seen: u64,
}

/// The engine was dropped: nothing will change any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the engine was dropped")]
pub struct Dropped;

impl ServedChange {
    /// Waits for a change after the last one that was seen, which is seen then. Can be cancelled: a change is not lost by it.
    ///
    /// # Errors
    /// [`Dropped`] once the engine is dropped, and all changes are seen.
    pub async fn changed(&mut self) -> Result<(), Dropped> {
        loop {
            let notified = self.count.changed.notified();
            let mut notified = std::pin::pin!(notified);
            // What happens from here on wakes it.
            notified.as_mut().enable();
            // Before the changes: one that came before the end counts.
            let ended = self.of.strong_count() == 0;
            let changes = self.count.changes.load(Ordering::Acquire);
            if changes != self.seen {
                self.seen = changes;
                return Ok(());
            }
            if ended {
                return Err(Dropped);
            }
            notified.await;
        }
    }

    /// What changed until now is seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.count.changes.load(Ordering::Acquire);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use parking_lot::Mutex;
    use tokio::task::yield_now;

    use super::{Dropped, ServedChanges};

    #[tokio::test]
    async fn those_who_wait_are_woken_in_the_order_in_which_they_began_to() {
        let changes = ServedChanges::new(Arc::default());
        let woken = Arc::<Mutex<Vec<usize>>>::default();
        for number in 0..20 {
            let (mut change, woken) = (changes.subscribe(), Arc::clone(&woken));
            tokio::spawn(async move {
                change.changed().await.unwrap();
                woken.lock().push(number);
            });
        }
        yield_now().await;
        changes.tell();
        yield_now().await;
        assert_eq!(*woken.lock(), (0..20).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn no_change_is_lost_and_none_is_seen_twice() {
        let changes = ServedChanges::new(Arc::default());
        let mut change = changes.subscribe();
        assert_eq!(change.changed().now_or_never(), None);
        changes.tell();
        changes.tell();
        assert_eq!(change.changed().now_or_never(), Some(Ok(())));
        assert_eq!(change.changed().now_or_never(), None);
        changes.tell();
        change.mark_unchanged();
        assert_eq!(change.changed().now_or_never(), None);
        changes.tell();
        drop(changes);
        assert_eq!(change.changed().await, Ok(()));
        assert_eq!(change.changed().await, Err(Dropped));
    }

    #[tokio::test]
    async fn who_waits_when_the_engine_is_dropped_is_woken() {
        let changes = ServedChanges::new(Arc::default());
        let mut change = changes.subscribe();
        let waiting = tokio::spawn(async move { change.changed().await });
        yield_now().await;
        drop(changes);
        assert_eq!(waiting.await.unwrap(), Err(Dropped));
    }
}
