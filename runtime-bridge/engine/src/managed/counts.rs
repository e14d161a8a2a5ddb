//! What the metrics are counted from: every object that is served now.

use std::{collections::HashMap, sync::Arc};

use bridge_core::managed::{Managed, status};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::metrics::{Gvk, ManagedMetrics};

/// The objects of one controller. What it counted goes with it; the next counts anew.
pub(super) struct Counts {
    metrics: Arc<ManagedMetrics>,
    /// By uid; `None`: over.
    objects: Mutex<Option<HashMap<String, Counted>>>,
}

struct Counted {
    gvk: Arc<Gvk>,
    ready: bool,
    synced: bool,
    /// It was new to this process, and has not been ready yet.
    never_ready: bool,
    /// When it was last observed in sync.
    in_sync_since: Option<Timestamp>,
}

impl Counts {
    pub fn new(metrics: Arc<ManagedMetrics>) -> Self {
        Self {
            metrics,
            objects: Mutex::new(Some(HashMap::new())),
        }
    }

    /// The object is there, and stands thus.
    pub fn seen(&self, gvk: &Arc<Gvk>, managed: &Managed) {
        if let Some(objects) = self.objects.lock().as_mut() {
            self.count(objects, gvk, managed);
        }
    }

    /// After a pass. `before` is how the object stood; `created` its creation.
    pub fn passed(
        &self,
        gvk: &Arc<Gvk>,
        before: &Managed,
        after: &Managed,
        created: Option<Timestamp>,
        now: Timestamp,
    ) {
        let mut objects = self.objects.lock();
        let Some(objects) = objects.as_mut() else { return };
        let age = created.map(|created| seconds(created, now));
        let first = before.condition(status::SYNCED).is_none() && after.condition(status::SYNCED).is_some();
        let counted = self.count(objects, gvk, after);
        if first {
            counted.never_ready = true;
            if let Some(age) = age {
                self.metrics.first_reconciled.get_or_create(gvk).observe(age);
            }
        }
        if counted.ready
            && std::mem::take(&mut counted.never_ready)
            && let Some(age) = age
        {
            self.metrics.first_ready.get_or_create(gvk).observe(age);
        }
    }

    /// An observation that began then saw it in sync.
    pub fn in_sync_since(&self, uid: &str, began: Timestamp) {
        if let Some(counted) = self
            .objects
            .lock()
            .as_mut()
            .and_then(|objects| objects.get_mut(uid))
        {
            counted.in_sync_since = Some(began);
        }
    }

    /// An update put it right.
    pub fn updated(&self, uid: &str, now: Timestamp) {
        let mut objects = self.objects.lock();
        let counted = objects.as_mut().and_then(|objects| objects.get_mut(uid));
        if let Some((counted, since)) = counted.and_then(|counted| Some((&*counted, counted.in_sync_since?)))
        {
            let drift = self.metrics.drift.get_or_create(&counted.gvk);
            drift.observe(seconds(since, now));
        }
    }

    /// The object is gone. `deleted` is when that was asked for; `None`: we did not see the end.
    pub fn forget(&self, uid: &str, deleted: Option<Timestamp>, now: Timestamp) {
        let mut objects = self.objects.lock();
        let Some(counted) = objects.as_mut().and_then(|objects| objects.remove(uid)) else {
            return;
        };
        if let Some(deleted) = deleted {
            let deletion = self.metrics.deletion.get_or_create(&counted.gvk);
            deletion.observe(seconds(deleted, now));
        }
        self.uncount(&counted);
    }

    /// These controllers serve nothing more.
    pub fn end(&self) {
        for counted in self.objects.lock().take().into_iter().flatten() {
            self.uncount(&counted.1);
        }
    }

    fn count<'c>(
        &self,
        objects: &'c mut HashMap<String, Counted>,
        gvk: &Arc<Gvk>,
        managed: &Managed,
    ) -> &'c mut Counted {
        let counted = objects.entry(managed.uid.clone()).or_insert_with(|| {
            self.metrics.exists.get_or_create(gvk).inc();
            Counted {
                gvk: Arc::clone(gvk),
                ready: false,
                synced: false,
                never_ready: false,
                in_sync_since: None,
            }
        });
        let is_true = |kind| {
            managed
                .condition(kind)
                .is_some_and(|condition| condition.status == "True")
        };
        let (ready, synced) = (is_true(status::READY), is_true(status::SYNCED));
        let step = |old: bool, new: bool| i64::from(new) - i64::from(old);
        let metrics = &self.metrics;
        metrics
            .ready
            .get_or_create(gvk)
            .inc_by(step(counted.ready, ready));
        metrics
            .synced
            .get_or_create(gvk)
            .inc_by(step(counted.synced, synced));
        (counted.ready, counted.synced) = (ready, synced);
        counted
    }

    fn uncount(&self, counted: &Counted) {
        let metrics = &self.metrics;
        metrics.exists.get_or_create(&counted.gvk).dec();
        let ready = i64::from(counted.ready);
        metrics.ready.get_or_create(&counted.gvk).dec_by(ready);
        let synced = i64::from(counted.synced);
        metrics.synced.get_or_create(&counted.gvk).dec_by(synced);
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64().max(0.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bridge_core::{
        managed::{ConditionValue, Policies, Status},
        reasons::ConditionReason,
    };

    use super::*;
    use crate::metrics::Metrics;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    struct Fixture {
        metrics: Metrics,
        managed_metrics: Arc<ManagedMetrics>,
        counts: Counts,
        gvk: Arc<Gvk>,
        object: Managed,
    }

    impl Fixture {
        fn new() -> Self {
            let metrics = Metrics::new();
            let managed_metrics = ManagedMetrics::new(&metrics);
            Self {
                counts: Counts::new(Arc::clone(&managed_metrics)),
                metrics,
                managed_metrics,
                gvk: Arc::new(Gvk {
                    gvk: "g/v1, Kind=K".to_owned(),
                }),
                object: Managed {
                    namespace: String::new(),
                    name: "one".to_owned(),
                    uid: "uid".to_owned(),
                    generation: 1,
                    resource_version: "1".to_owned(),
                    deletion: None,
                    finalizers: Vec::new(),
                    annotations: bridge_core::managed::Annotations::default(),
                    policies: Policies::of(&serde_json::json!({})),
                    wants_connection_secret: false,
                    status: Status::default(),
                },
            }
        }

        /// A pass after which it says this.
        fn pass(&mut self, ready: &ConditionValue, second: u64) {
            let before = self.object.clone();
            let synced = ConditionValue::yes(ConditionReason::ReconcileSuccess);
            self.object.status.set(status::READY, ready, 1, START);
            self.object.status.set(status::SYNCED, &synced, 1, START);
            let now = START + Duration::from_secs(second);
            self.counts
                .passed(&self.gvk, &before, &self.object, Some(START), now);
        }

        fn value(&self, name: &str) -> String {
            let text = self.metrics.encode();
            let prefix = format!("crossplane_managed_resource_{name}{{");
            let line = text.lines().find(|line| line.starts_with(&prefix));
            line.and_then(|line| line.rsplit_once(' '))
                .map_or_else(|| "none".to_owned(), |(_, value)| value.to_owned())
        }
    }

    #[test]
    fn the_first_readiness_is_observed_once_whatever_came_before_it() {
        let mut stage = Fixture::new();
        stage.pass(&ConditionValue::no(ConditionReason::Creating, ""), 1);
        stage.pass(&ConditionValue::no(ConditionReason::Unavailable, ""), 2);
        assert_eq!(stage.value("first_time_to_readiness_seconds_count"), "none");
        stage.pass(&ConditionValue::yes(ConditionReason::Available), 4);
        stage.pass(&ConditionValue::no(ConditionReason::Creating, ""), 5);
        stage.pass(&ConditionValue::yes(ConditionReason::Available), 6);
        assert_eq!(stage.value("first_time_to_readiness_seconds_count"), "1");
        assert_eq!(stage.value("first_time_to_readiness_seconds_sum"), "4.0");
    }

    #[test]
    fn existing_objects_have_no_time_to_first_readiness() {
        let mut stage = Fixture::new();
        stage.object.status.set(
            status::SYNCED,
            &ConditionValue::yes(ConditionReason::Available),
            1,
            START,
        );
        stage.counts.seen(&stage.gvk, &stage.object);
        stage.pass(&ConditionValue::yes(ConditionReason::Available), 4);
        assert_eq!(stage.value("first_time_to_readiness_seconds_count"), "none");
    }

    #[test]
    fn drift_is_measured_from_the_last_observation_in_sync() {
        let mut stage = Fixture::new();
        stage.pass(&ConditionValue::yes(ConditionReason::Available), 1);
        stage.counts.updated("uid", START);
        assert_eq!(stage.value("drift_seconds_count"), "none");
        stage.counts.in_sync_since("uid", START);
        stage.counts.updated("uid", START + Duration::from_mins(1));
        assert_eq!(stage.value("drift_seconds_sum"), "60.0");
    }

    #[test]
    fn what_goes_between_two_generations_is_counted_no_more() {
        let mut stage = Fixture::new();
        stage.pass(&ConditionValue::yes(ConditionReason::Available), 1);
        assert_eq!(
            (stage.value("exists"), stage.value("ready")),
            ("1".into(), "1".into())
        );
        let next = Counts::new(Arc::clone(&stage.managed_metrics));
        stage.counts.end();
        // A pass that ends late.
        stage.pass(&ConditionValue::yes(ConditionReason::Available), 2);
        assert_eq!(
            (stage.value("exists"), stage.value("synced")),
            ("0".into(), "0".into())
        );
        next.seen(&stage.gvk, &stage.object);
        assert_eq!(
            (stage.value("exists"), stage.value("ready")),
            ("1".into(), "1".into())
        );
    }
}
