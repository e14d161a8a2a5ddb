//! Counts, times and remembers the calls to plugins.

use std::sync::Arc;

use bridge_engine::metrics::Metrics;
use bridge_plugin::{CallObserver, CallRecord};
use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
        family::Family,
        histogram::{Histogram, exponential_buckets},
    },
};

use super::RecentCalls;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    plugin: String,
    method: &'static str,
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndedCallLabels {
    plugin: String,
    method: &'static str,
    kind: String,
    code: String,
}

/// Calls to plugins, by method, kind and status, and the last ones themselves.
pub struct CallMetrics {
    /// The last calls of the process, for `trace`.
    pub recent: RecentCalls,
    calls: Family<EndedCallLabels, Counter>,
    seconds: Family<CallLabels, Histogram>,
}

impl CallMetrics {
    /// Registered with those of the engine.
    pub fn new(metrics: &Metrics) -> Arc<Self> {
        let made = Self {
            recent: RecentCalls::default(),
            calls: Family::default(),
            // 1 ms to 65 s: no call may take more than 60 s.
            seconds: Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 17))),
        };
        metrics.register(|registry| {
            let registry = registry.sub_registry_with_prefix("crossbridge");
            registry.register(
                "plugin_calls",
                "Calls to plugins, by method, kind and status",
                made.calls.clone(),
            );
            registry.register(
                "plugin_call_seconds",
                "How long calls to plugins took, waiting for a connection included",
                made.seconds.clone(),
            );
        });
        Arc::new(made)
    }
}

impl CallObserver for CallMetrics {
    fn ended(&self, call: &CallRecord<'_>) {
        self.recent.push(call, Timestamp::now());
        let ended = EndedCallLabels {
            plugin: call.plugin.into(),
            method: call.method,
            kind: call.kind.into(),
            code: call.code.into(),
        };
        self.calls.get_or_create(&ended).inc();
        let timed = CallLabels {
            plugin: call.plugin.into(),
            method: call.method,
            kind: call.kind.into(),
        };
        self.seconds
            .get_or_create(&timed)
            .observe(call.took.as_secs_f64());
    }
}
