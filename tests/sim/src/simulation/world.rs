//! What outlives every process of a simulation.

use std::sync::Arc;

use bridge_engine::clock::Clock;
use fake_cloud::cloud::Cloud;
use fake_kube::Kube;
use parking_lot::Mutex;
use runtime_bridge::serve::Bridge;
use tokio::sync::Notify;

use super::{chance::Chance, invariants::Watcher, journal::Journal, plan::Storm, time::Time};

/// What outlives every process of a simulation.
pub(super) struct World {
    pub(super) time: Time,
    pub(super) kube: Kube,
    pub(super) cloud: Mutex<Cloud>,
    /// The kinds that its plugin serves.
    pub(super) kinds: Vec<String>,
    /// What goes wrong now, and how often.
    pub(super) storm: Mutex<Storm>,
    pub(super) kube_chance: Chance,
    pub(super) cloud_chance: Chance,
    pub(super) watcher: Mutex<Watcher>,
    pub(super) journal: Journal,
    pub(super) crash: CrashPoint,
    /// The bridge that runs, to be asked how it is.
    pub(super) bridge: Mutex<Option<Arc<Bridge>>>,
}

impl World {
    pub(super) fn new(seed: u64, kinds: Vec<String>, keeps_journal: bool) -> Arc<Self> {
        let time = Time::default();
        let now = time.clone();
        Arc::new(Self {
            kube: Kube::new(Arc::new(move || now.now())),
            cloud: Mutex::new(Cloud::new()),
            kinds,
            storm: Mutex::default(),
            kube_chance: Chance::new(seed, 1),
            cloud_chance: Chance::new(seed, 2),
            watcher: Mutex::default(),
            journal: Journal::new(time.clone(), keeps_journal),
            crash: CrashPoint::default(),
            bridge: Mutex::new(None),
            time,
        })
    }
}

/// Where the bridge dies: at its nth request from now that changes something.
#[derive(Default)]
pub(super) struct CrashPoint {
    armed: Mutex<Option<Armed>>,
    reached: Notify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Armed {
    requests: u32,
    side: Side,
}

/// Before or after what a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl CrashPoint {
    /// The bridge is going to die at the nth request (from 1) that changes something.
    pub(super) fn arm(&self, requests: u32, side: Side) {
        *self.armed.lock() = Some(Armed { requests, side });
    }

    pub(super) fn disarm(&self) {
        *self.armed.lock() = None;
    }

    /// A request passes: is this the one?
    pub(super) fn passes(&self) -> Option<Side> {
        let mut armed = self.armed.lock();
        let at = armed.as_mut()?;
        at.requests = at.requests.saturating_sub(1);
        if at.requests > 0 {
            return None;
        }
        let side = at.side;
        *armed = None;
        Some(side)
    }

    /// Now.
    pub(super) fn reach(&self) {
        self.reached.notify_one();
    }

    /// Until the bridge is to die.
    pub(super) async fn reached(&self) {
        self.reached.notified().await;
    }
}
