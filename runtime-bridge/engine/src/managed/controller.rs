//! A reconciler as the engine serves it: each turn in a task of its own, so that nothing that it has begun is ever cut off.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use bridge_core::{
    managed::initial_schedule,
    queue::{Priority, Wake},
};
use jiff::Timestamp;

use super::{pass, reconciler::ManagedReconciler, rest, view};
use crate::{
    engine::Controller,
    object::{Key, Object},
    random,
    reconcile::{Next, Reconcile, ReconcileRequest},
    shell::report_unreadable_status,
    store::Edge,
};

/// An object whose former pass still persists an answer gets its turn after this.
const STILL_BUSY: Duration = Duration::from_secs(1);

/// Of an object whose status cannot be read it is said again after this: events are not kept for ever.
const SAY_AGAIN: Duration = Duration::from_mins(30);

/// Calls that an honest pass may make, one after the other: look, change, look again, and one to spare.
const CALLS: u32 = 4;

/// What an honest pass may take beside its calls: to read a config and Secrets, and to write.
const BESIDE_CALLS: Duration = Duration::from_mins(2);

impl ManagedReconciler {
    /// As the engine serves it.
    pub fn controller(self: &Arc<Self>, reason: &str) -> Controller {
        // Weak, as the store keeps it, which the reconciler holds.
        let of = Arc::downgrade(self);
        Controller {
            owner: None,
            api: Arc::clone(&self.api),
            edges: Arc::new([Edge::references(Arc::new(move |object: &Object| {
                of.upgrade().map(|of| of.references(object)).unwrap_or_default()
            }))
            // What a Secret concerns may be a whole account: users' changes and operations go first.
            .with_priority(Arc::new(|_| Some(Priority::DriftPoll)))]),
            reconciler: Arc::new(QueuedReconciler(Arc::clone(self))),
            reason: reason.to_owned(),
        }
    }
}

/// Lets go what a pass claimed after everything was let go. In the task of the pass: nobody may wait for that any more.
struct LetGoIfStopped(Arc<ManagedReconciler>, String);

impl Drop for LetGoIfStopped {
    fn drop(&mut self) {
        let Self(of, uid) = self;
        if of.shared.is_stopped() {
            of.let_go(uid);
        }
    }
}

/// Hands each turn to a task of its own.
struct QueuedReconciler(Arc<ManagedReconciler>);

#[async_trait]
impl Reconcile for QueuedReconciler {
    async fn reconcile(&self, key: &Key, pass: ReconcileRequest) -> Next {
        let of = &self.0;
        let Some(object) = of.shared.store.get(key) else {
            of.forget_key(key, None);
            return Next::idle();
        };
        let (memory, former) = of.memories.take(&object);
        if let Some(former) = former {
            of.forget_uid(&former, None);
        }
        let still_busy = || Next::busy(of.shared.clock.now() + STILL_BUSY, pass.priority);
        let Some(memory) = memory else {
            return still_busy();
        };
        let uid = object.uid().to_owned();
        if !object.has_readable_status() {
            // An operation may stand there, and nothing is done before it is known.
            report_unreadable_status(&of.shared.events, &object);
            of.awaited_permits.give_back(&uid);
            return Next::at(of.shared.clock.now() + SAY_AGAIN, Priority::DriftPoll);
        }
        let let_go = LetGoIfStopped(Arc::clone(of), uid.clone());
        // Boxed where it is made: it is large, and moved several times before it runs.
        let run = Box::pin(pass::run(Arc::clone(of), object, memory));
        let run = async move {
            let _let_go = let_go;
            run.await
        };
        let Some(task) = of.shared.detached.spawn(&uid, run) else {
            return still_busy();
        };
        match task.await {
            Ok(next) => next,
            // Counted and logged by the engine like any other panic.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Next::at(of.shared.clock.now() + STILL_BUSY, Priority::OperationPoll),
        }
    }

    fn forget(&self, object: &Object) {
        // A pass that has just ended may have remembered it.
        self.0.memories.forget(&object.key(), Some(object.uid()));
        self.0.forget_uid(object.uid(), None);
    }

    fn stop(&self) {
        let of = &self.0;
        of.shared.stopped.store(true, Ordering::SeqCst);
        of.shared.counts.end();
        of.awaited_permits.forget_all();
        of.kept_observations.forget_all();
        let uids = of.memories.uids();
        let mut claims = of.shared.claims.lock();
        for uid in &uids {
            claims.release(uid);
        }
        drop(claims);
        of.shared
            .connection_secrets
            .forget_all(&uids.into_iter().collect());
    }

    fn initial_schedule(&self, object: &Object, now: Timestamp) -> Wake {
        let managed = view::managed(object);
        self.0.shared.counts.seen(&self.0.gvk, &managed);
        let wake = initial_schedule(&managed, &self.0.shared.settings, random::fraction(), now);
        rest::initial(wake)
    }

    fn flow(&self, object: &Object) -> String {
        self.0.flow(object)
    }

    fn longest_pass(&self) -> Duration {
        self.0.kind.timeouts.call * CALLS + BESIDE_CALLS
    }
}
