//! The shell of the machine on a real API server, before an external system of the test's own.

use std::{
    collections::{BTreeMap, BTreeSet},
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
        Absent, Answer, CallError, Completed, Config, DesiredState, Document, Failure, Look, Observation,
        Outcome, OutcomeResult, Secrets, Target,
    },
    kind::{Capabilities, CreateRecovery, DiffMode, Kind, NameRules, NameSource, ResourceType, Timeouts},
    managed::{Problem, Settings, names},
    queue::Priority,
    watch_plan::GroupKind,
};
use bridge_engine::{
    crd,
    engine::{Controller, Engine},
    lease::Leadership,
    managed::{ConfigSource, Detached, Digester, ManagedMetrics, ManagedOptions, ManagedReconciler, Shared},
    object::{Key, Object},
    ports::External,
    watch::WatchState,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use crate::{
    admin::{Admin, plane},
    stage::{self, LIMIT, until, within},
};

/// Things by name, each with its parameters.
struct Outside {
    things: Mutex<BTreeMap<String, Document>>,
    calls: AtomicU32,
    places: Arc<Semaphore>,
}

impl Outside {
    fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            things: Mutex::default(),
            calls: AtomicU32::new(0),
            places: Arc::new(Semaphore::new(places)),
        })
    }

    /// Whoever calls has taken a place before.
    fn called(&self, places: usize) {
        assert!(self.places.available_permits() < places, "a call without a place");
        self.calls.fetch_add(1, Ordering::SeqCst);
    }

    fn found(&self, name: &str) -> Option<Observation> {
        let parameters = self.things.lock().get(name).cloned()?;
        Some(Observation {
            external_name: name.to_owned(),
            canonical_id: format!("id of {name}"),
            provider_state: String::new(),
            parameters,
            status: None,
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

const PLACES: usize = 2;

/// Nothing happens in a test because a poll is due.
const POLL: Duration = Duration::from_hours(1);

#[async_trait]
impl External for Outside {
    fn places(&self) -> Option<Arc<Semaphore>> {
        Some(Arc::clone(&self.places))
    }

    async fn observe(&self, target: &Target, _: &DesiredState, _: Timestamp) -> Result<Look, CallError> {
        self.called(PLACES);
        Ok(match self.found(&target.external_name) {
            Some(found) => Look::Found(Box::new(found)),
            None => Look::Absent(Absent::default()),
        })
    }

    async fn create(
        &self,
        target: &Target,
        desired: &DesiredState,
        _: &str,
        _: bool,
        _: Timestamp,
    ) -> Answer {
        self.called(PLACES);
        let name = target.external_name.clone();
        self.things
            .lock()
            .insert(name.clone(), desired.parameters.clone());
        Ok(self.completed(&name))
    }

    async fn update(
        &self,
        target: &Target,
        desired: &DesiredState,
        _: &[String],
        _: &str,
        _: Timestamp,
    ) -> Answer {
        self.called(PLACES);
        let name = target.external_name.clone();
        self.things
            .lock()
            .insert(name.clone(), desired.parameters.clone());
        Ok(self.completed(&name))
    }

    async fn delete(&self, target: &Target, _: &DesiredState, _: &str, _: Timestamp) -> Answer {
        self.called(PLACES);
        self.things.lock().remove(&target.external_name);
        Ok(self.completed(&target.external_name))
    }

    async fn poll(&self, _: &Target, _: &str, _: &DesiredState, _: Timestamp) -> Answer {
        unreachable!("nothing here takes long")
    }

    async fn check_config(&self, _: &Config, _: Timestamp) -> Result<Result<String, Failure>, CallError> {
        unreachable!("the test has its own configs")
    }
}

/// One config, which can be read while this is true.
struct Configs(watch::Sender<bool>);

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

    fn refused(&self, _: &Config, _: &Failure, _: Timestamp) {}
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
        status_schema: json!({"type": "object"}),
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
        digest: "1".to_owned(),
    }
}

/// A process that serves things.
struct Process {
    engine: Engine,
    configs: Arc<Configs>,
    controller: Controller,
    _gate: watch::Sender<bool>,
}

/// A kind of its own, and whoever looks after it.
struct Stage {
    kind: Arc<Kind>,
    admin: Admin,
    namespace: String,
    outside: Arc<Outside>,
}

impl Stage {
    async fn new() -> Self {
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

    async fn process(&self) -> Process {
        let (engine, gate) = stage::engine(plane().await.kubeconfig()).await;
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
        engine.serve(controller.clone());
        until("both watches are live", || {
            engine.watches.state(&watched) == WatchState::Live && engine.secrets.state() == WatchState::Live
        })
        .await;
        Process {
            engine,
            configs,
            controller,
            _gate: gate,
        }
    }

    fn collection(&self) -> String {
        let ResourceType { group, version, .. } = &self.kind.resource_type;
        format!("/apis/{group}/{version}/namespaces/{}/things", self.namespace)
    }

    fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.collection())
    }

    async fn create(&self, name: &str, annotations: Value) {
        let ResourceType { group, version, .. } = &self.kind.resource_type;
        let thing = json!({
            "apiVersion": format!("{group}/{version}"),
            "kind": "Thing",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"forProvider": {"size": 1}, "writeConnectionSecretToRef": {"name": name}},
        });
        self.admin.create(&self.collection(), &thing).await.unwrap();
    }

    /// Until the condition has this reason.
    async fn says(&self, name: &str, kind: &str, reason: &str) {
        let says = |thing: &Value| {
            let conditions = thing["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            conditions
                .iter()
                .any(|one| one["type"] == kind && one["reason"] == reason)
        };
        let path = self.path(name);
        within(async {
            while !self.admin.get(&path).await.is_ok_and(|thing| says(&thing)) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_connection_secret_that_somebody_deletes_comes_back() {
    let stage = Stage::new().await;
    let _process = stage.process().await;
    stage.create("one", json!({})).await;
    stage.says("one", "Ready", "Available").await;
    let path = format!("/api/v1/namespaces/{}/secrets/one", stage.namespace);
    let first = stage.admin.get(&path).await.unwrap();
    stage.admin.delete(&path).await.unwrap();
    let second = within(async {
        loop {
            if let Ok(second) = stage.admin.get(&path).await {
                return second;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_ne!(second["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(second["data"], first["data"]);
}

#[tokio::test]
async fn deleting_is_shown_though_the_config_cannot_be_read() {
    let stage = Stage::new().await;
    let process = stage.process().await;
    stage.create("one", json!({})).await;
    stage.says("one", "Ready", "Available").await;
    process.configs.0.send_replace(false);
    stage.admin.delete(&stage.path("one")).await.unwrap();
    stage.says("one", "Ready", "Deleting").await;
    process.configs.0.send_replace(true);
    within(async {
        while stage.admin.get(&stage.path("one")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(stage.outside.things.lock().is_empty());
}

#[tokio::test]
async fn after_a_restart_whoever_is_recorded_keeps_the_resource() {
    let stage = Stage::new().await;
    let first = stage.process().await;
    stage.create("mine", json!({})).await;
    stage.says("mine", "Ready", "Available").await;
    // Whose turn comes first after the restart: not its own.
    let paused = json!({"metadata": {"annotations": {names::PAUSED: "true"}}});
    stage.admin.patch(&stage.path("mine"), &paused).await.unwrap();
    stage.says("mine", "Synced", "ReconcilePaused").await;
    drop(first);
    the_newcomer_is_refused(&stage).await;
}

#[tokio::test]
async fn after_a_restart_whoever_was_making_it_keeps_the_resource() {
    let stage = Stage::new().await;
    let first = stage.process().await;
    stage.create("mine", json!({})).await;
    stage.says("mine", "Ready", "Available").await;
    let paused = json!({"metadata": {"annotations": {names::PAUSED: "true"}}});
    stage.admin.patch(&stage.path("mine"), &paused).await.unwrap();
    stage.says("mine", "Synced", "ReconcilePaused").await;
    drop(first);
    // As if the process had died before the status: its create is not confirmed.
    let path = format!("{}/status", stage.path("mine"));
    let unconfirmed = json!({"status": {"crossbridge": null}});
    stage.admin.patch(&path, &unconfirmed).await.unwrap();
    the_newcomer_is_refused(&stage).await;
}

/// Another object that wants the name of `mine` gets nothing, and its deletion takes nothing away.
async fn the_newcomer_is_refused(stage: &Stage) {
    let _second = stage.process().await;
    stage.create("other", json!({names::EXTERNAL_NAME: "mine"})).await;
    stage.says("other", "Synced", "DoublyOwned").await;
    stage.admin.delete(&stage.path("other")).await.unwrap();
    within(async {
        while stage.admin.get(&stage.path("other")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(stage.outside.things.lock().contains_key("mine"));
}

#[tokio::test]
async fn a_pass_waits_for_a_place_before_it_records_an_intent() {
    let stage = Stage::new().await;
    let process = stage.process().await;
    let all = u32::try_from(PLACES).unwrap();
    let taken = Arc::clone(&stage.outside.places)
        .acquire_many_owned(all)
        .await
        .unwrap();
    stage.create("one", json!({})).await;
    until("its pass runs", || {
        !process.engine.dispatcher.in_flight().is_empty()
    })
    .await;
    let one = stage.admin.get(&stage.path("one")).await.unwrap();
    assert_eq!(one["metadata"]["annotations"][names::RECORD], Value::Null);
    assert_eq!(stage.outside.calls.load(Ordering::SeqCst), 0);
    drop(taken);
    stage.says("one", "Ready", "Available").await;
    assert_eq!(stage.outside.places.available_permits(), PLACES);
}

#[tokio::test]
async fn after_a_restart_an_account_is_a_lane_and_what_rests_waits_for_its_poll() {
    let stage = Stage::new().await;
    let first = stage.process().await;
    stage.create("one", json!({})).await;
    stage.says("one", "Ready", "Available").await;
    drop(first);

    let second = stage.process().await;
    let key = Key::new(second.controller.api.kind.clone(), Some(&stage.namespace), "one");
    let one = second.engine.store.get(&key).unwrap();
    let reconciler = &second.controller.reconciler;
    assert_eq!(
        reconciler.lane(&one),
        "ClusterProviderConfig.plugin.crossbridge.dev account"
    );
    let now = Timestamp::now();
    let turns = (0..20).map(|_| reconciler.resume(&one, now));
    let (at, priorities): (BTreeSet<_>, Vec<_>) = turns.map(|turn| (turn.at, turn.priority)).unzip();
    assert!(at.len() > 1, "not all at one moment: {at:?}");
    assert!(at.iter().all(|at| *at <= now + POLL));
    assert_eq!(priorities, [Priority::InitialList; 20]);
}
