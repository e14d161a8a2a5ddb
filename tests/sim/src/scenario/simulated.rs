//! A scenario in virtual time.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_engine::clock::Clock;
use fake_cloud::{cloud::Profile, fault::Fault};
use http::Method;
use serde_json::Value;
use tokio::task::{JoinHandle, spawn_local};
use tokio_util::sync::CancellationToken;

use super::{
    CloudSnapshot, ClusterBackend, Flow, Power, Process, Runner, Scenario, ScenarioBackend, Unexpected,
};
use crate::simulation::{
    CompositionChecker, Deadline, Environment, FunctionHost, PluginHost, Sender, collect_garbage, in_runtime,
    run_bridge,
};

/// Virtual time costs little.
const WAIT_LIMIT: Duration = Duration::from_mins(15);

/// Runs a scenario in virtual time. Returns what happened, in words.
///
/// # Errors
/// What did not come to pass, and what happened.
pub fn simulate(scenario: &Scenario) -> Result<Vec<String>, (Unexpected, Vec<String>)> {
    let mut runner = Runner::new(scenario);
    let environment = Environment::new(0, scenario.kinds(), true, &super::settings(), 1);
    simulate_in(
        &scenario.name,
        &environment,
        Processes::default(),
        async |backend| runner.run(backend).await,
    )
}

/// Runs the scenario of this name in one runtime after the other, until it has not been interrupted.
pub(crate) fn simulate_in(
    name: &str,
    environment: &Arc<Environment>,
    mut running: Processes,
    mut run: impl AsyncFnMut(&mut Simulated) -> Result<Flow, Unexpected>,
) -> Result<Vec<String>, (Unexpected, Vec<String>)> {
    let _ends = Deadline::begin(format!("the scenario {name}"));
    if running.function.is_some() {
        *environment.compositions.lock() = Some(CompositionChecker::new(false));
    }
    let ended = Environment::logging(environment, || {
        for number in 0.. {
            let ended = in_runtime(environment, number, async {
                let mut backend = Simulated::start(environment, running);
                if number == 0 {
                    backend.prepare().await;
                }
                let ended = run(&mut backend).await;
                running = backend.running;
                ended
            });
            if ended != Ok(Flow::Interrupted) {
                return ended;
            }
        }
        Ok(Flow::Goes)
    });
    let journal = environment.journal();
    let wrong = environment.violations();
    match ended {
        Err(Unexpected(why)) => Err((Unexpected([vec![why], wrong].concat().join("; ")), journal)),
        Ok(_) if !wrong.is_empty() => Err((Unexpected(wrong.join("; ")), journal)),
        Ok(_) => Ok(journal),
    }
}

/// Which processes run at the moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Processes {
    bridge: bool,
    plugin: bool,
    /// `None`: compositions are not served.
    function: Option<bool>,
}

impl Processes {
    /// With compositions.
    pub(crate) fn with_function() -> Self {
        Self {
            function: Some(true),
            ..Self::default()
        }
    }
}

impl Default for Processes {
    fn default() -> Self {
        Self {
            bridge: true,
            plugin: true,
            function: None,
        }
    }
}

/// One runtime of a simulated scenario.
pub(crate) struct Simulated {
    environment: Arc<Environment>,
    plugin: Arc<PluginHost>,
    function: Arc<FunctionHost>,
    /// The bridges, all of them or none, and what ends them by SIGTERM.
    bridges: Option<(Vec<JoinHandle<()>>, CancellationToken)>,
    running: Processes,
}

impl Simulated {
    fn start(environment: &Arc<Environment>, running: Processes) -> Self {
        let mut backend = Self {
            environment: Arc::clone(environment),
            plugin: PluginHost::new(environment),
            function: FunctionHost::new(environment),
            bridges: None,
            running,
        };
        spawn_local(collect_garbage(Arc::clone(environment)));
        if running.plugin {
            backend.plugin.start();
        }
        if running.function.is_some() {
            *environment.function.lock() = Some(Arc::clone(&backend.function));
        }
        if running.function == Some(true) {
            backend.function.start();
        }
        if running.bridge {
            backend.start_bridge();
        }
        backend
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn start_bridge(&mut self) {
        let stop = CancellationToken::new();
        let processes = (0..self.environment.bridges).map(|number| {
            let (environment, plugin) = (Arc::clone(&self.environment), Arc::clone(&self.plugin));
            spawn_local(run_bridge(environment, plugin, number, stop.clone()))
        });
        self.bridges = Some((processes.collect(), stop));
        self.running.bridge = true;
    }

    /// Its runtime goes with it.
    pub(crate) fn crash_bridge(&mut self) -> Flow {
        self.running.bridge = false;
        Flow::Interrupted
    }

    pub(crate) fn start_plugin(&mut self) {
        self.plugin.start();
        self.running.plugin = true;
    }

    pub(crate) fn kill_plugin(&mut self) {
        self.plugin.kill();
        self.running.plugin = false;
    }

    pub(crate) fn start_function(&mut self) {
        self.function.start();
        self.running.function = Some(true);
    }

    pub(crate) fn kill_function(&mut self) {
        self.function.kill();
        self.running.function = Some(false);
    }

    async fn prepare(&self) {
        while !(self.environment.serves_all() && self.environment.make_config()) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[async_trait(?Send)]
impl ClusterBackend for Simulated {
    async fn kube(&mut self, method: Method, path: &str, body: &Value) -> Result<(u16, Value), Unexpected> {
        let answer = self.environment.kube.request(&method, path, body);
        self.environment.watch_compositions(None, Sender::default());
        Ok(answer)
    }

    async fn terminate(&mut self) -> Result<Flow, Unexpected> {
        if let Some((processes, stop)) = self.bridges.take() {
            stop.cancel();
            for process in processes {
                process.await.map_err(|error| Unexpected(error.to_string()))?;
            }
        }
        self.running.bridge = false;
        // Whatever it left running ends with its process.
        Ok(Flow::Interrupted)
    }

    async fn set_profile(&mut self, profile: Profile) -> Result<(), Unexpected> {
        self.environment.cloud.lock().profile = profile;
        Ok(())
    }

    async fn power(&mut self, power: Power) -> Result<(), Unexpected> {
        self.environment.kube.state().down = power == Power::Down;
        Ok(())
    }

    async fn pass(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn wait_limit(&self) -> Duration {
        WAIT_LIMIT
    }
}

#[async_trait(?Send)]
impl ScenarioBackend for Simulated {
    async fn cloud(&mut self) -> Result<CloudSnapshot, Unexpected> {
        let mut cloud = self.environment.cloud.lock();
        let now = self.environment.time.now();
        cloud.settle(now);
        Ok(CloudSnapshot {
            now,
            objects: cloud.objects.clone(),
            entries: cloud.entries.clone(),
        })
    }

    async fn inject(&mut self, fault: Fault) -> Result<(), Unexpected> {
        self.environment.cloud.lock().inject(fault);
        Ok(())
    }

    async fn remove_by_hand(&mut self, kind: &str, name: &str) -> Result<(), Unexpected> {
        self.environment.cloud.lock().remove_by_hand(kind, name);
        Ok(())
    }

    async fn foreign(&mut self, kind: &str, name: &str) -> Result<(), Unexpected> {
        let now = self.environment.time.now();
        self.environment
            .cloud
            .lock()
            .foreign(kind, name, "another-owner", now);
        Ok(())
    }

    async fn crash(&mut self, process: Process) -> Result<Flow, Unexpected> {
        match process {
            Process::Plugin => {
                self.kill_plugin();
                Ok(Flow::Goes)
            }
            Process::Bridge => Ok(self.crash_bridge()),
        }
    }

    async fn start(&mut self, process: Process) -> Result<(), Unexpected> {
        match process {
            Process::Plugin => self.start_plugin(),
            Process::Bridge => self.start_bridge(),
        }
        Ok(())
    }

    async fn publish(&mut self, kinds: &[String]) -> Result<(), Unexpected> {
        self.plugin.kill();
        self.plugin.publish(kinds);
        self.start(Process::Plugin).await
    }
}
