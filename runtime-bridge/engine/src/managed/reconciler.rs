//! One controller's reconciler: a pass for each turn, each in a task of its own, so that nothing that it has begun is ever cut off.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bridge_core::{
    kind::Kind,
    managed::{OwnershipClaims, Settings, initial_schedule},
    queue::{Priority, Wake},
};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::{
    config_source::ConfigSource,
    counts::Counts,
    detached::Detached,
    digest::Digester,
    memories::ReconcileMemories,
    metrics::{Gvk, ManagedMetrics},
    suspensions::Suspensions,
};
use crate::{
    clock::Clock,
    engine::{Controller, Engine},
    event::EventRecorder,
    lease::Leadership,
    object::{ApiType, Key, Object},
    ports::External,
    random,
    reconcile::{Next, Reconcile, ReconcileRequest},
    secret::SecretReader,
    store::{Edge, Store},
    write::{ConnectionSecrets, Writer},
};

/// An object whose former pass still persists an answer gets its turn after this.
const STILL_BUSY: Duration = Duration::from_secs(1);

/// Calls that an honest pass may make, one after the other: look, change, look again, and one to spare.
const CALLS: u32 = 4;

/// What an honest pass may take beside its calls: to read a config and Secrets, and to write.
const BESIDE_CALLS: Duration = Duration::from_mins(2);

/// What the managed-resource controllers of a process share.
pub struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) writer: Writer,
    pub(super) connection_secrets: Arc<ConnectionSecrets>,
    pub(super) events: Arc<EventRecorder>,
    pub(super) secrets: Arc<SecretReader>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) digester: Digester,
    pub(super) suspensions: Arc<Suspensions>,
    pub(super) claims: Arc<Mutex<OwnershipClaims>>,
    pub(super) counts: Counts,
    pub(super) settings: Arc<Settings>,
    pub(super) cluster_id: String,
    metrics: Arc<ManagedMetrics>,
    leadership: Leadership,
    /// Of the process.
    draining: Arc<AtomicBool>,
    /// Of the kind: it is served no more.
    stopped: AtomicBool,
    detached: Detached,
}

/// What the binary decides.
#[derive(Debug, Clone)]
pub struct ManagedOptions {
    /// The operator's settings.
    pub settings: Settings,
    /// Uid of the namespace `kube-system`.
    pub cluster_id: String,
    /// Whether this process may act.
    pub leadership: Leadership,
    /// The passes of the process.
    pub detached: Detached,
}

impl Shared {
    /// On a running engine.
    pub fn new(
        engine: &Engine,
        digester: Digester,
        metrics: Arc<ManagedMetrics>,
        options: ManagedOptions,
    ) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(&engine.store),
            writer: engine.writer.clone(),
            connection_secrets: Arc::clone(&engine.connection_secrets),
            events: Arc::clone(&engine.events),
            secrets: Arc::clone(&engine.secrets),
            clock: Arc::clone(&engine.clock),
            digester,
            suspensions: Arc::new(Suspensions::new(options.settings.backoffs)),
            claims: Arc::default(),
            counts: Counts::new(Arc::clone(&metrics)),
            metrics,
            settings: Arc::new(options.settings),
            cluster_id: options.cluster_id,
            leadership: options.leadership,
            draining: Arc::default(),
            stopped: AtomicBool::new(false),
            detached: options.detached,
        })
    }

    /// What one kind shares with the others, with what is its own: it can be stopped, and its objects are counted, by itself.
    fn for_kind(&self) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(&self.store),
            writer: self.writer.clone(),
            connection_secrets: Arc::clone(&self.connection_secrets),
            events: Arc::clone(&self.events),
            secrets: Arc::clone(&self.secrets),
            clock: Arc::clone(&self.clock),
            digester: self.digester.clone(),
            suspensions: Arc::clone(&self.suspensions),
            claims: Arc::clone(&self.claims),
            counts: Counts::new(Arc::clone(&self.metrics)),
            metrics: Arc::clone(&self.metrics),
            settings: Arc::clone(&self.settings),
            cluster_id: self.cluster_id.clone(),
            leadership: self.leadership.clone(),
            draining: Arc::clone(&self.draining),
            stopped: AtomicBool::new(false),
            detached: self.detached.clone(),
        })
    }

    /// Begins nothing more. Calls that run are waited for by [`Shared::drain`].
    pub fn stop_acting(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    pub(super) fn draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst) || self.is_stopped()
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// The right to act, now.
    pub(super) fn leadership(&self) -> bridge_core::driver::Leadership {
        bridge_core::driver::Leadership {
            leads: self.leadership.leads(),
            term: self.leadership.term(),
            draining: self.draining(),
        }
    }

    /// May a new pass begin something?
    pub(super) fn acts(&self) -> bool {
        self.leadership.leads() && !self.draining()
    }

    /// Waits until every call that was begun has ended and its answer is persisted, but not longer than `limit`.
    /// Returns how many passes had not ended: they go on, and recovery settles what is cut off.
    pub async fn drain(&self, limit: Duration) -> usize {
        self.stop_acting();
        self.detached.wait(limit).await
    }
}

/// Reconciles the objects of one kind.
pub struct ManagedReconciler {
    pub(super) shared: Arc<Shared>,
    pub(super) kind: Arc<Kind>,
    pub(super) api: Arc<ApiType>,
    pub(super) external: Arc<dyn External>,
    pub(super) configs: Arc<dyn ConfigSource>,
    pub(super) plugin_version: String,
    pub(super) gvk: Arc<Gvk>,
    pub(super) memories: ReconcileMemories,
}

impl ManagedReconciler {
    /// Of one kind, behind one plugin.
    pub fn new(
        shared: &Arc<Shared>,
        kind: Arc<Kind>,
        external: Arc<dyn External>,
        configs: Arc<dyn ConfigSource>,
        plugin_version: &str,
    ) -> Arc<Self> {
        let api = Arc::new(ApiType::new(&kind.resource_type, &kind.plural, kind.namespaced));
        let gvk = format!("{}, Kind={}", api.api_version(), kind.resource_type.kind);
        Arc::new(Self {
            shared: shared.for_kind(),
            kind,
            api,
            external,
            configs,
            plugin_version: plugin_version.to_owned(),
            gvk: Arc::new(Gvk { gvk }),
            memories: ReconcileMemories::default(),
        })
    }

    /// As the engine serves it.
    pub fn controller(self: &Arc<Self>, reason: &str) -> Controller {
        // Weak, as the store keeps it, which the reconciler holds.
        let of = Arc::downgrade(self);
        Controller {
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

    /// Whose change is the object's turn: its Secrets, the one for its connection details included, and its config.
    fn references(&self, object: &Object) -> Vec<Key> {
        let mut keys = super::desired_state::secret_references(&self.kind, object);
        keys.extend(super::view::connection_secret(object));
        keys.extend(self.configs.references(object));
        keys
    }

    /// Nothing here looks after the object any more; whoever does next claims what is its own.
    fn let_go(&self, uid: &str) {
        self.shared.claims.lock().release(uid);
        self.shared.connection_secrets.forget(uid);
    }

    /// Objects of one config share its fate: a dead account keeps no other waiting.
    pub(super) fn flow(&self, object: &Object) -> String {
        let config = self.configs.references(object).into_iter().next();
        config.map(|config| config.to_string()).unwrap_or_default()
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
        let let_go = LetGoIfStopped(Arc::clone(of), uid.clone());
        let run = super::pass::run(Arc::clone(of), object, memory);
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
        let managed = super::view::managed(object);
        self.0.shared.counts.seen(&self.0.gvk, &managed);
        initial_schedule(&managed, &self.0.shared.settings, random::fraction(), now)
    }

    fn flow(&self, object: &Object) -> String {
        self.0.flow(object)
    }

    fn longest_pass(&self) -> Duration {
        // Each call may wait for a place as long as it may take.
        self.0.kind.timeouts.call * CALLS * 2 + BESIDE_CALLS
    }
}

#[cfg(test)]
#[path = "reconciler_tests.rs"]
mod tests;
