//! What outlives every process of a simulation.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize},
    },
    time::Duration,
};

use bridge_core::managed::Settings;
use bridge_engine::clock::Clock;
use fake_cloud::cloud::Cloud;
use fake_kube::Kube;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use runtime_bridge::{
    definitions::CrdMode,
    serve::{BehaviourArgs, Introspection},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing_subscriber::{filter::LevelFilter, layer::SubscriberExt};

use super::{
    chance::Chance,
    compositions::{CompositionChecker, FunctionProfile},
    coverage::Coverage,
    departure::Departure,
    function_host::FunctionHost,
    invariants::InvariantChecker,
    journal::Journal,
    plan::FaultBurst,
    time::Time,
    wire::{Cutter, Valve},
    write_faults::WriteFaults,
};

/// What outlives every process of a simulation.
pub(crate) struct Environment {
    pub(crate) time: Time,
    pub(crate) kube: Kube,
    pub(crate) cloud: Mutex<Cloud>,
    /// The kinds that its plugin serves.
    pub(crate) kinds: Vec<String>,
    /// What goes wrong now, and how often.
    pub(crate) fault_burst: Mutex<FaultBurst>,
    pub(crate) kube_chance: Chance,
    pub(crate) cloud_chance: Chance,
    pub(crate) watcher: Mutex<InvariantChecker>,
    pub(crate) log: Journal,
    pub(crate) coverage: Coverage,
    /// The flags that bridges run with.
    pub(crate) behaviour: BehaviourArgs,
    pub(crate) crash: CrashPoint,
    /// What becomes of single writes, where a schedule is explored.
    pub(crate) faults: WriteFaults,
    /// What a user does beside a scenario.
    pub(crate) departure: Departure,
    /// The process of each bridge.
    processes: Mutex<[Process; 2]>,
    /// Watches that the API server serves, by bridge and plural.
    pub(crate) watches: Mutex<BTreeMap<(usize, String), usize>>,
    /// Requests of bridges that would change something, elections left out. One that changes nothing costs the API server as much.
    pub(crate) writes_asked: AtomicUsize,
    /// Bridges at once; two elect a leader.
    pub(crate) bridges: usize,
    /// The bridge that runs, to be asked how it is.
    pub(crate) bridge: Mutex<Option<Arc<Introspection>>>,
    /// The function of compositions; `None`: they are not served.
    pub(crate) function: Mutex<Option<Arc<FunctionHost>>>,
    /// How that function answers at the moment.
    pub(crate) function_profile: FunctionProfile,
    /// Bridges run with `--vanishing-parents`.
    pub(crate) vanishing_parents: AtomicBool,
    /// What compositions must never do, where they are served.
    pub(crate) compositions: Mutex<Option<CompositionChecker>>,
}

impl Environment {
    pub(crate) fn new(
        seed: u64,
        kinds: Vec<String>,
        keeps_journal: bool,
        settings: &Settings,
        bridges: usize,
    ) -> Arc<Self> {
        let time = Time::default();
        let now = time.clone();
        Arc::new(Self {
            kube: Kube::new(Arc::new(move || now.now())),
            cloud: Mutex::new(Cloud::new()),
            kinds,
            fault_burst: Mutex::default(),
            kube_chance: Chance::new(seed, 1),
            cloud_chance: Chance::new(seed, 2),
            watcher: Mutex::default(),
            coverage: Coverage::default(),
            log: Journal::new(time.clone(), keeps_journal),
            behaviour: behaviour(settings),
            crash: CrashPoint::default(),
            faults: WriteFaults::default(),
            departure: Departure::default(),
            processes: Mutex::default(),
            watches: Mutex::default(),
            writes_asked: AtomicUsize::new(0),
            bridges,
            bridge: Mutex::new(None),
            function: Mutex::new(None),
            function_profile: FunctionProfile::default(),
            vanishing_parents: AtomicBool::new(false),
            compositions: Mutex::new(None),
            time,
        })
    }
}

impl Environment {
    /// Runs this with a log that goes into the journal. An error in it is a violation.
    pub(crate) fn logging<T>(environment: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        let log = environment.log.clone();
        let level = LevelFilter::from_level(log.level());
        let subscriber = tracing_subscriber::registry().with(log).with(level);
        tracing::subscriber::with_default(subscriber, work)
    }

    /// The process that is this bridge now.
    pub(crate) fn process(&self, bridge: usize) -> Process {
        self.processes.lock()[bridge].clone()
    }

    /// Another process replaces it.
    pub(crate) fn begin_process(&self, bridge: usize, stop: CancellationToken) -> Process {
        let mut processes = self.processes.lock();
        let former = &processes[bridge];
        let mut former_valves = former.former_valves.clone();
        former_valves.push(former.valve.clone());
        let process = Process {
            identity: format!("bridge-{bridge} since {}", self.time.now()),
            began: self.time.now(),
            stop,
            former_valves,
            ..Process::default()
        };
        processes[bridge] = process.clone();
        process
    }

    /// How many have replaced this process.
    pub(crate) fn successors(&self, bridge: usize, process: &Process) -> usize {
        self.process(bridge).former_valves.len() - process.former_valves.len()
    }

    /// Whether it began less than a second ago.
    pub(crate) fn is_starting(&self, process: &Process) -> bool {
        self.time.now() < process.began + SignedDuration::from_secs(1)
    }

    /// Nothing is held up any more.
    pub(crate) fn open_valves(&self) {
        for process in self.processes.lock().iter() {
            for valve in process.former_valves.iter().chain([&process.valve]) {
                valve.open(self.time.now());
            }
        }
    }

    /// What happened, if it was kept.
    pub(crate) fn journal(&self) -> Vec<String> {
        self.log.lines()
    }

    /// The invariants that did not hold, and errors in the log.
    pub(crate) fn violations(&self) -> Vec<String> {
        let mut violations = self.watcher.lock().violations().to_vec();
        let errors = self.log.errors();
        violations.extend(errors);
        violations
    }
}

/// As the command line has it.
fn behaviour(settings: &Settings) -> BehaviourArgs {
    BehaviourArgs {
        crds: CrdMode::Install,
        poll: settings.poll,
        poll_jitter: settings.poll_jitter,
        clock_skew: settings.clock_skew,
        backoffs: settings.backoffs.into(),
        drain_timeout: Duration::from_mins(1),
        max_concurrent_reconciles: 128,
        namespaced_host_credentials: false,
        host_credentials_dir: Vec::new(),
        namespaced_ambient_credentials: false,
        namespaced_endpoints: false,
        admin_address: SocketAddr::from(([127, 0, 0, 1], 0)),
        debug_remote: false,
    }
}

/// One process of a bridge.
#[derive(Clone, Default)]
pub(crate) struct Process {
    /// The identity with which it takes the lease.
    pub(crate) identity: String,
    /// When it was started.
    began: Timestamp,
    /// Holds its traffic back while it is stalled.
    pub(crate) valve: Valve,
    /// Those of the processes before it: what they hold back may come after their end.
    former_valves: Vec<Valve>,
    /// Cuts its connections, as the kernel does at its end.
    pub(crate) cutter: Cutter,
    /// Ends it by SIGTERM.
    pub(crate) stop: CancellationToken,
    /// Ends it by SIGKILL: see [`Self::kill`].
    pub(crate) death: CancellationToken,
}

impl Process {
    /// Whether its traffic, or that of a process before it, was held back at any time since then.
    pub(crate) fn was_held_back_since(&self, since: Timestamp) -> bool {
        let mut former = self.former_valves.iter().filter(|valve| !valve.is_welded());
        self.valve.was_closed_since(since) || former.any(|valve| valve.was_closed_since(since))
    }

    /// SIGKILL. Whatever it left running in the runtime reaches no process any more.
    pub(crate) fn kill(&self) {
        self.valve.weld();
        self.cutter.cut();
        self.death.cancel();
    }
}

/// Where the bridge dies: at its nth request from now that changes something.
#[derive(Default)]
pub(crate) struct CrashPoint {
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
pub(crate) enum Side {
    Before,
    After,
}

impl CrashPoint {
    /// The bridge is going to die at the nth request (from 1) that changes something.
    pub(crate) fn arm(&self, requests: u32, side: Side) {
        *self.armed.lock() = Some(Armed { requests, side });
    }

    pub(crate) fn disarm(&self) {
        *self.armed.lock() = None;
    }

    /// A request passes: is this the one?
    pub(crate) fn passes(&self) -> Option<Side> {
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

    /// Reports that the armed point was reached.
    pub(crate) fn reach(&self) {
        self.reached.notify_one();
    }

    /// Until the bridge is to die.
    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }
}
