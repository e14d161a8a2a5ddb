//! Crossplane's metrics of managed resources, to the letter: dashboards stay as they are.

use std::sync::Arc;

use bridge_core::reasons::{NormalEvent, WarningEvent};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{
        counter::Counter,
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

/// What of drift was corrected, and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CorrectedLabels {
    gvk: String,
    /// `update`: fields that differed; `create`: a resource that was gone.
    by: &'static str,
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
    corrected: Family<CorrectedLabels, Counter>,
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
            corrected: Family::default(),
        };
        metrics.register(|registry| {
            registry.sub_registry_with_prefix("crossbridge").register(
                "drift_corrected",
                "Resources that another actor had changed or deleted, and that were updated or created anew",
                made.corrected.clone(),
            );
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
                "Time from the request to delete until the object is gone",
                made.deletion.clone(),
            );
            r.register(
                "drift_seconds",
                "ALPHA: Time from the last observation of a resource as desired to the update that corrected it",
                made.drift.clone(),
            );
            r.register("exists", "Managed resources", made.exists.clone());
            r.register("ready", "Managed resources that are Ready", made.ready.clone());
            r.register("synced", "Managed resources that are Synced", made.synced.clone());
        });
        Arc::new(made)
    }

    /// An event of this reason is emitted: some say that drift is corrected.
    pub(super) fn count_drift(&self, gvk: &Gvk, reason: &str) {
        let by = if reason == NormalEvent::CorrectedDrift.as_str() {
            "update"
        } else if reason == WarningEvent::RecreatingExternalResource.as_str() {
            "create"
        } else {
            return;
        };
        let labels = CorrectedLabels {
            gvk: gvk.gvk.clone(),
            by,
        };
        self.corrected.get_or_create(&labels).inc();
    }
}
