//! What the reconciles of one kind behind one plugin have to hand.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bridge_core::{
    kind::Kind,
    managed::{OwnershipClaims, ReconcileMemory, Settings},
};
use parking_lot::Mutex;

use super::{
    awaited_permits::AwaitedPermits,
    config_source::ConfigSource,
    counts::Counts,
    digest::Digester,
    kept_observations::KeptObservations,
    metrics::{Gvk, ManagedMetrics},
    permits::LargeAnswers,
    suspensions::Suspensions,
};
use crate::{
    clock::Clock,
    dispatch::Dispatcher,
    engine::Engine,
    event::EventRecorder,
    lease::Leadership,
    object::{ApiType, Key, Object},
    ports::External,
    secret::SecretReader,
    shell::{Detached, Memories},
    store::Store,
    watch::Watches,
    write::{ConnectionSecrets, Writer},
};

/// What the managed-resource controllers of a process share.
pub struct Shared {
    pub(super) store: Arc<Store>,
    pub(super) watches: Arc<Watches>,
    /// Weak, as it has the reconcilers.
    pub(super) dispatcher: Weak<Dispatcher>,
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
    pub(super) metrics: Arc<ManagedMetrics>,
    leadership: Leadership,
    /// Of the process.
    draining: Arc<AtomicBool>,
    /// Of the kind: it is served no more.
    pub(super) stopped: AtomicBool,
    pub(super) detached: Detached,
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
            watches: Arc::clone(&engine.watches),
            dispatcher: Arc::downgrade(&engine.dispatcher),
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

    /// For the kinds of one plugin, which ids of its external system belong to: another system may have equal ones.
    #[must_use]
    pub fn for_plugin(&self) -> Arc<Self> {
        Arc::new(self.with_claims(Arc::default()))
    }

    /// What one kind shares with the others of its plugin, with what is its own: it can be stopped, and its objects are counted, by itself.
    fn for_kind(&self) -> Arc<Self> {
        Arc::new(self.with_claims(Arc::clone(&self.claims)))
    }

    fn with_claims(&self, claims: Arc<Mutex<OwnershipClaims>>) -> Self {
        Self {
            store: Arc::clone(&self.store),
            watches: Arc::clone(&self.watches),
            dispatcher: self.dispatcher.clone(),
            writer: self.writer.clone(),
            connection_secrets: Arc::clone(&self.connection_secrets),
            events: Arc::clone(&self.events),
            secrets: Arc::clone(&self.secrets),
            clock: Arc::clone(&self.clock),
            digester: self.digester.clone(),
            suspensions: Arc::clone(&self.suspensions),
            claims,
            counts: Counts::new(Arc::clone(&self.metrics)),
            metrics: Arc::clone(&self.metrics),
            settings: Arc::clone(&self.settings),
            cluster_id: self.cluster_id.clone(),
            leadership: self.leadership.clone(),
            draining: Arc::clone(&self.draining),
            stopped: AtomicBool::new(false),
            detached: self.detached.clone(),
        }
    }

    /// Begins nothing more. Calls that run are waited for by [`Shared::drain`].
    pub fn stop_acting(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    pub(super) fn draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst) || self.is_stopped()
    }

    pub(super) fn is_stopped(&self) -> bool {
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
    pub(super) memories: Memories<ReconcileMemory>,
    pub(super) awaited_permits: Arc<AwaitedPermits>,
    pub(super) large_answers: LargeAnswers,
    pub(super) kept_observations: KeptObservations,
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
            memories: Memories::default(),
            awaited_permits: Arc::default(),
            large_answers: LargeAnswers::default(),
            kept_observations: KeptObservations::default(),
        })
    }

    /// Whose change is the object's turn: its Secrets, the one for its connection details included, and its config.
    pub(super) fn references(&self, object: &Object) -> Vec<Key> {
        let _parsed_once = object.spec_value();
        let mut keys = super::desired_state::secret_references(&self.kind, object);
        keys.extend(super::view::connection_secret(object));
        keys.extend(self.configs.references(object));
        keys
    }

    /// Nothing here looks after the object any more; whoever does next claims what is its own.
    pub(super) fn let_go(&self, uid: &str) {
        self.shared.claims.lock().release(uid);
        self.shared.connection_secrets.forget(uid);
        self.awaited_permits.forget(uid);
        self.large_answers.forget(uid);
        self.kept_observations.forget(uid);
    }

    /// Objects of one config share its fate: a dead account keeps no other waiting.
    pub(super) fn flow(&self, object: &Object) -> String {
        let config = self.configs.references(object).into_iter().next();
        config.map(|config| config.to_string()).unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "reconciler_tests.rs"]
mod tests;
