//! Watches: one per (definition, kind, version) in the whole process, supervised, and started and stopped by plan.

mod backoff;
pub(crate) mod changes;
mod definitions;
pub(crate) mod feed;
mod head;
pub(crate) mod needed;
mod object_sink;
mod resolve;
pub(crate) mod running;
mod state;
mod subscription;

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bridge_core::watch_plan::{GroupKind, Plan, Want, WatchId, plan};
use jiff::SignedDuration;
use parking_lot::Mutex;
use serde::Serialize;
use tokio::{sync::Notify, task::AbortHandle};
use tokio_util::sync::{CancellationToken, DropGuard};

pub use self::{
    changes::ServedChange,
    resolve::{ResolvedKind, Unresolved},
    state::WatchState,
    subscription::Subscription,
};
use self::{
    changes::ServedChanges,
    definitions::KnownDefinitions,
    feed::Feed,
    running::{AFTER_A_PANIC, RunningWatch},
};
use crate::{
    client::ApiClient,
    clock::Clock,
    discovery::Discovery,
    metrics::Metrics,
    object::ApiType,
    store::{Listener, Store},
};

/// A watch goes on for so long after its last subscriber left.
pub const GRACE: SignedDuration = SignedDuration::from_secs(60);

/// All watches of the process.
pub struct Watches {
    shared: Arc<Shared>,
    planner: AbortHandle,
    _stop: DropGuard,
}

struct Shared {
    client: ApiClient,
    store: Arc<Store>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    definitions: Arc<KnownDefinitions>,
    discovery: Arc<Discovery>,
    served: Arc<ServedChanges>,
    changed: Arc<Notify>,
    stop: CancellationToken,
    state: Mutex<WatchTable>,
}

#[derive(Default)]
struct WatchTable {
    apis: BTreeMap<GroupKind, Arc<ApiType>>,
    wants: BTreeMap<GroupKind, Want>,
    running: BTreeMap<WatchId, RunningWatch>,
    /// Kind -> why it cannot be watched now.
    waits: BTreeMap<GroupKind, String>,
    plan: String,
}

impl Watches {
    /// Starts with the watch of definitions alone.
    pub fn start(client: ApiClient, store: Arc<Store>, clock: Arc<dyn Clock>, metrics: Arc<Metrics>) -> Self {
        let changed = Arc::new(Notify::new());
        let served = ServedChanges::new(Arc::clone(&changed));
        let definitions = KnownDefinitions::new(Arc::clone(&served));
        let discovery = Discovery::new(client.clone(), Arc::clone(&served));
        let stop = CancellationToken::new();
        let keep = Arc::clone(&discovery).run(stop.child_token());
        tokio::spawn(stop.clone().run_until_cancelled_owned(keep));
        let feed = Feed::new(client.clone(), Arc::new(ApiType::definitions()));
        running::supervise(feed, definitions.sink(), stop.child_token());
        let shared = Arc::new(Shared {
            client,
            store,
            clock,
            metrics,
            definitions,
            discovery,
            served,
            changed,
            stop: stop.clone(),
            state: Mutex::default(),
        });
        let plans = Arc::clone(&shared).carry_out_plans();
        let planner = tokio::spawn(stop.clone().run_until_cancelled_owned(plans));
        Self {
            shared,
            planner: planner.abort_handle(),
            _stop: stop.drop_guard(),
        }
    }

    /// Watches a kind for as long as the answer is kept, and tells `listener` of its objects: first of what is there already.
    /// One version per kind: the last subscriber's. A kind that may have no definition is resolved first ([`Watches::resolve`]).
    #[must_use]
    pub fn subscribe(&self, api: &Arc<ApiType>, reason: &str, listener: &Arc<Listener>) -> Subscription {
        Subscription::new(&self.shared, api, reason, listener)
    }

    /// The type in which a kind is watched, if anybody wants it.
    pub fn wanted_api(&self, kind: &GroupKind) -> Option<Arc<ApiType>> {
        self.shared.state.lock().apis.get(kind).cloned()
    }

    /// Likewise, if anybody else does than for this reason alone.
    pub(super) fn wanted_api_besides(&self, kind: &GroupKind, reason: &str) -> Option<Arc<ApiType>> {
        let state = self.shared.state.lock();
        let mut reasons = state.wants.get(kind)?.reasons.keys();
        let is_wanted = reasons.any(|other| other != reason);
        state.apis.get(kind).filter(|_| is_wanted).cloned()
    }

    /// How a kind's watch fares.
    pub fn state(&self, kind: &GroupKind) -> WatchState {
        self.shared.state.lock().watch_state(kind)
    }

    /// How what is known of kinds without a definition fares; `None`: nothing needs it.
    pub fn discovery_state(&self) -> Option<WatchState> {
        self.shared.discovery.condition().map(WatchState::from)
    }

    /// Kinds are wanted that have no definition: what is served without one is read from now on.
    pub fn need_discovery(&self) {
        self.shared.discovery.need();
    }

    /// Whether it is known of kinds without a definition what they are, or why that is not known. The first question begins to find out.
    pub fn is_discovery_read(&self) -> bool {
        self.need_discovery();
        self.shared.discovery.is_read()
    }

    /// Whether a definition of a kind exists; `None`: not known.
    pub fn is_defined(&self, kind: &GroupKind) -> Option<bool> {
        let definitions = self.shared.definitions.snapshot().ok()?;
        (self.definitions_state() == WatchState::Live).then(|| definitions.contains_key(kind))
    }

    /// The `resourceVersion` of the definition of this name, as the watch of definitions shows it; `Some(None)`: there is none, `None`: not known.
    pub fn definition_version(&self, name: &str) -> Option<Option<u64>> {
        (self.definitions_state() == WatchState::Live).then(|| self.shared.definitions.version(name))
    }

    /// Names of the definitions that the object of this uid controls; `None`: not known yet.
    pub fn definitions_controlled_by(&self, uid: &str) -> Option<Vec<String>> {
        self.shared.definitions.controlled_by(uid)
    }

    /// The kinds whose definitions note this plugin, in the versions that are served, the stored one first; `None`: not known yet.
    pub fn kinds_of_plugin(&self, plugin: &str) -> Option<BTreeMap<GroupKind, Vec<Arc<ApiType>>>> {
        self.shared.definitions.of_plugin(plugin)
    }

    /// Changes whenever a definition does, or what is known of kinds without one: [`Watches::resolve`] may answer otherwise.
    pub fn served_changes(&self) -> ServedChange {
        self.shared.served.subscribe()
    }

    /// Whether the store has every object that there is of a kind that needs a definition: its watch is live, or there is no definition.
    pub fn is_complete(&self, kind: &GroupKind) -> bool {
        self.state(kind) == WatchState::Live || self.is_defined(kind) == Some(false)
    }

    /// Watches are still started and stopped as is wanted.
    pub fn is_alive(&self) -> bool {
        !self.planner.is_finished()
    }

    /// How the watch of definitions fares.
    pub fn definitions_state(&self) -> WatchState {
        self.shared.definitions.condition().into()
    }

    /// All kinds that are wanted or watched.
    pub fn kinds(&self) -> Vec<KindWatch> {
        let state = self.shared.state.lock();
        let kinds: BTreeSet<&GroupKind> = state
            .wants
            .keys()
            .chain(state.running.keys().map(|watch| &watch.kind))
            .collect();
        kinds
            .into_iter()
            .map(|kind| {
                let running = state.running_of(kind);
                KindWatch {
                    kind: kind.clone(),
                    version: state
                        .wants
                        .get(kind)
                        .map(|want| want.version.clone())
                        .unwrap_or_default(),
                    definition: running.and_then(|(watch, _)| watch.definition.clone()),
                    state: state.watch_state(kind),
                    reasons: state
                        .wants
                        .get(kind)
                        .map(|want| want.reasons.clone())
                        .unwrap_or_default(),
                    interruptions: running.map_or(0, |(_, running)| running.interruptions()),
                    lists: running.map_or(0, |(_, running)| running.lists()),
                    unreadable: running
                        .map(|(_, running)| running.unreadable())
                        .unwrap_or_default(),
                }
            })
            .collect()
    }

    /// The last plan that changed anything, as text.
    pub fn last_plan(&self) -> String {
        self.shared.state.lock().plan.clone()
    }
}

/// One kind's watch, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindWatch {
    /// The kind.
    pub kind: GroupKind,
    /// Version watched.
    pub version: String,
    /// Uid of its definition, if it is watched and not built in.
    pub definition: Option<String>,
    /// How it fares.
    #[serde(flatten)]
    pub state: WatchState,
    /// Why -> how many subscribers say so.
    pub reasons: BTreeMap<String, usize>,
    /// Times it lost its connection or its place.
    pub interruptions: u64,
    /// Times all its objects were listed.
    pub lists: u64,
    /// Objects that cannot be read -> why; at most some of them.
    pub unreadable: BTreeMap<String, String>,
}

impl WatchTable {
    fn running_of(&self, kind: &GroupKind) -> Option<(&WatchId, &RunningWatch)> {
        self.running.iter().find(|(watch, _)| watch.kind == *kind)
    }

    /// The next subscriber of such a kind may want another version.
    fn forget_unwanted(&mut self) -> Vec<GroupKind> {
        let running: BTreeSet<&GroupKind> = self.running.keys().map(|watch| &watch.kind).collect();
        let is_unwanted =
            |kind: &GroupKind, want: &Want| want.unwanted_since.is_some() && !running.contains(kind);
        let unwanted = self.wants.iter().filter(|(kind, want)| is_unwanted(kind, want));
        let unwanted: Vec<GroupKind> = unwanted.map(|(kind, _)| kind.clone()).collect();
        for kind in &unwanted {
            self.wants.remove(kind);
        }
        self.apis.retain(|kind, _| self.wants.contains_key(kind));
        unwanted
    }

    fn watch_state(&self, kind: &GroupKind) -> WatchState {
        if let Some((_, running)) = self.running_of(kind) {
            return running.state();
        }
        let why = self.waits.get(kind).cloned();
        WatchState::Gone(why.unwrap_or_else(|| "no controller needs it".to_owned()))
    }
}

impl Shared {
    /// Whenever something changed: plan, and do what the plan says. A panic costs one plan.
    async fn carry_out_plans(self: Arc<Self>) {
        loop {
            let carried_out = catch_unwind(AssertUnwindSafe(|| {
                let again = self.carry_out_plan().again?;
                Some(self.clock.now().duration_until(again).unsigned_abs())
            }));
            let again = carried_out.unwrap_or_else(|_| {
                tracing::error!("planning the watches panicked; it begins anew");
                Some(AFTER_A_PANIC)
            });
            tokio::select! {
                biased;
                () = self.changed.notified() => {}
                () = async {
                    match again {
                        Some(delay) => tokio::time::sleep(delay).await,
                        None => std::future::pending().await,
                    }
                } => {}
            }
        }
    }

    /// Listeners are told of objects that go with no lock held.
    fn carry_out_plan(&self) -> Plan {
        let definitions = self.definitions.snapshot();
        let built_ins = self.discovery.built_ins();
        let (plan, stopped) = {
            let mut state = self.state.lock();
            let running = state.running.keys().cloned().collect();
            let plan = plan(
                &state.wants,
                &definitions,
                &built_ins,
                &running,
                self.clock.now(),
                GRACE,
            );
            let stopped: Vec<_> = plan
                .stops
                .iter()
                .filter_map(|stop| Some((state.running.remove(&stop.watch)?, stop.ending)))
                .collect();
            (plan, stopped)
        };
        for (running, ending) in stopped {
            running.stop(ending);
        }
        let mut state = self.state.lock();
        for start in &plan.starts {
            if let Some(api) = state.apis.get(&start.watch.kind) {
                let stop = self.stop.child_token();
                let running =
                    RunningWatch::start(&self.client, &self.store, &self.metrics, Arc::clone(api), stop);
                state.running.insert(start.watch.clone(), running);
            }
        }
        for kind in state.forget_unwanted() {
            self.metrics.forget(&kind);
        }
        state.waits = plan
            .waits
            .iter()
            .map(|wait| (wait.kind.clone(), wait.reason.clone()))
            .collect();
        for kind in state.waits.keys() {
            self.metrics.show_watch_state(kind, "gone");
        }
        if !plan.is_idle() {
            let text = plan.to_string();
            for change in text.lines() {
                tracing::debug!(change, "watches change");
            }
            state.plan = text;
        }
        plan
    }
}

#[cfg(test)]
mod tests;
