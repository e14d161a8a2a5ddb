//! Things: an external system of the test's own, a kind for it, and a process that serves them.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bridge_core::{
    crd::managed,
    external::{
        Absent, Answer, Call, CallError, Completed, Config, DesiredState, Document, Failure, Observation,
        ObserveResult, Outcome, OutcomeResult, Secrets, Target, Verb,
    },
    kind::{Capabilities, CreateRecovery, DiffMode, Kind, NameRules, NameSource, ResourceType, Timeouts},
    managed::{Problem, Settings},
    watch_plan::GroupKind,
};
use bridge_engine::{
    api_error::ApiError,
    crd,
    engine::{Controller, Engine},
    lease::Leadership,
    managed::{ConfigSource, Digester, ManagedMetrics, ManagedOptions, ManagedReconciler, Shared},
    object::{Key, Object},
    ports::{External, Permit},
    serve::Served,
    shell::Detached,
    watch::WatchState,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use crate::{
    admin::{Admin, plane},
    harness::{self, LIMIT, until, within},
};

/// Things by name, each with its parameters.
pub struct Outside {
    pub things: Mutex<BTreeMap<String, Document>>,
    pub calls: AtomicU32,
    pub permits: Arc<Semaphore>,
    /// For large answers.
    pub room: Arc<Semaphore>,
    /// Creations go on while this has a permit.
    pub open: Semaphore,
    /// Likewise observations.
    pub observing: Semaphore,
    /// What the plugin tells of a creation, beside what a look shows.
    pub told: Mutex<(String, Secrets)>,
    /// What an observation reports as status.
    pub status: Mutex<Option<Document>>,
}

impl Outside {
    fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self {
            things: Mutex::default(),
            calls: AtomicU32::new(0),
            permits: Arc::new(Semaphore::new(permits)),
            room: Arc::new(Semaphore::new(1)),
            open: Semaphore::new(1),
            observing: Semaphore::new(Semaphore::MAX_PERMITS),
            told: Mutex::default(),
            status: Mutex::default(),
        })
    }

    /// Whoever calls has taken a place before.
    fn called(&self, permits: usize) {
        assert!(
            self.permits.available_permits() < permits,
            "a call without a place"
        );
        self.calls.fetch_add(1, Ordering::SeqCst);
    }

    fn found(&self, name: &str) -> Option<Observation> {
        let parameters = self.things.lock().get(name).cloned()?;
        Some(Observation {
            external_name: name.to_owned(),
            canonical_id: format!("id of {name}"),
            provider_state: String::new(),
            parameters,
            status: self.status.lock().clone(),
            ready: true,
            ready_message: String::new(),
            up_to_date: None,
            diffs: Vec::new(),
            connection_details: Secrets(BTreeMap::from([("endpoint".to_owned(), name.into())])),
            etag: String::new(),
            deleting: false,
            operation: None,
            found_marker: String::new(),
            observe_after: None,
            warnings: Vec::new(),
        })
    }

    fn completed(&self, name: &str) -> Outcome {
        Outcome {
            external_name: name.to_owned(),
            canonical_id: String::new(),
            provider_state: String::new(),
            connection_details: Secrets::default(),
            warnings: Vec::new(),
            result: OutcomeResult::Completed(Box::new(Completed {
                observation: self.found(name),
                already_done: false,
            })),
        }
    }
}

pub const PLACES: usize = 2;

/// Nothing happens in a test because a poll is due.
pub const POLL: Duration = Duration::from_hours(1);

#[async_trait]
impl External for Outside {
    fn try_acquire(&self) -> Option<Permit> {
        let permits = Arc::clone(&self.permits);
        permits.try_acquire_owned().ok().map(Permit::holding)
    }

    async fn acquire(&self) -> Permit {
        let permits = Arc::clone(&self.permits);
        Permit::holding(permits.acquire_owned().await.expect("they are never closed"))
    }

    fn try_acquire_room(&self) -> Option<Permit> {
        let room = Arc::clone(&self.room);
        room.try_acquire_owned().ok().map(Permit::holding)
    }

    async fn acquire_room(&self) -> Permit {
        let room = Arc::clone(&self.room);
        Permit::holding(room.acquire_owned().await.expect("it is never closed"))
    }

    async fn observe(
        &self,
        target: &Target,
        _: &DesiredState,
        _: Timestamp,
    ) -> Result<ObserveResult, CallError> {
        self.called(PLACES);
        let _observing = self.observing.acquire().await;
        Ok(match self.found(&target.external_name) {
            Some(found) => ObserveResult::Found(Box::new(found)),
            None => ObserveResult::Absent(Absent::default()),
        })
    }

    async fn execute(&self, call: &Call) -> Answer {
        self.called(PLACES);
        let name = &call.target.external_name;
        match call.verb {
            Verb::Create => {
                let _open = self.open.acquire().await;
                self.things
                    .lock()
                    .insert(name.clone(), call.desired.parameters.clone());
                let (provider_state, connection_details) = self.told.lock().clone();
                Ok(Outcome {
                    provider_state,
                    connection_details,
                    ..self.completed(name)
                })
            }
            Verb::Update => {
                self.things
                    .lock()
                    .insert(name.clone(), call.desired.parameters.clone());
                let provider_state = self.told.lock().0.clone();
                Ok(Outcome {
                    provider_state,
                    ..self.completed(name)
                })
            }
            Verb::Delete => {
                self.things.lock().remove(name);
                Ok(self.completed(name))
            }
            Verb::Poll | Verb::Observe => unreachable!("nothing here takes long"),
        }
    }

    async fn check_config(&self, _: &Config, _: Timestamp) -> Result<Result<String, Failure>, CallError> {
        unreachable!("the test has its own configs")
    }
}

/// One config, which can be read while this is true.
pub struct Configs(pub watch::Sender<bool>);

#[async_trait]
impl ConfigSource for Configs {
    async fn resolve(&self, _: &Object) -> Result<Arc<Config>, Problem> {
        let mut readable = self.0.subscribe();
        let readable = readable.wait_for(|readable| *readable).await;
        readable.expect("its sender is here");
        Ok(Arc::new(Config {
            id: "config".to_owned(),
            revision: "1".to_owned(),
            settings_digest: String::new(),
            identity: "account".to_owned(),
            settings: None,
            credentials: Secrets::default(),
            credentials_expire: None,
        }))
    }

    fn references(&self, _: &Object) -> Vec<Key> {
        vec![Key::new(
            GroupKind::new("plugin.crossbridge.dev", "ClusterProviderConfig"),
            None,
            "account",
        )]
    }

    fn rejected(&self, _: &Config, _: &Failure, _: Timestamp) {}

    fn accepted(&self, _: &Config, _: Timestamp) {}
}

/// Deterministic names, and no marker.
fn kind(group: &str) -> Kind {
    Kind {
        resource_type: ResourceType {
            group: group.to_owned(),
            version: "v1alpha1".to_owned(),
            kind: "Thing".to_owned(),
        },
        plural: "things".to_owned(),
        singular: "thing".to_owned(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        description: "A thing.".to_owned(),
        parameters_schema: json!({"type": "object", "properties": {"size": {"type": "integer"}}}),
        status_schema: json!({"type": "object", "properties": {
            "ratio": {"type": "number"},
            "note": {"type": "string"},
            "maybe": {"type": "string", "nullable": true},
            "colour": {"type": "string", "default": "red"},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }}),
        printer_columns: Vec::new(),
        capabilities: Capabilities {
            can_create: true,
            can_update: true,
            can_delete: true,
            create_recovery: vec![CreateRecovery::DeterministicName],
            token_retention: Duration::MAX,
            consistency_window: Duration::ZERO,
            holds_marker: false,
            diff_mode: DiffMode::Bridge,
            concurrent_update: false,
            delete_during_create: false,
            rate_limit_group: "Thing".to_owned(),
            late_margin: Duration::ZERO,
            visible_when_accepted: true,
        },
        external_name: NameRules {
            source: NameSource::User,
            pattern: String::new(),
            max_length: 0,
            example: "thing".to_owned(),
        },
        field_rules: Vec::new(),
        connection_keys: Vec::new(),
        timeouts: Timeouts {
            call: Duration::from_secs(20),
            create: None,
            update: None,
            delete: None,
        },
        examples: Vec::new(),
        list_filter_schema: None,
        digest: "1".to_owned(),
    }
}

/// A process that serves things.
pub struct Process {
    pub engine: Engine,
    pub shared: Arc<Shared>,
    pub configs: Arc<Configs>,
    pub controller: Controller,
    pub gate: watch::Sender<bool>,
    _served: Served,
}

impl Process {
    /// Until so many objects have had their pass, and none runs.
    pub async fn all_wait(&self, objects: usize) {
        until("all objects wait, and no pass does", || {
            let counts = self.engine.dispatcher.counts();
            let counts = counts.get(&self.controller.api.kind).copied().unwrap_or_default();
            (counts.waiting, counts.ready, counts.running) == (objects, 0, 0)
        })
        .await;
    }
}

/// A kind of its own, and whoever looks after it.
pub struct RealHarness {
    pub kind: Arc<Kind>,
    pub admin: Admin,
    pub namespace: String,
    pub outside: Arc<Outside>,
}

impl RealHarness {
    pub async fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let group = format!("m{}.crossbridge.dev", NEXT.fetch_add(1, Ordering::Relaxed));
        let admin = Admin::new().await;
        let namespace = admin.namespace(&group.replace('.', "-")).await;
        Self {
            kind: Arc::new(kind(&group)),
            admin,
            namespace,
            outside: Outside::new(PLACES),
        }
    }

    pub async fn process(&self) -> Process {
        let (engine, gate) = harness::engine(plane().await.kubeconfig()).await;
        let options = ManagedOptions {
            settings: Settings {
                poll: POLL,
                ..Settings::default()
            },
            cluster_id: "cluster".to_owned(),
            leadership: Leadership::unopposed(),
            detached: Detached::default(),
        };
        let digester = Digester::new(b"key".to_vec());
        let metrics = ManagedMetrics::new(&engine.metrics);
        let shared = Shared::new(&engine, digester, metrics, options);
        let configs = Arc::new(Configs(watch::channel(true).0));
        let (external, source) = (Arc::clone(&self.outside) as _, Arc::clone(&configs) as _);
        let reconciler = ManagedReconciler::new(&shared, Arc::clone(&self.kind), external, source, "1.0.0");
        let controller = reconciler.controller("the test serves it");
        let watched = controller.api.kind.clone();
        crd::install(&engine.clients.write, &[managed(&self.kind).unwrap()], LIMIT)
            .await
            .unwrap();
        let served = engine.serve(controller.clone());
        until("both watches are live", || {
            engine.watches.state(&watched) == WatchState::Live && engine.secrets.state() == WatchState::Live
        })
        .await;
        Process {
            engine,
            shared,
            configs,
            controller,
            gate,
            _served: served,
        }
    }

    fn collection(&self) -> String {
        let ResourceType { group, version, .. } = &self.kind.resource_type;
        format!("/apis/{group}/{version}/namespaces/{}/things", self.namespace)
    }

    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.collection())
    }

    pub async fn create(&self, name: &str, annotations: Value) {
        let ResourceType { group, version, .. } = &self.kind.resource_type;
        let thing = json!({
            "apiVersion": format!("{group}/{version}"),
            "kind": "Thing",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"forProvider": {"size": 1}, "writeConnectionSecretToRef": {"name": name}},
        });
        // While it takes up a changed definition, the API server answers 503: "apiserver is shutting down".
        let created = within(async {
            loop {
                match self.admin.create(&self.collection(), &thing).await {
                    Err(ApiError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                    created => return created,
                }
            }
        });
        created.await.unwrap();
    }

    /// Until the condition has this reason.
    pub async fn value(&self, name: &str, kind: &str, reason: &str) {
        let value = |thing: &Value| {
            let conditions = thing["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            conditions
                .iter()
                .any(|one| one["type"] == kind && one["reason"] == reason)
        };
        let path = self.path(name);
        let mut last = None;
        let becomes = async {
            loop {
                let thing = last.insert(self.admin.get(&path).await);
                if thing.as_ref().is_ok_and(value) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let done = tokio::time::timeout(LIMIT, becomes).await;
        assert!(
            done.is_ok(),
            "{name}: no {kind} of {reason} within {LIMIT:?}: {last:#?}"
        );
    }
}
