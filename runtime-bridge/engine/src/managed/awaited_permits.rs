//! Permits of a plugin that objects wait for outside their reconciles.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::permits::Permits;

/// The objects, by uid, for which a permit is waited for, or kept until their turn.
#[derive(Default)]
pub(super) struct AwaitedPermits(Mutex<BTreeMap<String, Awaited>>);

struct Awaited {
    permits: Option<Permits>,
    _task: AbortOnDropHandle<()>,
}

impl AwaitedPermits {
    /// Has a task wait for permits, unless one does already. It hands them to [`keep`](Self::keep); forgotten, it is ended.
    pub(super) fn wait<F>(&self, uid: &str, task: impl FnOnce() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        // Held until the task is noted down: else it might have them before it is known.
        let mut awaited = self.0.lock();
        awaited.entry(uid.to_owned()).or_insert_with(|| Awaited {
            permits: None,
            _task: AbortOnDropHandle::new(tokio::spawn(task())),
        });
    }

    /// What was acquired for an object.
    pub(super) fn take(&self, uid: &str) -> Option<Permits> {
        let mut awaited = self.0.lock();
        awaited
            .get(uid)
            .is_some_and(|one| one.permits.is_some())
            .then(|| awaited.remove(uid))??
            .permits
    }

    /// Keeps them until the object's turn; false: they are waited for no more.
    pub(super) fn keep(&self, uid: &str, permits: Permits) -> bool {
        let mut awaited = self.0.lock();
        match awaited.get_mut(uid) {
            Some(one) => {
                one.permits = Some(permits);
                true
            }
            None => false,
        }
    }

    /// The turn came, and did without: others have use for it.
    pub(super) fn give_back(&self, uid: &str) {
        drop(self.take(uid));
    }

    /// Nothing is waited for any more.
    pub(super) fn forget(&self, uid: &str) {
        let forgotten = self.0.lock().remove(uid);
        drop(forgotten);
    }

    /// Likewise, of all objects.
    pub(super) fn forget_all(&self) {
        let forgotten = std::mem::take(&mut *self.0.lock());
        drop(forgotten);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(uid: &str) -> AwaitedPermits {
        let waiting = Awaited {
            permits: None,
            _task: AbortOnDropHandle::new(tokio::spawn(std::future::pending())),
        };
        AwaitedPermits(Mutex::new(BTreeMap::from([(uid.to_owned(), waiting)])))
    }

    #[tokio::test]
    async fn a_permit_is_kept_for_one_turn_of_who_still_waits() {
        let one = awaited("one");
        assert!(one.take("one").is_none(), "it is waited for");
        assert!(one.keep("one", Permits::default()));
        assert!(one.take("other").is_none());
        assert!(one.take("one").is_some());
        assert!(one.take("one").is_none());
        assert!(!one.keep("one", Permits::default()), "its turn is over");
    }

    #[tokio::test]
    async fn a_turn_without_a_call_gives_the_permit_back_and_ends_no_waiting() {
        let one = awaited("one");
        one.give_back("one");
        assert!(one.keep("one", Permits::default()), "it still waits");
        one.give_back("one");
        assert!(one.take("one").is_none());
    }
}
