//! A plugin takes so many calls at once, and so many of its large answers are held at once. A reconcile acquires what it needs before the deadline of a
//! call begins to run.
//!
//! One that gets it not ends, and leaves its dispatch permit to others: a task waits in its stead, and makes it the object's turn when it has all. So
//! a plugin that hangs holds as many dispatch permits as it takes calls, and no more; and one whose answers are as large as can be fills no memory.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use bridge_core::{
    driver::Permit as Granted,
    external::ObserveResult,
    managed,
    queue::{Priority, Wake},
};
use tokio::time::sleep;

use super::{permits::Permits, reconciler::ManagedReconciler};
use crate::{dispatch::Dispatcher, object::Object};

impl ManagedReconciler {
    /// What is free, or was acquired for this object since its last turn. Else it is waited for, in order, and makes it the object's turn.
    pub(super) fn acquire_permit(&self, object: &Object, held: &mut Permits) -> Granted {
        let uid = object.uid();
        let kept = self.awaited_permits.take(uid).unwrap_or_default();
        held.call = kept.call;
        held.room = held.room.take().or(kept.room);
        let has_room = !self.large_answers.contains(uid) || held.takes_room(&*self.external);
        if has_room {
            held.call = held.call.take().or_else(|| self.external.try_acquire());
        }
        if has_room && held.call.is_some() {
            return Granted::AtOnce;
        }
        self.awaited_permits.wait(uid, || self.wait_for_permit(object));
        Granted::Never
    }

    /// Whether an observation may be kept until the reconcile ends. If not, room is waited for, and makes it the object's turn: it is observed again then.
    pub(super) fn may_hold(&self, object: &Object, result: &ObserveResult, held: &mut Permits) -> bool {
        let is_large = matches!(result, ObserveResult::Found(found) if managed::is_large(found));
        self.large_answers.record(object.uid(), is_large);
        if !is_large || held.takes_room(&*self.external) {
            return true;
        }
        self.awaited_permits
            .wait(object.uid(), || self.wait_for_permit(object));
        false
    }

    /// Dropping the future ends the waiting, or gives back what was acquired.
    fn wait_for_permit(&self, object: &Object) -> impl Future<Output = ()> + Send + use<> {
        let (key, uid) = (object.key(), object.uid().to_owned());
        let external = Arc::clone(&self.external);
        let is_large = self.large_answers.contains(&uid);
        // Both have the tasks, in the end.
        let awaited = Arc::downgrade(&self.awaited_permits);
        let dispatcher: Weak<Dispatcher> = self.shared.dispatcher.clone();
        let (clock, unused): (_, Duration) = (Arc::clone(&self.shared.clock), self.kind.timeouts.call);
        async move {
            // In this order everywhere: whoever has room may wait for a permit, and nobody waits for room with a permit.
            let room = if is_large {
                Some(external.acquire_room().await)
            } else {
                None
            };
            let call = Some(external.acquire().await);
            let is_kept = awaited
                .upgrade()
                .is_some_and(|awaited| awaited.keep(&uid, Permits { call, room }));
            let Some(dispatcher) = dispatcher.upgrade().filter(|_| is_kept) else {
                return;
            };
            let wake = Wake {
                at: clock.now(),
                // The permits lie idle until then.
                priority: Priority::UserChange,
            };
            dispatcher.enqueue(&key, wake);
            drop(dispatcher);
            // Where no turn comes, as nothing is reconciled now, others may have them.
            sleep(unused).await;
            if let Some(awaited) = awaited.upgrade() {
                awaited.forget(&uid);
            }
        }
    }
}
