//! A reconciler of composite resources as the engine serves it.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_core::{
    composite::{Compared, CompositeMemory, comparison},
    queue::Priority,
};
use serde_json::{Value, json};

use super::{dependencies, library, pass, reconciler::CompositeReconciler, shared::CompositeShared};
use crate::{
    engine::Controller,
    object::{Key, Object},
    reconcile::{Next, Reconcile, ReconcileRequest},
    shell::{Said, report_unreadable},
    store::Change,
    watch::WatchState,
};

/// An object whose former reconcile has not ended gets its turn after this.
const STILL_BUSY: Duration = Duration::from_secs(1);

/// Until all compositions are read, which takes a moment at the start, an object gets its turn again after this.
const NOT_READ: Duration = Duration::from_millis(250);

/// An object that waits for a pass of its definition, which enqueues it, gets its turn after this in any case.
const NOT_CONFIRMED: Duration = Duration::from_secs(1);

/// What an honest reconcile may take: many writes, each with its own deadline.
const LONGEST: Duration = Duration::from_mins(10);

impl CompositeReconciler {
    /// As the engine serves it.
    pub fn controller(self: &Arc<Self>, reason: &str) -> Controller {
        let terms = self.terms();
        Controller {
            owner: None,
            api: Arc::clone(&self.api),
            edges: dependencies::edges(terms.scope, terms.enforced_composition.as_deref()),
            reconciler: Arc::new(QueuedReconciler(Arc::clone(self))),
            reason: reason.to_owned(),
        }
    }
}

impl CompositeShared {
    /// All compositions and revisions that there are, are stored, and it is known how composed objects are addressed.
    pub(crate) fn has_read_all(&self) -> bool {
        let watches = &self.watches;
        let mut kinds = [library::composition_kind(), library::revision_kind()].into_iter();
        watches.is_discovery_read() && kinds.all(|kind| watches.state(&kind) == WatchState::Live)
    }
}

/// Hands each turn to a task of its own, so that nothing that it has begun is ever cut off.
struct QueuedReconciler(Arc<CompositeReconciler>);

#[async_trait]
impl Reconcile for QueuedReconciler {
    fn is_of_a_users_type(&self) -> bool {
        true
    }

    async fn reconcile(&self, key: &Key, request: ReconcileRequest) -> Next {
        let of = &self.0;
        let now = || of.shared.clock.now();
        let Some(object) = of.shared.store.get(key) else {
            of.confirmation.forget(key);
            if let Some(uid) = of.memories.forget(key, None) {
                of.forget(key, &uid);
            }
            return Next::idle();
        };
        if !object.is_readable() {
            return report_unreadable(&of.shared, &object, Said::Synced).await;
        }
        // What this process has not read yet is no news for the status. To take down, no composition is needed.
        let is_read = object.is_deleting() || of.shared.has_read_all();
        if !is_read {
            return Next::busy(now() + NOT_READ, request.priority);
        }
        if !of.is_confirmed_or_wait(key, request.priority) {
            return Next::busy(now() + NOT_CONFIRMED, request.priority);
        }
        let (memory, former) = of.memories.take(&object);
        if let Some(former) = former {
            of.forget(key, &former);
        }
        let Some(memory) = memory else {
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

    /// Its status is an input of its functions, whoever else writes it.
    fn wake_priority(&self, _: &Change) -> Option<Priority> {
        // Its end, too: what is remembered of it is let go.
        Some(Priority::UserChange)
    }

    fn forget(&self, object: &Object) {
        self.0.confirmation.forget(&object.key());
        self.0.memories.forget(&object.key(), Some(object.uid()));
        self.0.forget(&object.key(), object.uid());
    }

    fn stop(&self) {
        self.0.stop();
    }

    fn report(&self, object: &Object) -> Option<Value> {
        let of = &self.0;
        let (run, calls) = of.runs.state_and_calls(object.uid(), of.right().term);
        let steps = calls.lock().to_json();
        let now = of.shared.clock.now();
        // Copied: while it is held, the object's next reconcile could not begin.
        let memory = of.memories.peek(object, CompositeMemory::clone);
        let composed = memory
            .as_ref()
            .and_then(|memory| comparison(&of.peek(object), memory));
        let composed: Option<Vec<Value>> = composed.map(|all| all.iter().map(Compared::to_json).collect());
        let memory = memory.map(|memory| memory.to_json(&of.shared.settings.circuit, now));
        Some(json!({"run": run.to_json(), "steps": steps, "memory": memory, "composed": composed}))
    }

    fn flow(&self, object: &Object) -> String {
        object.namespace().unwrap_or_default().to_owned()
    }

    fn longest_pass(&self) -> Duration {
        LONGEST
    }
}
