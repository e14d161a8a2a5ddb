//! A plugin takes so many calls at once. A reconcile acquires its permit before the deadline of a call begins to run.
//!
//! One that gets none ends, and leaves its dispatch permit to others: a task waits in its stead, and makes it the object's turn when it has one. So
//! a plugin that hangs holds as many dispatch permits as it takes calls, and no more.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bridge_core::{
    driver::Permit as Granted,
    port,
    queue::{Priority, Wake},
};
use tokio::time::sleep;

use super::reconciler::ManagedReconciler;
use crate::{dispatch::Dispatcher, object::Object};

/// One of the plugin's permits, held until the answer is there.
pub(super) type Permit = Option<port::Permit>;

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
        self.awaited_permits.wait(uid, || self.wait_for_permit(object));
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
