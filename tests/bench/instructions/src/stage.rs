//! An engine with one kind, over an API server and a plugin in the process. Its time goes on only as it is told.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bridge_core::{
    external::{
        Absent, Answer, Call, CallError, Config, DesiredState, Failure, Observation, ObserveResult, Outcome,
        OutcomeResult, Secrets, Target, Verb,
    },
    managed::{Problem, Settings},
    queue::Priority,
};
use bridge_engine::{
    client::{ApiClient, Clients, DEADLINE},
    clock::Clock,
    engine::{Engine, EngineOptions},
    lease::Leadership,
    managed::{ConfigSource, Digester, ManagedMetrics, ManagedOptions, ManagedReconciler, Shared},
    metrics::Metrics,
    object::{ApiType, Key, Object},
    ports::External,
    reconcile::{Next, Reconcile, ReconcileRequest},
    shell::Detached,
};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    documents::{self, NAMESPACE},
    kube_api::KubeApi,
};

/// Between drift polls.
pub const POLL: SignedDuration = SignedDuration::from_mins(1);

/// A clock that stands until it is moved.
pub struct Hand(AtomicI64);

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed)).unwrap_or_default()
    }
}

impl Hand {
    /// Moves it.
    pub fn go_on(&self, by: SignedDuration) {
        self.0.fetch_add(by.as_secs(), Ordering::Relaxed);
    }
}

/// Creates and deletes at once, and shows what was desired.
#[derive(Default)]
pub struct Cloud {
    existing: Mutex<BTreeSet<String>>,
    observed: AtomicU64,
}

impl Cloud {
    /// How often it was observed.
    pub fn observed(&self) -> u64 {
        self.observed.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl External for Cloud {
    async fn observe(
        &self,
        target: &Target,
        desired: &DesiredState,
        _: Timestamp,
    ) -> Result<ObserveResult, CallError> {
        self.observed.fetch_add(1, Ordering::Relaxed);
        let name = &target.external_name;
        if !self.existing.lock().contains(name) {
            return Ok(ObserveResult::Absent(Absent {
                external_name: String::new(),
            }));
        }
        let status = json!({"arn": format!("arn:example:{name}"), "region": "eu-central-1", "size": 100});
        Ok(ObserveResult::Found(Box::new(Observation {
            external_name: name.clone(),
            parameters: desired.parameters.clone(),
            status: status.as_object().cloned(),
            ready: true,
            found_marker: target.ownership_marker.clone(),
            ..Observation::default()
        })))
    }

    async fn execute(&self, call: &Call) -> Answer {
        let name = call.target.external_name.clone();
        match call.verb {
            Verb::Create => drop(self.existing.lock().insert(name.clone())),
            Verb::Delete => drop(self.existing.lock().remove(&name)),
            Verb::Observe | Verb::Update | Verb::Poll => {}
        }
        Ok(Outcome {
            external_name: name,
            canonical_id: String::new(),
            provider_state: String::new(),
            connection_details: Secrets::default(),
            warnings: Vec::new(),
            result: OutcomeResult::Completed(Box::default()),
        })
    }

    async fn check_config(&self, _: &Config, _: Timestamp) -> Result<Result<String, Failure>, CallError> {
        Ok(Ok(String::new()))
    }
}

struct OneConfig(Arc<Config>);

#[async_trait]
impl ConfigSource for OneConfig {
    async fn resolve(&self, _: &Object) -> Result<Arc<Config>, Problem> {
        Ok(Arc::clone(&self.0))
    }

    fn references(&self, _: &Object) -> Vec<Key> {
        Vec::new()
    }

    fn rejected(&self, _: &Config, _: &Failure, _: Timestamp) {}

    fn accepted(&self, _: &Config, _: Timestamp) {}
}

/// The whole of it.
pub struct Stage {
    /// The API server.
    pub server: Arc<KubeApi>,
    /// The engine.
    pub engine: Engine,
    /// The time.
    pub clock: Arc<Hand>,
    /// The plugin, and what is behind it.
    pub cloud: Arc<Cloud>,
    /// The kind.
    pub api: Arc<ApiType>,
    reconciler: Arc<dyn Reconcile>,
}

impl Stage {
    /// Within a runtime.
    pub fn new(server: Arc<KubeApi>) -> Self {
        let metrics = Arc::new(Metrics::new());
        let client = || ApiClient::new(server.client(), Arc::clone(&metrics), DEADLINE);
        let clients = Clients {
            watch: client(),
            write: client(),
            server: String::new(),
            version: String::new(),
        };
        let (_, gate) = watch::channel(false);
        let clock = Arc::new(Hand(AtomicI64::new(1_800_000_000)));
        let options = EngineOptions::default();
        let engine = Engine::start(
            clients,
            Arc::clone(&metrics),
            Arc::clone(&clock) as _,
            &options,
            gate,
        );
        let options = ManagedOptions {
            settings: Settings {
                poll_jitter: Duration::ZERO,
                ..Settings::default()
            },
            cluster_id: "7d3f2a1c-0000-1111-2222-333344445555".to_owned(),
            leadership: Leadership::unopposed(),
            detached: Detached::default(),
        };
        let shared = Shared::new(
            &engine,
            Digester::new(vec![0; 32]),
            ManagedMetrics::new(&metrics),
            options,
        );
        let config = OneConfig(Arc::new(Config {
            id: "config".to_owned(),
            revision: "1".to_owned(),
            settings_digest: "digest".to_owned(),
            identity: "account".to_owned(),
            settings: None,
            credentials: Secrets::default(),
            credentials_expire: None,
        }));
        let cloud = Arc::new(Cloud::default());
        let kind = Arc::new(documents::kind());
        let reconciler =
            ManagedReconciler::new(&shared, kind, Arc::clone(&cloud) as _, Arc::new(config), "1.0.0");
        let reconciler = reconciler.controller("it is measured").reconciler;
        let api = documents::api();
        engine.store.open(&api.kind);
        Self {
            server,
            engine,
            clock,
            cloud,
            api,
            reconciler,
        }
    }

    /// Where an object of the kind is.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.api.collection_path(Some(NAMESPACE)))
    }

    /// What an object of the kind is stored as.
    pub fn key(&self, name: &str) -> Key {
        Key::new(self.api.kind.clone(), Some(NAMESPACE), name)
    }

    /// Brings into the store what a watch would.
    pub fn show(&self, object: &Value) {
        let object = Object::decode(&self.api, &object.to_string()).expect("an object");
        self.engine.store.observe_read(Arc::new(object));
    }

    /// One reconcile.
    pub async fn reconcile(&self, key: &Key) -> Next {
        let started = self.clock.now();
        let request = ReconcileRequest {
            priority: Priority::DriftPoll,
            started,
            deadline: started + SignedDuration::from_mins(5),
            consecutive_failures: 0,
        };
        self.reconciler.reconcile(key, request).await
    }

    /// Reconciles until this holds, as time goes on.
    pub async fn until(&self, key: &Key, holds: impl Fn(&Self) -> bool) {
        for _ in 0..20 {
            self.reconcile(key).await;
            if holds(self) {
                return;
            }
            self.clock.go_on(SignedDuration::from_secs(10));
        }
        let stored = self.engine.store.get(key).map(|object| object.to_value());
        panic!("{key} does not get there: {stored:?}");
    }

    /// Reconciles an object that the user has created until it is Ready.
    pub async fn make_ready(&self, name: &str) -> Key {
        let (key, object) = (self.key(name), documents::created(name, "1"));
        self.server.store(&self.path(name), object.clone());
        self.show(&object);
        self.until(&key, |stage| stage.is_ready(name)).await;
        key
    }

    fn is_ready(&self, name: &str) -> bool {
        let status = self.server.get(&self.path(name)).unwrap_or_default();
        let conditions = status["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        conditions
            .iter()
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    }
}
