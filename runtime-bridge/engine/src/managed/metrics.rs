//! Crossplane's metrics of managed resources, to the letter: dashboards stay as they are.

use std::sync::Arc;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
};

use crate::metrics::Metrics;

/// `gvk="group/version, Kind=K"`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Gvk {
    pub(super) gvk: String,
}

type Histograms = Family<Gvk, Histogram>;

/// The machine's metrics, for as long as the process lives.
pub struct ManagedMetrics {
    pub(super) first_reconciled: Histograms,
    pub(super) first_ready: Histograms,
    pub(super) deletion: Histograms,
    pub(super) drift: Histograms,
    pub(super) exists: Family<Gvk, Gauge>,
    pub(super) ready: Family<Gvk, Gauge>,
    pub(super) synced: Family<Gvk, Gauge>,
}

fn short() -> Histogram {
    Histogram::new(exponential_buckets(10e-9, 10.0, 10))
}

fn long() -> Histogram {
    Histogram::new([
        1.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0,
    ])
}

impl ManagedMetrics {
    /// Registers them.
    pub fn new(metrics: &Metrics) -> Arc<Self> {
        let made = Self {
            first_reconciled: Family::new_with_constructor(short),
            first_ready: Family::new_with_constructor(long),
            deletion: Family::new_with_constructor(long),
            drift: Family::new_with_constructor(short),
            exists: Family::default(),
            ready: Family::default(),
            synced: Family::default(),
        };
        metrics.register(|registry| {
            let r = registry.sub_registry_with_prefix("crossplane_managed_resource");
            r.register(
                "first_time_to_reconcile_seconds",
                "From creation to the first reconcile",
                made.first_reconciled.clone(),
            );
            r.register(
                "first_time_to_readiness_seconds",
                "From creation to the first Ready",
                made.first_ready.clone(),
            );
            r.register(
                "deletion_seconds",
                "From the wish to delete to the end",
                made.deletion.clone(),
            );
            r.register(
                "drift_seconds",
                "ALPHA: From the last look that found a resource as wished to the update that put it right",
                made.drift.clone(),
            );
            r.register("exists", "Managed resources", made.exists.clone());
            r.register("ready", "Managed resources that are Ready", made.ready.clone());
            r.register("synced", "Managed resources that are Synced", made.synced.clone());
        });
        Arc::new(made)
    }
}
