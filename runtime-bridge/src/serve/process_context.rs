//! What a bridge needs to start its engine.

use std::{env, sync::Arc};

use bridge_core::{crd::MANAGED_BY, queue::Limits};
use bridge_engine::{
    api_error::ApiError,
    client::Clients,
    clock::Clock,
    dispatch::DispatchOptions,
    engine::{Engine, EngineOptions},
    lease::Leadership,
    managed::{DigestKeyError, Digester, ManagedMetrics, ManagedOptions, Shared},
    metrics::Metrics,
    shell::Detached,
};
use tokio::{sync::watch, time::Instant};

use super::{BehaviourArgs, ServeError};
use crate::{compositions::Compositions, retry_until::retry_until};

/// What an engine is started with.
pub struct ProcessContext {
    /// How resources are managed.
    pub behaviour: BehaviourArgs,
    /// The way to the API server.
    pub clients: Clients,
    /// The cluster's id, and the digester that belongs to it.
    pub identity: Identity,
    /// Whether this process may act.
    pub leadership: Leadership,
    /// All metrics of the process.
    pub metrics: Arc<Metrics>,
    /// The metrics of managed resources, which outlive an engine.
    pub managed_metrics: Arc<ManagedMetrics>,
    /// The clock: a simulation passes virtual time.
    pub clock: Arc<dyn Clock>,
    /// The passes of the process.
    pub detached: Detached,
    /// How functions are reached, if compositions are served.
    pub compositions: Option<Compositions>,
}

/// What only the cluster knows. It stays as it is for as long as the bridge runs.
pub struct Identity {
    digester: Digester,
    cluster_id: String,
}

impl Identity {
    /// Reads it; what is not there yet is waited for until then. `namespace`: of the bridge's own Secrets.
    pub async fn read(clients: &Clients, namespace: &str, until: Instant) -> Result<Self, ServeError> {
        let temporary = |error: &DigestKeyError| match error {
            DigestKeyError::Api { source, .. } => source.is_transient(),
            DigestKeyError::Unusable { .. } => false,
        };
        let load = || Digester::load(&clients.write, namespace);
        let digester = retry_until("the Secret of the bridge", until, temporary, load).await?;
        let read = || clients.cluster_id();
        let cluster_id = retry_until("the namespace kube-system", until, ApiError::is_transient, read).await;
        Ok(Self {
            digester,
            cluster_id: cluster_id.map_err(ServeError::ClusterId)?,
        })
    }
}

impl ProcessContext {
    /// An engine, and what its controllers share. Passes begin once the gate is opened.
    pub fn engine(&self) -> (Arc<Shared>, Arc<Engine>, watch::Sender<bool>) {
        let options = ManagedOptions {
            settings: self.behaviour.settings(),
            cluster_id: self.identity.cluster_id.clone(),
            leadership: self.leadership.clone(),
            detached: self.detached.clone(),
        };
        let (gate, gated) = watch::channel(false);
        let metrics = Arc::clone(&self.metrics);
        let engine = Engine::start(
            self.clients.clone(),
            metrics,
            Arc::clone(&self.clock),
            &self.engine_options(),
            gated,
        );
        let engine = Arc::new(engine);
        let digester = self.identity.digester.clone();
        let shared = Shared::new(&engine, digester, Arc::clone(&self.managed_metrics), options);
        (shared, engine, gate)
    }

    fn engine_options(&self) -> EngineOptions {
        EngineOptions {
            instance: env::var("HOSTNAME").unwrap_or_else(|_| MANAGED_BY.to_owned()),
            dispatch: DispatchOptions {
                limits: limits(self.behaviour.max_concurrent_reconciles),
                ..DispatchOptions::default()
            },
            ..EngineOptions::default()
        }
    }
}

/// No plugin, no kind and no account takes more than half of all permits, and one kind of one account no more than half of that.
fn limits(total: u16) -> Limits {
    let total = usize::from(total);
    Limits {
        total,
        per_kind: total.div_ceil(2),
        per_flow: total.div_ceil(2),
        per_kind_in_flow: total.div_ceil(4),
        per_owner: total.div_ceil(2),
    }
}
