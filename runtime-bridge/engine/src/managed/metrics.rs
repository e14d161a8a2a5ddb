//! Crossplane's metrics of managed resources, to the letter: dashboards stay as they are.

use std::{collections::HashMap, sync::Arc};

use bridge_core::managed::{Managed, status};
use jiff::Timestamp;
use parking_lot::Mutex;
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
struct Gvk {
    gvk: String,
}

type Histograms = Family<Gvk, Histogram>;

/// The machine's metrics.
pub struct ManagedMetrics {
    first_reconciled: Histograms,
    first_ready: Histograms,
    deletion: Histograms,
    exists: Family<Gvk, Gauge>,
    ready: Family<Gvk, Gauge>,
    synced: Family<Gvk, Gauge>,
    counted: Mutex<HashMap<String, Counted>>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Counted {
    ready: bool,
    synced: bool,
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
            first_reconciled: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(10e-9, 10.0, 10))
            }),
            first_ready: Family::new_with_constructor(long),
            deletion: Family::new_with_constructor(long),
            exists: Family::default(),
            ready: Family::default(),
            synced: Family::default(),
            counted: Mutex::default(),
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
            r.register("exists", "Managed resources", made.exists.clone());
            r.register("ready", "Managed resources that are Ready", made.ready.clone());
            r.register("synced", "Managed resources that are Synced", made.synced.clone());
        });
        Arc::new(made)
    }

    /// After a pass: how the object stands now. `before` is how it stood; `created` its creation.
    pub(super) fn observe(
        &self,
        gvk: &str,
        before: &Managed,
        after: &Managed,
        created: Option<Timestamp>,
        now: Timestamp,
    ) {
        let label = Gvk { gvk: gvk.to_owned() };
        let age = created.map(|created| now.duration_since(created).as_secs_f64().max(0.0));
        if let Some(age) = age {
            if before.condition(status::SYNCED).is_none() && after.condition(status::SYNCED).is_some() {
                self.first_reconciled.get_or_create(&label).observe(age);
            }
            // A status that never said Ready before: later flaps are no first time.
            if is_true(after, status::READY)
                && before
                    .condition(status::READY)
                    .is_none_or(|ready| ready.reason == "Creating")
            {
                self.first_ready.get_or_create(&label).observe(age);
            }
        }
        let new = Counted {
            ready: is_true(after, status::READY),
            synced: is_true(after, status::SYNCED),
        };
        let old = self.counted.lock().insert(after.uid.clone(), new);
        if old.is_none() {
            self.exists.get_or_create(&label).inc();
        }
        let old = old.unwrap_or_default();
        step(&self.ready, &label, old.ready, new.ready);
        step(&self.synced, &label, old.synced, new.synced);
    }

    /// The object is gone. `deleted` is when that was wished for; `None`: we did not see the end.
    pub(super) fn forget(&self, gvk: &str, uid: &str, deleted: Option<Timestamp>, now: Timestamp) {
        let label = Gvk { gvk: gvk.to_owned() };
        if let Some(deleted) = deleted {
            self.deletion
                .get_or_create(&label)
                .observe(now.duration_since(deleted).as_secs_f64().max(0.0));
        }
        let Some(old) = self.counted.lock().remove(uid) else {
            return;
        };
        self.exists.get_or_create(&label).dec();
        step(&self.ready, &label, old.ready, false);
        step(&self.synced, &label, old.synced, false);
    }
}

fn step(gauge: &Family<Gvk, Gauge>, label: &Gvk, old: bool, new: bool) {
    gauge.get_or_create(label).inc_by(i64::from(new) - i64::from(old));
}

fn is_true(managed: &Managed, kind: &str) -> bool {
    managed
        .condition(kind)
        .is_some_and(|condition| condition.status == "True")
}
