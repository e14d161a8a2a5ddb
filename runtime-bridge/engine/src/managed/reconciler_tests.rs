use std::convert::Infallible;

use async_trait::async_trait;
use bridge_core::{
    external::{Answer, Call, CallError, Config, DesiredState, Failure, ObserveResult, Target},
    kind::{Capabilities, DiffMode, NameRules, NameSource, ResourceType, Timeouts},
    managed::Problem,
};
use http::{Request, Response};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;

use super::*;
use crate::{
    client::{ApiClient, Clients, DEADLINE},
    clock::SystemClock,
    engine::EngineOptions,
    lease::Leadership,
    metrics::Metrics,
    shell::Detached,
};

/// Knows the store, as the real one does by way of its Secrets.
struct Configs(Arc<Store>);

#[async_trait]
impl ConfigSource for Configs {
    async fn resolve(&self, _: &Object) -> Result<Arc<Config>, Problem> {
        unreachable!()
    }

    fn references(&self, _: &Object) -> Vec<Key> {
        self.0
            .list(&ApiType::secrets().kind)
            .iter()
            .map(|secret| secret.key())
            .collect()
    }

    fn rejected(&self, _: &Config, _: &Failure, _: Timestamp) {}

    fn accepted(&self, _: &Config, _: Timestamp) {}
}

/// Is never called.
struct Nothing;

#[async_trait]
impl External for Nothing {
    async fn observe(&self, _: &Target, _: &DesiredState, _: Timestamp) -> Result<ObserveResult, CallError> {
        unreachable!()
    }

    async fn execute(&self, _: &Call) -> Answer {
        unreachable!()
    }

    async fn check_config(&self, _: &Config, _: Timestamp) -> Result<Result<String, Failure>, CallError> {
        unreachable!()
    }
}

fn kind() -> Kind {
    Kind {
        resource_type: ResourceType {
            group: "example.org".to_owned(),
            version: "v1".to_owned(),
            kind: "Bucket".to_owned(),
        },
        plural: "buckets".to_owned(),
        singular: "bucket".to_owned(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        description: String::new(),
        parameters_schema: Value::Null,
        status_schema: Value::Null,
        printer_columns: Vec::new(),
        capabilities: Capabilities {
            can_create: true,
            can_update: true,
            can_delete: true,
            create_recovery: Vec::new(),
            token_retention: Duration::ZERO,
            consistency_window: Duration::ZERO,
            holds_marker: false,
            diff_mode: DiffMode::Bridge,
            concurrent_update: false,
            delete_during_create: false,
            rate_limit_group: "Bucket".to_owned(),
            late_margin: Duration::ZERO,
            visible_when_accepted: true,
        },
        external_name: NameRules {
            source: NameSource::User,
            pattern: String::new(),
            max_length: 0,
            example: String::new(),
        },
        field_rules: Vec::new(),
        connection_keys: Vec::new(),
        timeouts: Timeouts {
            call: Duration::from_secs(1),
            create: None,
            update: None,
            delete: None,
        },
        examples: Vec::new(),
        list_filter_schema: None,
        digest: String::new(),
    }
}

/// An engine whose API server never answers.
fn engine(metrics: &Arc<Metrics>) -> Engine {
    let silent =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let client = || {
        ApiClient::new(
            kube::Client::new(silent, "default"),
            Arc::clone(metrics),
            DEADLINE,
        )
    };
    let clients = Clients {
        watch: client(),
        write: client(),
        server: String::new(),
        version: String::new(),
    };
    let (_, gate) = watch::channel(false);
    let clock = Arc::new(SystemClock);
    Engine::start(
        clients,
        Arc::clone(metrics),
        clock,
        &EngineOptions::default(),
        gate,
    )
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_is_dropped_leaves_nothing_behind() {
    let metrics = Arc::new(Metrics::new());
    let engine = engine(&metrics);
    let options = ManagedOptions {
        settings: Settings {
            poll: Duration::from_mins(1),
            poll_jitter: Duration::ZERO,
            clock_skew: Duration::ZERO,
            ..Settings::default()
        },
        cluster_id: String::new(),
        leadership: Leadership::unopposed(),
        detached: Detached::default(),
    };
    let shared = Shared::new(
        &engine,
        Digester::new(vec![0; 32]),
        ManagedMetrics::new(&metrics),
        options,
    );
    let configs = Arc::new(Configs(Arc::clone(&engine.store)));
    let reconciler = ManagedReconciler::new(&shared, Arc::new(kind()), Arc::new(Nothing), configs, "1.0.0");
    let served = engine.serve(reconciler.controller("the test serves it"));
    let (store, secrets) = (Arc::downgrade(&engine.store), Arc::downgrade(&engine.secrets));
    // The engine last, so that it is the one who ends everything.
    drop((shared, reconciler, served, engine));
    let gone = async {
        while store.upgrade().is_some() || secrets.upgrade().is_some() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(5), gone).await;
    assert!(gone.is_ok(), "somebody still holds the store or the Secrets");
}
