//! A scenario in virtual time.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_engine::clock::Clock;
use fake_cloud::{cloud::Profile, fault::Fault};
use http::Method;
use serde_json::Value;
use tokio::task::{JoinHandle, spawn_local};
use tokio_util::sync::CancellationToken;

use super::{CloudSnapshot, Flow, Power, Process, Runner, Scenario, ScenarioBackend, Unexpected};
use crate::simulation::{Environment, PluginHost, collect_garbage, in_runtime, run_bridge};

/// Virtual time costs little.
const WAIT_LIMIT: Duration = Duration::from_mins(15);

/// Runs a scenario in virtual time. Returns what happened, in words.
///
/// # Errors
/// What did not come to pass, and what happened.
pub fn simulate(scenario: &Scenario) -> Result<Vec<String>, (Unexpected, Vec<String>)> {
    let environment = Environment::new(0, scenario.kinds(), true, &super::settings(), 1);
    let ended = Environment::logging(&environment, || {
        let mut runner = Runner::new(scenario);
        let mut runs = Runs {
            bridge: true,
            plugin: true,
        };
        for number in 0.. {
            let ended = in_runtime(&environment, number, async {
                let mut backend = Simulated::start(&environment, runs);
                if number == 0 {
                    backend.prepare().await;
                }
                let ended = runner.run(&mut backend).await;
                runs = backend.runs;
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
        Err(unexpected) => Err((unexpected, journal)),
        Ok(_) if !wrong.is_empty() => Err((Unexpected(wrong.join("; ")), journal)),
        Ok(_) => Ok(journal),
    }
}

/// Which processes run at the moment.
#[derive(Debug, Clone, Copy)]
struct Runs {
    bridge: bool,
    plugin: bool,
}

struct Simulated {
    environment: Arc<Environment>,
    host: Arc<PluginHost>,
    bridge: Option<(JoinHandle<()>, CancellationToken)>,
    runs: Runs,
}

impl Simulated {
    fn start(environment: &Arc<Environment>, runs: Runs) -> Self {
        let mut backend = Self {
            environment: Arc::clone(environment),
            host: PluginHost::new(environment),
            bridge: None,
            runs,
        };
        spawn_local(collect_garbage(Arc::clone(environment)));
        if runs.plugin {
            backend.host.start();
        }
        if runs.bridge {
            backend.start_bridge();
        }
        backend
    }

    fn start_bridge(&mut self) {
        let stop = CancellationToken::new();
        let process = spawn_local(run_bridge(
            Arc::clone(&self.environment),
            Arc::clone(&self.host),
            0,
            stop.clone(),
        ));
        self.bridge = Some((process, stop));
        self.runs.bridge = true;
    }

    async fn prepare(&self) {
        while !(self.environment.serves_all() && self.environment.make_config()) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

#[async_trait(?Send)]
impl ScenarioBackend for Simulated {
    async fn kube(&mut self, method: Method, path: &str, body: &Value) -> Result<(u16, Value), Unexpected> {
        Ok(self.environment.kube.request(&method, path, body))
    }

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

    async fn set_profile(&mut self, profile: Profile) -> Result<(), Unexpected> {
        self.environment.cloud.lock().profile = profile;
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
                self.host.kill();
                self.runs.plugin = false;
                Ok(Flow::Goes)
            }
            Process::Bridge => {
                self.runs.bridge = false;
                Ok(Flow::Interrupted)
            }
        }
    }

    async fn terminate(&mut self) -> Result<Flow, Unexpected> {
        if let Some((process, stop)) = self.bridge.take() {
            stop.cancel();
            process.await.map_err(|error| Unexpected(error.to_string()))?;
        }
        self.runs.bridge = false;
        // Whatever it left running ends with its process.
        Ok(Flow::Interrupted)
    }

    async fn start(&mut self, process: Process) -> Result<(), Unexpected> {
        match process {
            Process::Plugin => {
                self.host.start();
                self.runs.plugin = true;
            }
            Process::Bridge => self.start_bridge(),
        }
        Ok(())
    }

    async fn publish(&mut self, kinds: &[String]) -> Result<(), Unexpected> {
        self.host.kill();
        self.host.publish(kinds);
        self.start(Process::Plugin).await
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
