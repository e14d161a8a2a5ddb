//! The engine as a whole: what a process starts once, and what kinds are served by.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bridge_core::{composite::DELETION_BLOCKED, queue::Due, reasons::DeletionReason, watch_plan::GroupKind};
use jiff::Timestamp;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::{
    api_error::ApiError,
    client::Clients,
    clock::Clock,
    dispatch::{DispatchOptions, Dispatcher},
    event::EventRecorder,
    metrics::{DeletingLabels, KindLabel, Metrics},
    object::{ApiType, Key, Object},
    reconcile::Reconcile,
    secret::SecretReader,
    serve::Served,
    state::{EngineState, KindState},
    store::{Edge, Listener, Store},
    watch::{Subscription, WatchState, Watches, needed::watch_needed},
    write::{ConnectionSecrets, Writer},
};

/// How the engine runs.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// Field manager of writes that name no other.
    pub field_manager: String,
    /// Name of this process, in events.
    pub instance: String,
    /// Limits of passes.
    pub dispatch: DispatchOptions,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            field_manager: "crossbridge.dev/bridge".to_owned(),
            instance: "crossbridge".to_owned(),
            dispatch: DispatchOptions::default(),
        }
    }
}

/// One kind, and who reconciles it. Its controller runs whenever its definition is established.
#[derive(Clone)]
pub struct Controller {
    /// The kind.
    pub api: Arc<ApiType>,
    /// What its objects depend on: a change of those makes it their turn.
    pub edges: Arc<[Edge]>,
    /// Who reconciles.
    pub reconciler: Arc<dyn Reconcile>,
    /// Why it is watched, for people.
    pub reason: String,
    /// Who shares a limit of passes with it: its plugin; `None`: nobody.
    pub owner: Option<Arc<str>>,
}

/// What is known of an object.
#[derive(Debug, Clone)]
pub enum Lookup {
    /// From the store, whose watch is live.
    Live(Option<Arc<Object>>),
    /// Read just now.
    Direct(Option<Arc<Object>>),
    /// Nothing is known, and why.
    Unavailable(ApiError),
}

/// The running engine. Dropping it stops all watches and passes at once; [`Engine::drain`] does so in order.
pub struct Engine {
    /// Both clients.
    pub clients: Clients,
    /// What is known of the cluster.
    pub store: Arc<Store>,
    /// Watches.
    pub watches: Arc<Watches>,
    /// Turns.
    pub dispatcher: Arc<Dispatcher>,
    /// Writes.
    pub writer: Writer,
    /// Secrets.
    pub secrets: Arc<SecretReader>,
    /// Connection Secrets.
    pub connection_secrets: Arc<ConnectionSecrets>,
    /// Events.
    pub events: Arc<EventRecorder>,
    /// Metrics of the process.
    pub metrics: Arc<Metrics>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    gate: watch::Receiver<bool>,
    _needed: AbortOnDropHandle<()>,
    /// The kinds whose objects were counted for the last metrics.
    shown: Mutex<BTreeSet<GroupKind>>,
}

impl Engine {
    /// Starts watching definitions and Secrets. Passes begin while `gate` is true.
    pub fn start(
        clients: Clients,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
        options: &EngineOptions,
        gate: watch::Receiver<bool>,
    ) -> Self {
        let store = Arc::new(Store::default());
        let watches = Arc::new(Watches::start(
            clients.watch.clone(),
            Arc::clone(&store),
            Arc::clone(&clock),
            Arc::clone(&metrics),
        ));
        let dispatcher = Arc::new(Dispatcher::start(
            Arc::clone(&store),
            Arc::clone(&clock),
            Arc::clone(&metrics),
            options.dispatch,
            gate.clone(),
        ));
        let writer = Writer::new(clients.write.clone(), Arc::clone(&store), &options.field_manager);
        let secrets = Arc::new(SecretReader::start(
            clients.write.clone(),
            Arc::clone(&store),
            Arc::clone(&watches),
            Arc::clone(&clock),
        ));
        let connection_secrets = Arc::new(ConnectionSecrets::new(writer.clone(), Arc::clone(&secrets)));
        let events = EventRecorder::start(
            clients.write.clone(),
            Arc::clone(&clock),
            Arc::clone(&metrics),
            &options.instance,
        );
        // Weak, as the dispatcher has the store.
        let of_dependencies = Arc::downgrade(&dispatcher);
        store.dispatch_to(Arc::new(move |change: &_| {
            if let Some(dispatcher) = of_dependencies.upgrade() {
                dispatcher.dependency_changed(change);
            }
        }));
        let needed = watch_needed(Arc::clone(&watches), Arc::clone(&store), Arc::clone(&metrics));
        let needed = AbortOnDropHandle::new(tokio::spawn(needed));
        Self {
            clients,
            store,
            watches,
            dispatcher,
            writer,
            secrets,
            connection_secrets,
            events,
            metrics,
            clock,
            gate,
            _needed: needed,
            shown: Mutex::default(),
        }
    }

    /// Serves a kind while the answer is kept: whenever its definition is established, its objects get their turns, and so do all that depend
    /// on one that changes.
    pub fn serve(&self, controller: Controller) -> Served {
        let Controller {
            api,
            edges,
            reconciler,
            reason,
            owner,
        } = controller;
        self.events.set_owner(&api.kind, owner.clone());
        let edges = self.store.register_edges(&api.kind, edges);
        let dispatcher = Arc::clone(&self.dispatcher);
        let listener: Arc<Listener> = Arc::new(move |change: &_| dispatcher.changed(change));
        Served::new(
            api.kind.clone(),
            owner,
            &self.dispatcher,
            reconciler,
            edges,
            || self.subscribe(&api, &reason, &listener),
        )
    }

    /// Watches a kind for as long as the answer is kept. The listener is called where changes come in: it must be quick.
    #[must_use]
    pub fn subscribe(&self, api: &Arc<ApiType>, reason: &str, listener: &Arc<Listener>) -> Subscription {
        self.watches.subscribe(api, reason, listener)
    }

    /// When an object's turn is; `None`: nothing is planned.
    pub fn due(&self, key: &Key) -> Option<Due> {
        self.dispatcher.due(key)
    }

    /// What whoever reconciles an object knows of it beside what is stored.
    pub fn report(&self, key: &Key, uid: &str) -> Option<Value> {
        let object = self.store.get(key).filter(|object| object.uid() == uid)?;
        self.dispatcher.report(&object)
    }

    /// One object: from the store if its watch is live, else read.
    pub async fn get(&self, api: &Arc<ApiType>, key: &Key) -> Lookup {
        if self.watches.state(&api.kind) == WatchState::Live {
            return Lookup::Live(self.store.get(key));
        }
        match self.writer.get_live(api, key).await {
            Ok(object) => Lookup::Direct(Some(object)),
            Err(ApiError::NotFound(_)) => Lookup::Direct(None),
            Err(error) => Lookup::Unavailable(error),
        }
    }

    /// What keeps it going still runs, or what does not.
    pub fn alive(&self) -> Result<(), &'static str> {
        match (self.watches.is_alive(), self.dispatcher.is_alive()) {
            (false, _) => Err("the task that starts and stops watches has ended"),
            (_, false) => Err("the task that begins passes has ended"),
            (true, true) => Ok(()),
        }
    }

    /// For `/debug/state`.
    pub fn state(&self) -> EngineState {
        let mut counts = self.dispatcher.counts();
        let kinds = self.watches.kinds().into_iter().map(|watch| KindState {
            objects: self.store.count(&watch.kind),
            served: self.dispatcher.serves(&watch.kind),
            of_user: self.dispatcher.serves_users_type(&watch.kind),
            queue: counts.remove(&watch.kind).unwrap_or_default(),
            watch,
        });
        let needs = self.store.needed().into_iter();
        EngineState {
            kinds: kinds.collect(),
            needs: needs
                .map(|needed| format!("{} {}", needed.kind, needed.version))
                .collect(),
            server_version: self.clients.version.clone(),
            dispatching: *self.gate.borrow(),
            definitions: self.watches.definitions_state(),
            discovery: self.watches.discovery_state(),
            in_flight: self.dispatcher.in_flight(),
            last_plan: self.watches.last_plan().lines().map(ToOwned::to_owned).collect(),
        }
    }

    /// All metrics in the `OpenMetrics` text format, up to date.
    pub fn encode_metrics(&self) -> String {
        // One at a time: some series are taken away and shown anew.
        let mut shown = self.shown.lock();
        self.dispatcher.show_metrics();
        let watched: BTreeSet<GroupKind> = self.watches.kinds().into_iter().map(|watch| watch.kind).collect();
        for kind in &watched {
            self.show_objects(kind);
        }
        for kind in shown.difference(&watched) {
            self.metrics.objects.remove(&KindLabel {
                kind: kind.to_string(),
            });
        }
        *shown = watched;
        self.metrics.deleting.clear();
        self.metrics.oldest_deletion.clear();
        for kind in shown.iter().filter(|kind| self.dispatcher.serves(kind)) {
            self.show_deletions(kind);
        }
        self.metrics.encode()
    }

    /// Begins no more passes, waits for those that run, but not longer than `limit`, and then up to a second for events to be sent.
    /// Returns the objects whose passes had to be dropped.
    pub async fn drain(&self, limit: Duration) -> Vec<Key> {
        let dropped = self.dispatcher.drain(limit).await;
        self.events.close(Duration::from_secs(1)).await;
        dropped
    }

    fn show_deletions(&self, kind: &GroupKind) {
        let now = self.clock.now();
        let mut oldest: Option<Timestamp> = None;
        for object in self.store.list(kind) {
            let Some(since) = &object.meta.deletion_timestamp else {
                continue;
            };
            oldest = Some(oldest.map_or(since.0, |oldest| oldest.min(since.0)));
            let labels = DeletingLabels {
                kind: kind.to_string(),
                blocked: blocked(&object.status_value()),
            };
            self.metrics.deleting.get_or_create(&labels).inc();
        }
        if let Some(oldest) = oldest {
            let label = KindLabel {
                kind: kind.to_string(),
            };
            let age = now.duration_since(oldest).as_secs_f64().max(0.0);
            self.metrics.oldest_deletion.get_or_create(&label).set(age);
        }
    }

    fn show_objects(&self, kind: &GroupKind) {
        let label = KindLabel {
            kind: kind.to_string(),
        };
        let count = i64::try_from(self.store.count(kind)).unwrap_or(i64::MAX);
        self.metrics.objects.get_or_create(&label).set(count);
    }
}

/// Why a deletion does not go on, as a label: of what is not the bridge's own it says so alone, as texts have no end.
fn blocked(status: &Value) -> &'static str {
    let conditions = status["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    let is_blocked = |one: &&Value| one["type"] == DELETION_BLOCKED && one["status"] == "True";
    let Some(blocked) = conditions.find(is_blocked) else {
        return "";
    };
    let mut reasons = DeletionReason::ALL.iter();
    reasons
        .find(|reason| blocked["reason"] == reason.as_str())
        .map_or("Other", |reason| reason.as_str())
}
