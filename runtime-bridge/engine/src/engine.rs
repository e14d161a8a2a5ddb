//! The engine as a whole: what a process starts once, and what kinds are served by.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use crate::{
    client::Clients,
    clock::Clock,
    event::EventRecorder,
    metrics::Metrics,
    object::{ApiType, Key},
    reconcile::Reconcile,
    secret::SecretReader,
    state::EngineState,
    store::{Listener, References, Selector, Store},
    watch::Subscription,
    write::{ConnectionSecrets, Writer},
};

/// How the engine runs.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Field manager of writes that name no other.
    pub field_manager: String,
    /// Name of this process, in events.
    pub instance: String,
    /// Passes at once.
    pub passes: usize,
    /// Passes at once of one kind.
    pub passes_per_kind: usize,
    /// Passes at once of one kind in one account.
    pub passes_per_lane: usize,
    /// A pass is dropped after this time.
    pub pass_timeout: Duration,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            field_manager: "crossbridge.dev/bridge".to_owned(),
            instance: "crossbridge".to_owned(),
            passes: 128,
            passes_per_kind: 64,
            passes_per_lane: 32,
            pass_timeout: Duration::from_mins(2),
        }
    }
}

/// One kind, and who reconciles it. Its controller runs whenever its CRD is established.
#[derive(Clone)]
pub struct Controller {
    /// The kind.
    pub api: Arc<ApiType>,
    /// What its objects refer to: a change of those makes it their turn.
    pub references: Arc<References>,
    /// Who reconciles.
    pub reconciler: Arc<dyn Reconcile>,
    /// Why it is watched, for people.
    pub reason: String,
}

/// The running engine.
pub struct Engine {
    /// Both clients.
    pub clients: Clients,
    /// What is known of the cluster.
    pub store: Arc<Store>,
    /// Writes.
    pub writer: Writer,
    /// Connection Secrets.
    pub connection_secrets: Arc<ConnectionSecrets>,
    /// Events.
    pub events: Arc<EventRecorder>,
    /// Secrets.
    pub secrets: Arc<SecretReader>,
    /// Metrics of the process.
    pub metrics: Arc<Metrics>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Engine {
    /// Starts watching definitions and Secrets. Passes begin while `gate` is true.
    pub fn start(
        clients: Clients,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
        options: EngineOptions,
        gate: watch::Receiver<bool>,
    ) -> Self {
        let _ = (clients, metrics, clock, options, gate);
        unimplemented!()
    }

    /// Serves a kind from now on.
    pub fn serve(&self, controller: Controller) {
        let _ = controller;
        unimplemented!()
    }

    /// Watches more, for as long as the answer is kept.
    #[must_use]
    pub fn subscribe(
        &self,
        api: &Arc<ApiType>,
        selector: Selector,
        reason: &str,
        listener: Arc<Listener>,
    ) -> Subscription {
        let _ = (api, selector, reason, listener);
        unimplemented!()
    }

    /// It is this object's turn as soon as can be.
    pub fn enqueue(&self, key: &Key) {
        let _ = key;
        unimplemented!()
    }

    /// For `/debug/state`.
    pub fn state(&self) -> EngineState {
        unimplemented!()
    }

    /// Begins no more passes, waits for those that run, but not longer than `limit`; then sends what events wait, and stops all
    /// watches. Returns the passes that had to be dropped.
    pub async fn drain(&self, limit: Duration) -> Vec<Key> {
        std::future::ready(limit).await;
        unimplemented!()
    }
}
