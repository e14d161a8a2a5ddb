//! What the engine counts, in one registry that others extend.

use bridge_core::watch_plan::GroupKind;
use prometheus_client::{
    encoding::{EncodeLabelSet, text},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use crate::watch::WatchState;

/// Label: a kind, as `Bucket.s3.aws.crossbridge.dev`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct KindLabel {
    /// The kind.
    pub kind: String,
}

/// Labels of a request to the API server.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `apply`, `delete`.
    pub verb: &'static str,
    /// Plural of what it is about.
    pub resource: String,
    /// HTTP status, or `none` if there was no answer.
    pub code: String,
}

/// Labels of a pass.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct OutcomeLabels {
    /// The kind.
    pub kind: String,
    /// `done`, `panicked`, `timed-out`.
    pub outcome: &'static str,
}

/// Labels of a watch's state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WatchLabels {
    /// The kind.
    pub kind: String,
    /// `syncing`, `live`, `forbidden`, `gone`.
    pub state: &'static str,
}

/// Labels of an object that was left behind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct ReleasedLabels {
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty: it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// Labels of Kubernetes events.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct EventLabels {
    /// `sent`, `repeated`, `overflowed`, `failed`.
    pub outcome: &'static str,
}

/// The engine's metrics, and the registry of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: parking_lot::Mutex<Registry>,
    pub(crate) requests: Family<RequestLabels, Counter>,
    pub(crate) watch_states: Family<WatchLabels, Gauge>,
    pub(crate) watch_interruptions: Family<KindLabel, Counter>,
    pub(crate) watch_lists: Family<KindLabel, Counter>,
    pub(crate) unreadable: Family<KindLabel, Counter>,
    pub(crate) objects: Family<KindLabel, Gauge>,
    pub(crate) queued: Family<KindLabel, Gauge>,
    pub(crate) in_flight: Family<KindLabel, Gauge>,
    pub(crate) passes: Family<OutcomeLabels, Counter>,
    pub(crate) pass_seconds: Family<KindLabel, Histogram>,
    pub(crate) events: Family<EventLabels, Counter>,
    pub(crate) released: Family<ReleasedLabels, Counter>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// With a registry of its own.
    pub fn new() -> Self {
        let metrics = Self {
            registry: parking_lot::Mutex::new(Registry::default()),
            requests: Family::default(),
            watch_states: Family::default(),
            watch_interruptions: Family::default(),
            watch_lists: Family::default(),
            unreadable: Family::default(),
            objects: Family::default(),
            queued: Family::default(),
            in_flight: Family::default(),
            passes: Family::default(),
            // 1 ms to 32 s.
            pass_seconds: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.001, 2.0, 16))
            }),
            events: Family::default(),
            released: Family::default(),
        };
        metrics.register_engine();
        metrics
    }

    /// Adds metrics of others to the registry, for example the machine's.
    pub fn register(&self, add: impl FnOnce(&mut Registry)) {
        add(&mut self.registry.lock());
    }

    /// Of the gauges of a kind's states, one is 1.
    pub(crate) fn show_watch_state(&self, kind: &GroupKind, now: &'static str) {
        for state in WatchState::NAMES {
            let labels = WatchLabels {
                kind: kind.to_string(),
                state,
            };
            self.watch_states
                .get_or_create(&labels)
                .set(i64::from(state == now));
        }
    }

    /// Counts one of a kind.
    pub(crate) fn count(counters: &Family<KindLabel, Counter>, kind: &GroupKind) {
        counters
            .get_or_create(&KindLabel {
                kind: kind.to_string(),
            })
            .inc();
    }

    /// All metrics in the `OpenMetrics` text format.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail; were it to, the scrape is empty and says so.
        if text::encode(&mut text, &self.registry.lock()).is_err() {
            text.clear();
        }
        text
    }

    fn register_engine(&self) {
        self.register(|registry| {
            let r = registry.sub_registry_with_prefix("crossbridge");
            r.register(
                "api_requests",
                "Requests to the Kubernetes API server, by verb, resource and HTTP status",
                self.requests.clone(),
            );
            r.register(
                "watch_state",
                "1 for the state a watch is in",
                self.watch_states.clone(),
            );
            r.register(
                "watch_interruptions",
                "Times a live watch lost its connection or its place",
                self.watch_interruptions.clone(),
            );
            r.register("watch_lists", "Full lists of a kind", self.watch_lists.clone());
            r.register(
                "unreadable_objects",
                "Objects seen that could not be read",
                self.unreadable.clone(),
            );
            r.register("objects", "Objects in the store", self.objects.clone());
            r.register(
                "queue_depth",
                "Objects that are due and wait in the queue",
                self.queued.clone(),
            );
            r.register("in_flight", "Reconciles in progress", self.in_flight.clone());
            r.register("passes", "Reconciles, by result", self.passes.clone());
            r.register(
                "pass_seconds",
                "Duration of a reconcile",
                self.pass_seconds.clone(),
            );
            r.register("events", "Kubernetes events, by result", self.events.clone());
            r.register(
                "released_objects",
                "Composed objects that were left behind as annotation crossbridge.dev/release asks, each by kind, namespace, name and uid",
                self.released.clone(),
            );
        });
    }
}
