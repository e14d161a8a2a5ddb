//! What the engine counts, in one registry that others extend.

use std::sync::atomic::AtomicU64;

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

use crate::{composition_metrics::CompositionMetrics, run_metrics::RunMetrics, watch::WatchState};

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
    /// One of [`OUTCOMES`].
    pub outcome: &'static str,
}

/// How a pass ends.
pub const OUTCOMES: [&str; 4] = ["done", "busy", "panicked", "timed-out"];

/// Labels of a watch's state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct WatchLabels {
    /// The kind.
    pub kind: String,
    /// `syncing`, `live`, `forbidden`, `gone`.
    pub state: &'static str,
}

/// Labels of objects that are being deleted.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct DeletingLabels {
    /// The kind.
    pub kind: String,
    /// Reason of their condition `DeletionBlocked`; empty: nothing blocks them.
    pub blocked: &'static str,
}

/// Labels of Kubernetes events.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct EventLabels {
    /// `sent`, `repeated`, `overflowed`, `too_many_of_object`, `too_many_of_owner`, `failed`.
    pub outcome: &'static str,
}

/// 1 ms to 32 s.
fn seconds() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 2.0, 16))
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
    pub(crate) released: Family<KindLabel, Counter>,
    pub(crate) pass_delay_seconds: Family<KindLabel, Histogram>,
    pub(crate) oldest_queued: Family<KindLabel, Gauge<f64, AtomicU64>>,
    pub(crate) deleting: Family<DeletingLabels, Gauge>,
    pub(crate) oldest_deletion: Family<KindLabel, Gauge<f64, AtomicU64>>,
    pub(crate) compositions: CompositionMetrics,
    pub(crate) runs: RunMetrics,
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
            pass_seconds: Family::new_with_constructor(seconds),
            events: Family::default(),
            released: Family::default(),
            pass_delay_seconds: Family::new_with_constructor(seconds),
            oldest_queued: Family::default(),
            deleting: Family::default(),
            oldest_deletion: Family::default(),
            compositions: CompositionMetrics::default(),
            runs: RunMetrics::default(),
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

    /// Nobody here needs the kind any more: of kinds that come and go, no series stay.
    pub(crate) fn forget(&self, kind: &GroupKind) {
        self.runs.forget(kind);
        let kind = kind.to_string();
        for state in WatchState::NAMES {
            let labels = WatchLabels {
                kind: kind.clone(),
                state,
            };
            self.watch_states.remove(&labels);
        }
        for outcome in OUTCOMES {
            let labels = OutcomeLabels {
                kind: kind.clone(),
                outcome,
            };
            self.passes.remove(&labels);
        }
        let label = KindLabel { kind };
        for counters in [
            &self.watch_interruptions,
            &self.watch_lists,
            &self.unreadable,
            &self.released,
        ] {
            counters.remove(&label);
        }
        for histograms in [&self.pass_seconds, &self.pass_delay_seconds] {
            histograms.remove(&label);
        }
        self.objects.remove(&label);
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
                "Composed objects that were left behind as annotation crossbridge.dev/release asks; an event names each",
                self.released.clone(),
            );
            r.register(
                "pass_delay_seconds",
                "From when an object's reconcile was due, such as by a change, until it began",
                self.pass_delay_seconds.clone(),
            );
            r.register(
                "queue_oldest_seconds",
                "For how long the object that waits longest in the queue is due",
                self.oldest_queued.clone(),
            );
            r.register(
                "deleting_objects",
                "Objects that are being deleted, by what blocks them",
                self.deleting.clone(),
            );
            r.register(
                "deleting_oldest_seconds",
                "For how long the object is being deleted whose deletion takes longest",
                self.oldest_deletion.clone(),
            );
            self.runs.register(r);
            self.compositions.register(registry);
        });
    }
}
