//! A reconciler of claims as the engine serves it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_core::queue::Priority;

use super::{dependencies, pass, reconciler::ClaimReconciler};
use crate::{
    engine::Controller,
    object::{Key, Object},
    reconcile::{Next, Reconcile, ReconcileRequest},
    shell::{Said, report_unreadable},
    store::Change,
};

/// An object whose former reconcile has not ended gets its turn after this.
const STILL_BUSY: Duration = Duration::from_secs(1);

/// What is not known yet is looked at again after this.
const NOT_YET: Duration = Duration::from_millis(250);

/// What an honest reconcile may take: several writes, each with its own deadline.
const LONGEST: Duration = Duration::from_mins(5);

impl ClaimReconciler {
    /// As the engine serves it.
    pub fn controller(self: &Arc<Self>, reason: &str) -> Controller {
        let composites = self.composites();
        Controller {
            owner: None,
            api: Arc::clone(&self.api),
            edges: dependencies::edges(&composites.kind, &composites.version),
            reconciler: Arc::new(QueuedReconciler(Arc::clone(self))),
            reason: reason.to_owned(),
        }
    }
}

/// Hands each turn to a task of its own, so that nothing that it has begun is ever cut off.
struct QueuedReconciler(Arc<ClaimReconciler>);

#[async_trait]
impl Reconcile for QueuedReconciler {
    fn is_of_a_users_type(&self) -> bool {
        true
    }

    async fn reconcile(&self, key: &Key, request: ReconcileRequest) -> Next {
        let of = &self.0;
        let now = || of.shared.clock.now();
        let Some(object) = of.shared.store.get(key) else {
            of.memories.forget(key, None);
            of.shared.secret_users.forget(key);
            return Next::idle();
        };
        if !object.is_readable() {
            return report_unreadable(&of.shared, &object, Said::Synced).await;
        }
        // What this process has not read yet is no news for the status. To take down, no composition is needed.
        let is_read = object.is_deleting() || of.shared.has_read_all();
        if !is_read {
            return Next::busy(now() + NOT_YET, request.priority);
        }
        let (Some(memory), _) = of.memories.take(&object) else {
            return Next::busy(now() + STILL_BUSY, request.priority);
        };
        let uid = object.uid().to_owned();
        let run = pass::run(Arc::clone(of), object, memory);
        let Some(task) = of.shared.detached.spawn(&uid, run) else {
            return Next::busy(now() + STILL_BUSY, request.priority);
        };
        match task.await {
            Ok(next) => next,
            // Counted and logged by the engine like any other panic.
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => Next::at(now() + STILL_BUSY, Priority::OperationPoll),
        }
    }

    /// Whoever else writes its status: it is the bridge's.
    fn wake_priority(&self, _: &Change) -> Option<Priority> {
        // Its end, too: what is remembered of it is let go.
        Some(Priority::UserChange)
    }

    fn forget(&self, object: &Object) {
        self.0.memories.forget(&object.key(), Some(object.uid()));
        self.0.shared.secret_users.forget(&object.key());
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn flow(&self, object: &Object) -> String {
        object.namespace().unwrap_or_default().to_owned()
    }

    fn longest_pass(&self) -> Duration {
        LONGEST
    }
}
