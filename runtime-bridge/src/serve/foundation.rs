//! What outlives every engine of a bridge, and is needed to start one.

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
};
use tokio::{sync::watch, time::Instant};

use super::{BehaviourArgs, ServeError};
use crate::patience::patiently;

/// What outlives every engine.
pub struct Foundation {
    /// How resources are looked after.
    pub behaviour: BehaviourArgs,
    /// Of the bridge's own Secrets.
    pub namespace: String,
    /// The way to the API server.
    pub clients: Clients,
    /// Whether this process may act.
    pub leadership: Leadership,
    /// Of the process.
    pub metrics: Arc<Metrics>,
    /// Of managed resources.
    pub managed_metrics: Arc<ManagedMetrics>,
    /// The time: a simulation brings its own.
    pub clock: Arc<dyn Clock>,
    /// What is not there yet at start is waited for until then.
    pub until: Instant,
}

impl Foundation {
    /// An engine, and what its controllers share. Passes begin once the gate is opened.
    pub async fn engine(&self) -> Result<(Arc<Shared>, Arc<Engine>, watch::Sender<bool>), ServeError> {
        let client = &self.clients.write;
        let temporary = |error: &DigestKeyError| match error {
            DigestKeyError::Api { source, .. } => source.is_transient(),
            DigestKeyError::Unusable { .. } => false,
        };
        let load = || Digester::load(client, &self.namespace);
        let digester = patiently("the Secret of the bridge", self.until, temporary, load).await?;
        let read = || self.clients.cluster_id();
        let cluster_id = patiently(
            "the namespace kube-system",
            self.until,
            ApiError::is_transient,
            read,
        )
        .await;
        let options = ManagedOptions {
            settings: self.behaviour.settings(),
            cluster_id: cluster_id.map_err(ServeError::ClusterId)?,
            leadership: self.leadership.clone(),
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
        let shared = Shared::new(&engine, digester, Arc::clone(&self.managed_metrics), options);
        Ok((shared, engine, gate))
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

/// No kind and no account takes more than half of all places, and one kind of one account no more than half of that.
fn limits(total: u16) -> Limits {
    let total = usize::from(total);
    Limits {
        total,
        per_kind: total.div_ceil(2),
        per_lane: total.div_ceil(2),
        per_kind_in_lane: total.div_ceil(4),
    }
}
