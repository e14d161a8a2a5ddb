//! What the dispatcher and its driver share.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, Instant},
};

use bridge_core::{
    queue::{Limits, Priority, Queue},
    watch_plan::GroupKind,
};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use tokio::sync::Notify;

use crate::{clock::Clock, metrics::Metrics, object::Key, reconcile::Reconcile, store::Store};

/// How passes run.
#[derive(Debug, Clone, Copy)]
pub struct DispatchOptions {
    /// How many at once.
    pub limits: Limits,
    /// A pass is dropped after this time.
    pub pass_timeout: Duration,
}

impl Default for DispatchOptions {
    fn default() -> Self {
        let limits = Limits {
            total: 128,
            per_kind: 64,
            per_flow: 64,
            per_kind_in_flow: 32,
            per_owner: 64,
        };
        Self {
            limits,
            pass_timeout: Duration::from_mins(2),
        }
    }
}

/// Names one registration of a reconciler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration(pub(super) u64);

/// A pass that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InFlight {
    /// Of which object.
    pub object: String,
    /// Why.
    pub priority: Priority,
    /// Since when.
    pub since: Timestamp,
}

/// Who reconciles a kind, and since which registration.
type Registered = (Registration, Arc<dyn Reconcile>);

pub(super) struct Shared {
    pub(super) queue: Mutex<Queue<Key, GroupKind, String>>,
    pub(super) reconcilers: RwLock<BTreeMap<GroupKind, Registered>>,
    pub(super) next_registration: AtomicU64,
    pub(super) in_flight: Mutex<BTreeMap<Key, InFlight>>,
    /// Passes in a row that panicked or ran out of time.
    pub(super) consecutive_failures: Mutex<BTreeMap<Key, u32>>,
    /// Objects that had a pass.
    pub(super) scheduled: Mutex<HashSet<Key>>,
    /// Something was marked.
    pub(super) changed: Notify,
    pub(super) store: Arc<Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) options: DispatchOptions,
}

/// How long a pass took.
pub(super) fn seconds_since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64()
}
