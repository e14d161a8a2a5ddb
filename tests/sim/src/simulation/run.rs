//! One seed, from beginning to end.

use std::{
    future::Future,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bridge_core::managed::{Settings, names};
use bridge_engine::clock::Clock;
use fake_cloud::cloud::Profile;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::{
    runtime::Builder,
    task::{LocalSet, spawn_local},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    bridge::run as run_bridge,
    compositions::Sender,
    coverage::{Counts, ScenarioFeature},
    environment::Environment,
    plan::{FaultBurst, Plan, Step, UserAction},
    plugin_host::PluginHost,
};

/// Everything converges in this time once nothing goes wrong any more.
const CONVERGES_WITHIN: Duration = Duration::from_mins(30);
/// At rest nothing is written for so long.
const AT_REST: Duration = Duration::from_mins(3);
/// A watch that ended begins again in this time.
const WATCHED_WITHIN: Duration = Duration::from_mins(1);
/// The kinds are served in this time after the first start.
const SERVED_WITHIN: Duration = Duration::from_mins(1);

/// What became of one seed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The seed that was run.
    pub seed: u64,
    /// What was wrong; empty: nothing.
    pub violations: Vec<String>,
    /// What happened, if it was kept.
    pub journal: Vec<String>,
    /// Bridges that were started.
    pub bridges: u32,
    /// What happened, and how often.
    pub happened: Counts,
}

pub(super) fn run(seed: u64, keeps_journal: bool) -> Report {
    let plan = Plan::draw(seed);
    let environment = Environment::new(seed, plan.kinds.clone(), keeps_journal, &settings(), plan.bridges);
    {
        let mut state = environment.kube.state();
        state.no_streaming = !plan.streaming;
        // Nothing is applied but by users, whole.
        state.no_owners = true;
    }
    if plan.password {
        environment.log.listen();
    }
    if plan
        .steps
        .iter()
        .any(|(_, step)| matches!(step, Step::ApiDown(_)))
    {
        environment.log.expect_outage();
    }
    for (is_so, scene) in [
        (plan.bridges > 1, ScenarioFeature::TwoBridges),
        (plan.rivals, ScenarioFeature::Rivals),
    ] {
        if is_so {
            environment.coverage.count("world", scene);
        }
    }
    let live = || Environment::logging(&environment, || Run::new(&environment, plan).run(seed));
    let bridges = panic::catch_unwind(AssertUnwindSafe(live)).unwrap_or_else(|_| {
        environment.blame("the simulation panicked".to_owned());
        0
    });
    for _ in 0..environment.watcher.lock().lease_moves() {
        environment.coverage.count("world", ScenarioFeature::LeaseMoved);
    }
    Report {
        seed,
        happened: environment.coverage.counts(),
        violations: environment.violations(),
        journal: environment.journal(),
        bridges,
    }
}

/// The defaults of the command line.
fn settings() -> Settings {
    Settings::default()
}

/// Runs this in a runtime of its own, the nth of the simulation, in virtual time. When it ends, whatever runs there dies.
#[allow(clippy::expect_used)] // Nothing else can be done then.
pub(crate) fn in_runtime<T>(environment: &Environment, seed: u64, work: impl Future<Output = T>) -> T {
    fastrand::seed(seed);
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O can be built");
    let local = LocalSet::new();
    let ended = runtime.block_on(local.run_until(async {
        environment.time.begin();
        let ended = work.await;
        environment.time.end();
        ended
    }));
    drop((local, runtime));
    environment.forget_flights();
    *environment.bridge.lock() = None;
    *environment.function.lock() = None;
    ended
}

/// Deletes what owners leave behind, as kube-controller-manager does, every 2 s.
pub(crate) async fn collect_garbage(environment: Arc<Environment>) {
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        environment.kube.state().collect_garbage(environment.time.now());
        // What it did is none of a bridge's.
        environment.watch_compositions(None, Sender::default());
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

pub(super) struct Run {
    pub(super) environment: Arc<Environment>,
    pub(super) plan: Plan,
    /// Steps that are done.
    done: usize,
    began: bool,
    /// What users do when the bridge dies at a request.
    pub(super) action: UserAction,
    /// The last desired size.
    pub(super) size: u32,
}

impl Run {
    fn new(environment: &Arc<Environment>, plan: Plan) -> Self {
        Self {
            environment: Arc::clone(environment),
            plan,
            done: 0,
            began: false,
            action: UserAction::Nothing,
            size: 1,
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
        // Those who were to end it are dead.
        environment.open_valves();
        environment.kube.state().down = false;
        environment.cloud.lock().profile.down = false;
        let host = PluginHost::new(&environment);
        host.start();
        let stop = CancellationToken::new();
        let processes: Vec<_> = (0..environment.bridges)
            .map(|number| {
                let (environment, host) = (Arc::clone(&environment), Arc::clone(&host));
                spawn_local(run_bridge(environment, host, number, stop.clone()))
            })
            .collect();
        spawn_local(collect_garbage(Arc::clone(&environment)));
        if !self.began {
            self.prepare().await;
            self.began = true;
            self.set_out();
        }
        tokio::select! {
            biased;
            () = environment.crash.reached() => {
                self.do_user_action();
                return Ended::Bridge;
            }
            ended = self.fault_burst(&host) => match ended {
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
            self.converge(&host).await;
        }
        Ended::All
    }

    /// Nothing goes wrong before the kinds are served.
    async fn prepare(&self) {
        let end = Instant::now() + SERVED_WITHIN;
        while !(self.environment.serves_all() && self.environment.make_config()) {
            if Instant::now() > end {
                self.environment.blame("the kinds are not served".to_owned());
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn set_out(&mut self) {
        *self.environment.fault_burst.lock() = self.plan.fault_burst;
        let mut cloud = self.environment.cloud.lock();
        cloud.profile.work = self.plan.work;
        cloud.profile.invisible = self.plan.invisible;
        cloud.profile.untidy_status = self.plan.untidy_status;
        drop(cloud);
        // From now on.
        self.environment.make_password(0);
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
    async fn fault_burst(&mut self, host: &Arc<PluginHost>) -> Option<Step> {
        while let Some((at, step)) = self.plan.steps.get(self.done).copied() {
            tokio::time::sleep(at.saturating_sub(self.now())).await;
            if self.failed() {
                return None;
            }
            self.done += 1;
            self.environment.log.note(|| format!("{step:?}"));
            if self.take(step, host) {
                return Some(step);
            }
        }
        // What was begun may go wrong for a while.
        tokio::time::sleep(Duration::from_secs(10)).await;
        None
    }

    /// Nothing goes wrong any more: everything becomes as it should be, and rests.
    async fn converge(&self, host: &Arc<PluginHost>) {
        let environment = &self.environment;
        environment.log.note(|| "nothing goes wrong any more".to_owned());
        environment.crash.disarm();
        *environment.fault_burst.lock() = FaultBurst {
            latency: 5,
            ..FaultBurst::default()
        };
        environment.open_valves();
        environment.kube.state().down = false;
        environment.cloud.lock().profile = Profile {
            untidy_status: self.plan.untidy_status,
            ..Profile::default()
        };
        host.start();
        for (kind, name) in &self.plan.objects {
            let object = environment.object(kind, name);
            object.remove_foreign();
            object.annotate(names::PAUSED, Value::Null);
            object.patch(&json!({"spec": {"forProvider": {"invalid": null}}}));
        }
        // Two cannot both have it.
        if self.plan.rivals {
            let (kind, name) = &self.plan.objects[1];
            environment.object(kind, name).delete();
        }
        let end = Instant::now() + CONVERGES_WITHIN;
        while let Some(trouble) = self.trouble() {
            if self.failed() {
                return;
            }
            if Instant::now() > end {
                environment.blame(format!("it does not converge: {trouble}"));
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        // Events come behind, and the last status after what it reports.
        tokio::time::sleep(Duration::from_mins(2)).await;
        self.rest().await;
        environment.watch_api(None);
        environment.watch_cloud();
        if let Some(trouble) = self.trouble() {
            environment.blame(format!("it does not stay at its desired state: {trouble}"));
        }
    }

    fn trouble(&self) -> Option<String> {
        self.plan.objects.iter().find_map(|(kind, name)| {
            let object = self.environment.object(kind, name);
            object.answer();
            object.trouble()
        })
    }

    async fn rest(&self) {
        let environment = &self.environment;
        let (commits, since) = (environment.kube.state().history.len(), environment.time.now());
        let asked = environment.writes_asked.load(Ordering::Relaxed);
        tokio::time::sleep(AT_REST).await;
        environment.zero_writes_at_rest(commits, asked);
        environment.no_key_starves(since);
        // A watch ends now and then, and the next one begins soon.
        let end = Instant::now() + WATCHED_WITHIN;
        while let Some(wrong) = environment.the_watch_set_equals_the_plan() {
            if Instant::now() > end {
                environment.blame(wrong);
                return;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}
