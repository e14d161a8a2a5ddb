//! One seed, from beginning to end.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{self, AssertUnwindSafe},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bridge_core::{composite::names, managed::Settings};
use fake_cloud::cloud::Profile;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::{task::spawn_local, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    invariants::CompositionChecker,
    manifests::Kind,
    plan::{Plan, Propagation, Step},
    state::is_deleting,
};
use crate::simulation::{
    bridge::run as run_bridge,
    environment::Environment,
    function_host::FunctionHost,
    plan::FaultBurst,
    plugin_host::PluginHost,
    run::{Report, collect_garbage, in_runtime},
    seed_kind::SeedKind,
};

/// Everything converges in this time once nothing goes wrong any more.
const CONVERGES_WITHIN: Duration = Duration::from_mins(20);
/// At rest nothing is written for so long.
const AT_REST: Duration = Duration::from_mins(3);
/// What is watched is as it should be in this time once nothing goes wrong any more.
const WATCHED_WITHIN: Duration = Duration::from_mins(2);
/// The kinds are served in this time after the first start.
const SERVED_WITHIN: Duration = Duration::from_mins(2);
/// The plugin beside the function serves one kind, whose creations and deletions take a while.
pub(super) const PLUGIN_KIND: &str = "Table";

pub(in crate::simulation) fn run(seed: u64, keeps_journal: bool) -> Report {
    let plan = Plan::draw(seed, SeedKind::Compositions.edition(seed));
    let kinds = vec![PLUGIN_KIND.to_owned()];
    let environment = Environment::new(seed, kinds, keeps_journal, &Settings::default(), plan.bridges);
    environment
        .vanishing_parents
        .store(plan.vanishing_parents, Ordering::Relaxed);
    *environment.compositions.lock() = Some(CompositionChecker::new(plan.vanishing_parents));
    plan.count_features(&environment.coverage);
    if plan.program.has_secrets {
        environment.log.listen();
    }
    environment.kube.state().no_streaming = !plan.streaming;
    let is_outage = |(_, step): &(Duration, Step)| matches!(step, Step::ApiDown(_));
    if plan.steps.iter().any(is_outage) {
        environment.log.expect_outage();
    }
    let live = || Environment::logging(&environment, || Run::new(&environment, plan).run(seed));
    let bridges = panic::catch_unwind(AssertUnwindSafe(live)).unwrap_or_else(|_| {
        environment.blame("the simulation panicked".to_owned());
        0
    });
    Report {
        seed,
        happened: environment.coverage.counts(),
        violations: environment.violations(),
        journal: environment.journal(),
        bridges,
    }
}

/// How a runtime ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The bridge died, or was asked to stop.
    Bridge,
    /// The simulation is over.
    All,
}

/// What stands beside the bridges.
pub(super) struct Hosts {
    pub(super) function: Arc<FunctionHost>,
    pub(super) plugin: Arc<PluginHost>,
}

pub(super) struct Run {
    pub(super) environment: Arc<Environment>,
    pub(super) plan: Plan,
    /// Which program each kind's composition has.
    pub(super) variants: BTreeMap<Kind, u32>,
    /// How often each kind's definition was edited.
    pub(super) edits: BTreeMap<Kind, u32>,
    /// Paths of what a person holds.
    pub(super) held: BTreeSet<String>,
    /// Settings that were changed so far: no two have one value.
    pub(super) settings: u32,
    /// The plugin's kind is served, and configured.
    configured: bool,
    /// Steps that are done.
    done: usize,
    began: bool,
}

impl Run {
    fn new(environment: &Arc<Environment>, plan: Plan) -> Self {
        Self {
            environment: Arc::clone(environment),
            plan,
            variants: BTreeMap::new(),
            edits: BTreeMap::new(),
            held: BTreeSet::new(),
            settings: 0,
            configured: false,
            done: 0,
            began: false,
        }
    }

    /// One runtime after the other, until it is over. Returns how many.
    fn run(&mut self, seed: u64) -> u32 {
        let mut bridges = 0;
        loop {
            bridges += 1;
            let environment = Arc::clone(&self.environment);
            let seed = seed.wrapping_add(u64::from(bridges) << 48);
            let ended = in_runtime(&environment, seed, self.epoch());
            if ended == Ended::All || bridges > 100 {
                return bridges;
            }
        }
    }

    fn failed(&self) -> bool {
        !self.environment.violations().is_empty()
    }

    /// The life of one bridge.
    async fn epoch(&mut self) -> Ended {
        let environment = Arc::clone(&self.environment);
        environment.open_valves();
        environment.kube.state().down = false;
        environment.cloud.lock().profile.down = false;
        let hosts = Hosts {
            function: FunctionHost::new(&environment),
            plugin: PluginHost::new(&environment),
        };
        hosts.plugin.start();
        hosts.function.start();
        *environment.function.lock() = Some(Arc::clone(&hosts.function));
        let stop = CancellationToken::new();
        let processes: Vec<_> = (0..environment.bridges)
            .map(|number| {
                let (environment, plugin) = (Arc::clone(&environment), Arc::clone(&hosts.plugin));
                spawn_local(run_bridge(environment, plugin, number, stop.clone()))
            })
            .collect();
        if !self.plan.no_collector {
            spawn_local(collect_garbage(Arc::clone(&environment)));
        }
        if !self.began {
            self.prepare().await;
            self.began = true;
            self.set_out();
        }
        tokio::select! {
            biased;
            () = environment.crash.reached() => return Ended::Bridge,
            ended = self.fault_burst(&hosts) => match ended {
                Some(Step::TerminateBridge) => {
                    stop.cancel();
                    // What a draining bridge does may still be cut off.
                    tokio::select! {
                        biased;
                        () = environment.crash.reached() => {}
                        _ = join_all(processes) => {}
                    }
                    return Ended::Bridge;
                }
                Some(_) => return Ended::Bridge,
                None => {}
            },
        }
        if !self.failed() {
            self.converge(&hosts).await;
        }
        Ended::All
    }

    /// Nothing goes wrong before the kinds are served.
    async fn prepare(&mut self) {
        let environment = Arc::clone(&self.environment);
        let end = Instant::now() + SERVED_WITHIN;
        while !(self.is_configured() && self.are_kinds_served() && environment.is_guarded()) {
            if Instant::now() > end {
                environment.blame("the kinds are not served".to_owned());
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        if self.plan.program.has_secrets {
            environment.make_credentials();
        }
    }

    /// Configures the plugin's kind, once it is served.
    fn is_configured(&mut self) -> bool {
        self.configured =
            self.configured || (self.environment.serves_all() && self.environment.make_config());
        self.configured
    }

    /// Defines the kinds. Returns whether all are served.
    fn are_kinds_served(&self) -> bool {
        let program = &self.plan.program;
        self.plan.kinds.iter().all(|kind| {
            self.environment.define(*kind, 0);
            self.environment.compose(*kind, 0, program) && self.environment.serves(*kind)
        })
    }

    fn set_out(&mut self) {
        *self.environment.fault_burst.lock() = self.plan.fault_burst;
        self.environment.cloud.lock().profile.work = self.plan.work;
        let now = self.now();
        for (at, _) in &mut self.plan.steps {
            *at += now;
        }
        self.environment.log.note(|| format!("{:?}", self.plan));
    }

    fn now(&self) -> Duration {
        self.environment.time.since_start().unsigned_abs()
    }

    /// Takes the steps of the plan. Returns the one that ends the bridge; `None`: all are done.
    async fn fault_burst(&mut self, hosts: &Hosts) -> Option<Step> {
        while let Some((at, step)) = self.plan.steps.get(self.done).copied() {
            tokio::time::sleep(at.saturating_sub(self.now())).await;
            if self.failed() {
                return None;
            }
            self.done += 1;
            self.environment.log.note(|| format!("{step:?}"));
            if self.take(step, hosts) {
                return Some(step);
            }
        }
        // What was begun may go wrong for a while.
        tokio::time::sleep(Duration::from_secs(10)).await;
        None
    }

    /// Nothing goes wrong any more: everything becomes as it should be, and rests.
    async fn converge(&self, hosts: &Hosts) {
        let environment = &self.environment;
        environment.log.note(|| "nothing goes wrong any more".to_owned());
        environment.crash.disarm();
        *environment.fault_burst.lock() = FaultBurst {
            latency: 5,
            ..FaultBurst::default()
        };
        environment.open_valves();
        environment.kube.state().down = false;
        environment.cloud.lock().profile = Profile::default();
        hosts.plugin.start();
        hosts.function.start();
        hosts.function.wake();
        environment.mend_function();
        for path in &self.held {
            environment.set_held(path, false);
        }
        let unpaused = json!({"metadata": {"annotations": {names::PAUSED: Value::Null}}});
        for number in 0..self.plan.objects.len() {
            self.object(number).patch(&unpaused);
        }
        if !self.becomes_as_desired().await {
            return;
        }
        self.rest().await;
        if let Some(trouble) = self.trouble() {
            environment.blame(format!("it does not stay at its desired state: {trouble}"));
        }
        if self.plan.ends_empty {
            for number in 0..self.plan.objects.len() {
                self.object(number).delete(Propagation::Background);
            }
            self.delete_standalone();
            environment.log.note(|| "everything is deleted".to_owned());
            if self.becomes_as_desired().await {
                self.ends_without_standalone().await;
                self.watch_set_settles().await;
            }
        }
    }

    async fn becomes_as_desired(&self) -> bool {
        let environment = &self.environment;
        let end = Instant::now() + CONVERGES_WITHIN;
        while let Some(trouble) = self.trouble() {
            environment.delete_orphaned_secrets();
            if self.plan.releases {
                environment.delete_ownerless();
            }
            environment.delete_orphaned();
            environment.delete_usages_of_deleted();
            // What is still being deleted comes back after it.
            for kind in &self.plan.kinds {
                environment.define(*kind, self.edits_of(*kind));
                if environment.is_held_by_usages(*kind) {
                    self.give_up_chains();
                }
            }
            if self.failed() {
                return false;
            }
            if Instant::now() > end {
                self.note_what_is_left();
                environment.blame(format!("it does not converge: {trouble}"));
                return false;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        !self.failed()
    }

    /// A definition cannot end while an order is in use by what a chain composes: as it says so, a person deletes the chains.
    fn give_up_chains(&self) {
        for number in 0..self.plan.objects.len() {
            let object = self.object(number);
            let lives = object.get().is_some_and(|object| !is_deleting(&object));
            if object.kind == Kind::Chain && lives {
                object.delete(Propagation::Background);
            }
        }
    }

    async fn rest(&self) {
        let environment = &self.environment;
        // Events come behind, and the last status after what it reports. A leader that has just begun keeps references for two minutes, as a former one
        // may still create what they name.
        tokio::time::sleep(Duration::from_mins(4)).await;
        let commits = environment.kube.state().history.len();
        let asked = environment.writes_asked.load(Ordering::Relaxed);
        tokio::time::sleep(AT_REST).await;
        environment.zero_writes_at_rest(commits, asked);
        self.watch_set_settles().await;
    }

    /// A watch ends now and then, and the next one begins soon; what nothing asks for any more is watched for a minute yet.
    async fn watch_set_settles(&self) {
        let environment = &self.environment;
        let end = Instant::now() + WATCHED_WITHIN;
        while let Some(wrong) = environment.the_watch_set_equals_the_needs() {
            if Instant::now() > end {
                environment.blame(wrong);
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}
