//! Drives the queue: begins passes as limits allow, ends them at their deadline, and survives their panics.

mod driver;
mod marks;
mod shared;
mod steps;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bridge_core::{
    queue::{Counts, Due, Priority, Queue, Wake},
    watch_plan::GroupKind,
};
use parking_lot::{Mutex, RwLock};
use serde_json::Value;
use tokio::{
    sync::{Notify, watch},
    task::{AbortHandle, JoinHandle},
};
use tokio_util::sync::CancellationToken;

pub use self::shared::{DispatchOptions, InFlight, Registration};
use self::{driver::Driver, shared::Shared};
use crate::{
    clock::Clock,
    metrics::{KindLabel, Metrics},
    object::{Key, Object},
    random,
    reconcile::Reconcile,
    store::{Change, Store},
};

/// Gives objects their turns. One object is never reconciled twice at once.
pub struct Dispatcher {
    shared: Arc<Shared>,
    drain: CancellationToken,
    driver: tokio::sync::Mutex<Option<JoinHandle<()>>>,
    running: AbortHandle,
}

impl Dispatcher {
    /// Starts the driver. Passes begin while `gate` is true.
    pub fn start(
        store: Arc<Store>,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        options: DispatchOptions,
        gate: watch::Receiver<bool>,
    ) -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::new(options.limits)),
            reconcilers: RwLock::default(),
            next_registration: AtomicU64::new(0),
            in_flight: Mutex::default(),
            consecutive_failures: Mutex::default(),
            scheduled: Mutex::default(),
            changed: Notify::new(),
            store,
            clock,
            metrics,
            options,
        });
        let drain = CancellationToken::new();
        let driver = tokio::spawn(Driver::new(Arc::clone(&shared), gate, drain.clone()).run());
        Self {
            shared,
            drain,
            running: driver.abort_handle(),
            driver: tokio::sync::Mutex::new(Some(driver)),
        }
    }

    /// Who reconciles a kind from now on.
    pub fn register(&self, kind: &GroupKind, reconciler: Arc<dyn Reconcile>) -> Registration {
        self.register_of(kind, None, reconciler)
    }

    /// Likewise, of a kind that shares a limit of passes with others of its owner.
    pub fn register_of(
        &self,
        kind: &GroupKind,
        owner: Option<Arc<str>>,
        reconciler: Arc<dyn Reconcile>,
    ) -> Registration {
        self.shared.queue.lock().set_owner(kind, owner);
        let registration = Registration(self.shared.next_registration.fetch_add(1, Ordering::Relaxed));
        self.shared
            .reconcilers
            .write()
            .insert(kind.clone(), (registration, reconciler));
        registration
    }

    /// Nobody reconciles the kind any more, unless somebody else was registered since. Its objects lose their turns; passes that run go on.
    pub fn unregister(&self, kind: &GroupKind, registration: Registration) {
        let mut reconcilers = self.shared.reconcilers.write();
        if reconcilers.get(kind).is_none_or(|(of, _)| *of != registration) {
            return;
        }
        let former = reconcilers.remove(kind);
        // While they are locked: who shows the gauges of all that are registered does not bring these back.
        let label = KindLabel {
            kind: kind.to_string(),
        };
        self.shared.metrics.queued.remove(&label);
        self.shared.metrics.in_flight.remove(&label);
        self.shared.metrics.oldest_queued.remove(&label);
        drop(reconcilers);
        let mut queue = self.shared.queue.lock();
        queue.retain(|_, of| of != kind);
        queue.set_owner(kind, None);
        drop(queue);
        self.shared.scheduled.lock().retain(|key| key.kind() != kind);
        self.shared
            .consecutive_failures
            .lock()
            .retain(|key, _| key.kind() != kind);
        drop(former);
    }

    /// What is to be told of changes to registered kinds: makes it their turn.
    pub fn changed(&self, change: &Change) {
        self.shared.mark_changed(change);
    }

    /// What is to be told of changes to whatever registered kinds depend on: makes it the turn of all that do.
    pub fn dependency_changed(&self, change: &Change) {
        self.shared.mark_dependants(change);
    }

    /// It is this object's turn, for a reason that the store does not know of.
    pub fn enqueue(&self, key: &Key, wake: Wake) {
        self.shared.mark_lasting(key, "", wake);
    }

    /// Something changes for all of these: they get their turns, many of them spread.
    pub(crate) fn wake_dependants(
        &self,
        dependants: impl IntoIterator<Item = Key, IntoIter: ExactSizeIterator>,
    ) {
        let dependants = dependants.into_iter();
        let (now, spread) = (self.shared.clock.now(), marks::spread(dependants.len()));
        for dependant in dependants {
            let wake = Wake {
                at: now + spread.mul_f64(random::fraction()),
                priority: Priority::Dependency,
            };
            self.enqueue(&dependant, wake);
        }
    }

    /// Whether objects of this kind are given their turns.
    pub fn serves(&self, kind: &GroupKind) -> bool {
        self.shared.reconcilers.read().contains_key(kind)
    }

    /// Whether they are, and a user has defined their type.
    pub fn serves_users_type(&self, kind: &GroupKind) -> bool {
        let reconcilers = self.shared.reconcilers.read();
        reconcilers
            .get(kind)
            .is_some_and(|(_, reconciler)| reconciler.is_of_a_users_type())
    }

    /// What whoever reconciles an object knows of it.
    pub(crate) fn report(&self, object: &Object) -> Option<Value> {
        let (_, reconciler) = self.shared.reconcilers.read().get(&object.api.kind).cloned()?;
        reconciler.report(object)
    }

    /// How many objects of each kind are where.
    pub fn counts(&self) -> BTreeMap<GroupKind, Counts> {
        self.shared.queue.lock().counts()
    }

    /// When an object's turn is.
    pub fn due(&self, key: &Key) -> Option<Due> {
        self.shared.queue.lock().due(key)
    }

    /// The passes that run.
    pub fn in_flight(&self) -> Vec<InFlight> {
        self.shared.in_flight.lock().values().cloned().collect()
    }

    /// Passes are still begun when they are due; or it was asked to begin none any more.
    pub fn is_alive(&self) -> bool {
        self.drain.is_cancelled() || !self.running.is_finished()
    }

    /// Begins no more passes, and waits for those that run, but not longer than `limit`. Returns those that had to be dropped.
    pub async fn drain(&self, limit: Duration) -> Vec<Key> {
        self.drain.cancel();
        let mut driver = self.driver.lock().await;
        if let Some(running) = driver.as_mut()
            && tokio::time::timeout(limit, &mut *running).await.is_err()
        {
            running.abort();
        }
        *driver = None;
        std::mem::take(&mut *self.shared.in_flight.lock())
            .into_keys()
            .collect()
    }

    /// Brings the gauges up to date.
    pub fn show_metrics(&self) {
        let (counts, now) = (self.counts(), self.shared.clock.now());
        for kind in self.shared.reconcilers.read().keys() {
            let counts = counts.get(kind).copied().unwrap_or_default();
            let Counts { ready, running, .. } = counts;
            let label = KindLabel {
                kind: kind.to_string(),
            };
            let gauge = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
            self.shared.metrics.queued.get_or_create(&label).set(gauge(ready));
            self.shared
                .metrics
                .in_flight
                .get_or_create(&label)
                .set(gauge(running));
            let age = counts
                .oldest
                .map_or(0.0, |at| now.duration_since(at).as_secs_f64());
            self.shared
                .metrics
                .oldest_queued
                .get_or_create(&label)
                .set(age.max(0.0));
        }
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.drain.cancel();
        if let Some(driver) = self.driver.get_mut() {
            driver.abort();
        }
    }
}

#[cfg(test)]
mod tests;
