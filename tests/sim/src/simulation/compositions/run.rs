//! One seed, from beginning to end.

use std::{
    collections::BTreeMap,
    panic::{self, AssertUnwindSafe},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bridge_core::{composite::names, managed::Settings};
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::{task::spawn_local, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    invariants::CompositionChecker,
    manifests::Kind,
    plan::{Plan, Propagation, Step},
};
use crate::simulation::{
    bridge::run as run_bridge,
    environment::Environment,
    function_host::FunctionHost,
    plan::FaultBurst,
    plugin_host::PluginHost,
    run::{Report, collect_garbage, in_runtime},
};

/// Everything converges in this time once nothing goes wrong any more.
const CONVERGES_WITHIN: Duration = Duration::from_mins(20);
/// At rest nothing is written for so long.
const AT_REST: Duration = Duration::from_mins(3);
/// The kinds are served in this time after the first start.
const SERVED_WITHIN: Duration = Duration::from_mins(2);
/// The plugin beside the function serves one kind, of which nobody makes an object.
const PLUGIN_KIND: &str = "Bucket";

pub(in crate::simulation) fn run(seed: u64, keeps_journal: bool) -> Report {
    let plan = Plan::draw(seed);
    let kinds = vec![PLUGIN_KIND.to_owned()];
    let environment = Environment::new(seed, kinds, keeps_journal, &Settings::default(), plan.bridges);
    *environment.compositions.lock() = Some(CompositionChecker::default());
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

pub(super) struct Run {
    pub(super) environment: Arc<Environment>,
    pub(super) plan: Plan,
    /// Which program each kind's composition has.
    pub(super) variants: BTreeMap<Kind, u32>,
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
        let plugin = PluginHost::new(&environment);
        plugin.start();
        let function = FunctionHost::new(&environment.time, &environment.log);
        function.start();
        *environment.function.lock() = Some(Arc::clone(&function));
        let stop = CancellationToken::new();
        let processes: Vec<_> = (0..environment.bridges)
            .map(|number| {
                let (environment, plugin) = (Arc::clone(&environment), Arc::clone(&plugin));
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
            ended = self.fault_burst(&function) => match ended {
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
            self.converge(&function).await;
        }
        Ended::All
    }

    /// Nothing goes wrong before the kinds are served.
    async fn prepare(&mut self) {
        let environment = Arc::clone(&self.environment);
        let end = Instant::now() + SERVED_WITHIN;
        let is_served = |kind: &Kind| {
            environment.define(*kind) && environment.compose(*kind, 0) && environment.serves(*kind)
        };
        while !(Kind::ALL.iter().all(is_served) && environment.is_guarded()) {
            if Instant::now() > end {
                environment.blame("the kinds are not served".to_owned());
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    fn set_out(&mut self) {
        *self.environment.fault_burst.lock() = self.plan.fault_burst;
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
    async fn fault_burst(&mut self, function: &Arc<FunctionHost>) -> Option<Step> {
        while let Some((at, step)) = self.plan.steps.get(self.done).copied() {
            tokio::time::sleep(at.saturating_sub(self.now())).await;
            if self.failed() {
                return None;
            }
            self.done += 1;
            self.environment.log.note(|| format!("{step:?}"));
            if self.take(step, function) {
                return Some(step);
            }
        }
        // What was begun may go wrong for a while.
        tokio::time::sleep(Duration::from_secs(10)).await;
        None
    }

    /// Nothing goes wrong any more: everything becomes as it should be, and rests.
    async fn converge(&self, function: &Arc<FunctionHost>) {
        let environment = &self.environment;
        environment.log.note(|| "nothing goes wrong any more".to_owned());
        environment.crash.disarm();
        *environment.fault_burst.lock() = FaultBurst {
            latency: 5,
            ..FaultBurst::default()
        };
        environment.open_valves();
        environment.kube.state().down = false;
        function.start();
        function.wake();
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
            environment.log.note(|| "everything is deleted".to_owned());
            self.becomes_as_desired().await;
        }
    }

    async fn becomes_as_desired(&self) -> bool {
        let environment = &self.environment;
        let end = Instant::now() + CONVERGES_WITHIN;
        while let Some(trouble) = self.trouble() {
            if self.failed() {
                return false;
            }
            if Instant::now() > end {
                environment.blame(format!("it does not converge: {trouble}"));
                return false;
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        !self.failed()
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
    }
}
