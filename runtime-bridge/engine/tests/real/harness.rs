//! An engine at work, and what it did.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use bridge_engine::{
    client::{Clients, ConnectOptions},
    clock::{Clock, SystemClock},
    crd,
    engine::{Controller, Engine, EngineOptions},
    metrics::Metrics,
    object::{Key, Object},
    reconcile::{Next, Reconcile, ReconcileRequest},
    serve::Served,
    store::{Edge, Store},
    watch::WatchState,
};
use tokio::sync::{mpsc, watch};

use crate::admin::{Admin, TestKind, plane};

/// Nothing on a real API server takes longer, and nothing is waited for longer.
pub const LIMIT: Duration = Duration::from_secs(30);

pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LIMIT, "{what}: not within {LIMIT:?}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// What must happen soon.
pub async fn within<T>(what: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(LIMIT, what).await;
    done.unwrap_or_else(|_| panic!("not within {LIMIT:?}"))
}

/// What a pass found.
#[derive(Debug, Clone)]
pub struct SeenReconcile {
    pub key: Key,
    pub object: Option<Arc<Object>>,
    pub pass: ReconcileRequest,
}

/// Tells of each pass, and leaves it at that.
struct RecordingReconciler {
    store: Arc<Store>,
    passes: mpsc::UnboundedSender<SeenReconcile>,
}

#[async_trait]
impl Reconcile for RecordingReconciler {
    async fn reconcile(&self, key: &Key, pass: ReconcileRequest) -> Next {
        let found = SeenReconcile {
            key: key.clone(),
            object: self.store.get(key),
            pass,
        };
        // The test may have seen enough.
        let _ = self.passes.send(found);
        Next::idle()
    }
}

/// An engine that serves one kind of its own.
pub struct RealHarness {
    pub engine: Engine,
    pub kind: TestKind,
    pub admin: Admin,
    pub namespace: String,
    pub passes: mpsc::UnboundedReceiver<SeenReconcile>,
    /// Passes that nobody has asked for yet.
    passed_over: VecDeque<SeenReconcile>,
    _gate: watch::Sender<bool>,
    pub controller: Controller,
    pub served: Option<Served>,
}

pub async fn engine(kubeconfig: PathBuf) -> (Engine, watch::Sender<bool>) {
    engine_by(kubeconfig, Arc::new(SystemClock)).await
}

/// By a clock of the test's own.
pub async fn engine_by(kubeconfig: PathBuf, clock: Arc<dyn Clock>) -> (Engine, watch::Sender<bool>) {
    let metrics = Arc::new(Metrics::new());
    let options = ConnectOptions {
        kubeconfig: Some(kubeconfig),
        context: None,
    };
    let clients = Clients::connect(&options, &metrics).await.unwrap();
    let (gate, gated) = watch::channel(true);
    (
        Engine::start(clients, metrics, clock, &EngineOptions::default(), gated),
        gate,
    )
}

impl RealHarness {
    /// Live on the shared control plane.
    pub async fn live() -> Self {
        let admin = Admin::new().await;
        let kubeconfig = plane().await.kubeconfig();
        let stage = Self::new(kubeconfig, admin).await;
        let client = &stage.engine.clients.write;
        crd::install(client, &[stage.kind.definition()], LIMIT)
            .await
            .unwrap();
        stage.until_live().await;
        stage
    }

    /// Without its definition yet.
    pub async fn new(kubeconfig: PathBuf, admin: Admin) -> Self {
        let kind = TestKind::new();
        let (engine, gate) = engine(kubeconfig).await;
        let (begins, passes) = mpsc::unbounded_channel();
        let controller = Controller {
            owner: None,
            api: Arc::clone(&kind.api),
            edges: Arc::new([Edge::references(Arc::new(|bucket| {
                let secret = bucket.spec_value()["secret"].as_str().map(ToOwned::to_owned);
                secret
                    .map(|name| Key::secret(bucket.namespace().unwrap_or_default(), &name))
                    .into_iter()
                    .collect()
            }))]),
            reconciler: Arc::new(RecordingReconciler {
                store: Arc::clone(&engine.store),
                passes: begins,
            }),
            reason: "the test serves it".to_owned(),
        };
        let served = engine.serve(controller.clone());
        let namespace = admin.namespace(&kind.api.kind.group().replace('.', "-")).await;
        Self {
            engine,
            kind,
            admin,
            namespace,
            passes,
            passed_over: VecDeque::new(),
            _gate: gate,
            controller,
            served: Some(served),
        }
    }

    pub async fn until_live(&self) {
        until("the watch is live", || {
            self.engine.watches.state(&self.kind.api.kind) == WatchState::Live
        })
        .await;
    }

    pub fn key(&self, name: &str) -> Key {
        Key::new(self.kind.api.kind.clone(), Some(&self.namespace), name)
    }

    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.kind.collection(&self.namespace))
    }

    /// Somebody makes a bucket.
    pub async fn create(&self, name: &str) -> serde_json::Value {
        self.admin
            .create(&self.kind.collection(&self.namespace), &self.kind.bucket(name))
            .await
            .unwrap()
    }

    /// A bucket that the store has.
    pub async fn bucket(&self, name: &str) -> Arc<Object> {
        self.create(name).await;
        self.stored(name).await
    }

    pub async fn stored(&self, name: &str) -> Arc<Object> {
        let key = self.key(name);
        until("the store has it", || self.engine.store.get(&key).is_some()).await;
        self.engine.store.get(&key).unwrap()
    }

    /// The next pass over this object.
    pub async fn pass(&mut self, name: &str) -> SeenReconcile {
        if let Some(at) = self.passed_over.iter().position(|found| found.key.name() == name) {
            return self.passed_over.remove(at).unwrap();
        }
        loop {
            let next = tokio::time::timeout(LIMIT, self.passes.recv()).await;
            let found = next
                .unwrap_or_else(|_| panic!("no pass over {name} within {LIMIT:?}"))
                .unwrap();
            if found.key.name() == name {
                return found;
            }
            self.passed_over.push_back(found);
        }
    }
}
