//! A plugin takes so many calls at once. A reconcile acquires its permit before the deadline of a call begins to run.
//!
//! One that gets none ends, and leaves its dispatch permit to others: a task waits in its stead, and makes it the object's turn when it has one. So
//! a plugin that hangs holds as many dispatch permits as it takes calls, and no more.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use bridge_core::{
    driver::Permit as Granted,
    port,
    queue::{Priority, Wake},
};
use parking_lot::Mutex;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use super::reconciler::ManagedReconciler;
use crate::{dispatch::Dispatcher, object::Object};

/// One of the plugin's permits, held until the answer is there.
pub(super) type Permit = Option<port::Permit>;

/// The objects, by uid, for which a permit is waited for, or kept until their turn.
#[derive(Default)]
pub(super) struct AwaitedPermits(Mutex<HashMap<String, Awaited>>);

struct Awaited {
    permit: Permit,
    _task: AbortOnDropHandle<()>,
}

impl AwaitedPermits {
    /// The permit that was acquired for an object.
    fn take(&self, uid: &str) -> Permit {
        let mut awaited = self.0.lock();
        awaited
            .get(uid)
            .is_some_and(|one| one.permit.is_some())
            .then(|| awaited.remove(uid))??
            .permit
    }

    /// Keeps a permit until the object's turn; false: it is waited for no more.
    fn keep(&self, uid: &str, permit: port::Permit) -> bool {
        let mut awaited = self.0.lock();
        match awaited.get_mut(uid) {
            Some(one) => {
                one.permit = Some(permit);
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

impl ManagedReconciler {
    /// A permit that is free, or was acquired for this object since its last turn. Else one is waited for, in order, and makes it the object's turn.
    pub(super) fn acquire_permit(&self, object: &Object) -> (Permit, Granted) {
        let uid = object.uid();
        let permit = self
            .awaited_permits
            .take(uid)
            .or_else(|| self.external.try_acquire());
        if permit.is_some() {
            return (permit, Granted::AtOnce);
        }
        // Held until the task is noted down: else it might have the permit before it is known.
        let mut awaited = self.awaited_permits.0.lock();
        awaited.entry(uid.to_owned()).or_insert_with(|| Awaited {
            permit: None,
            _task: AbortOnDropHandle::new(tokio::spawn(self.wait_for_permit(object))),
        });
        (None, Granted::Never)
    }

    /// Dropping the future ends the waiting, or gives the permit back.
    fn wait_for_permit(&self, object: &Object) -> impl Future<Output = ()> + Send + use<> {
        let (key, uid) = (object.key(), object.uid().to_owned());
        let external = Arc::clone(&self.external);
        // Both have the tasks, in the end.
        let awaited = Arc::downgrade(&self.awaited_permits);
        let dispatcher: Weak<Dispatcher> = self.shared.dispatcher.clone();
        let (clock, unused): (_, Duration) = (Arc::clone(&self.shared.clock), self.kind.timeouts.call);
        async move {
            let permit = external.acquire().await;
            let is_kept = awaited
                .upgrade()
                .is_some_and(|awaited| awaited.keep(&uid, permit));
            let Some(dispatcher) = dispatcher.upgrade().filter(|_| is_kept) else {
                return;
            };
            let wake = Wake {
                at: clock.now(),
                // The permit lies idle until then.
                priority: Priority::UserChange,
            };
            dispatcher.enqueue(&key, wake);
            drop(dispatcher);
            // Where no turn comes, as nothing is reconciled now, others may have it.
            sleep(unused).await;
            if let Some(awaited) = awaited.upgrade() {
                awaited.forget(&uid);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn awaited(uid: &str) -> AwaitedPermits {
        let waiting = Awaited {
            permit: None,
            _task: AbortOnDropHandle::new(tokio::spawn(std::future::pending())),
        };
        AwaitedPermits(Mutex::new(HashMap::from([(uid.to_owned(), waiting)])))
    }

    #[tokio::test]
    async fn a_permit_is_kept_for_one_turn_of_who_still_waits() {
        let one = awaited("one");
        assert!(one.take("one").is_none(), "it is waited for");
        assert!(one.keep("one", port::Permit::unlimited()));
        assert!(one.take("other").is_none());
        assert!(one.take("one").is_some());
        assert!(one.take("one").is_none());
        assert!(!one.keep("one", port::Permit::unlimited()), "its turn is over");
    }

    #[tokio::test]
    async fn a_turn_without_a_call_gives_the_permit_back_and_ends_no_waiting() {
        let one = awaited("one");
        one.give_back("one");
        assert!(one.keep("one", port::Permit::unlimited()), "it still waits");
        one.give_back("one");
        assert!(one.take("one").is_none());
    }
}
