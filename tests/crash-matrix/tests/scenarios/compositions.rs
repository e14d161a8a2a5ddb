//! Scenarios of compositions.

use std::time::Duration;

use async_trait::async_trait;
use bridge_sim::{
    composition_scenario::{
        CompositionBackend, CompositionRunner, CompositionScenario, PLUGIN_KIND, Process, Step,
    },
    scenario::{ClusterBackend, Flow, Power, Unexpected},
};
use crash_matrix::endings::processes::Processes;
use fake_cloud::{cloud::Profile, remote::Remote};
use futures::StreamExt;
use http::Method;
use serde_json::{Value, json};

use crate::user::{User, unexpected};

/// A bridge that was started waits for two minutes for what the one before it may still create.
const WAIT_LIMIT: Duration = Duration::from_mins(4);

struct RealProcesses {
    processes: Processes,
    cloud: Remote,
    user: User,
}

#[async_trait(?Send)]
impl ClusterBackend for RealProcesses {
    async fn kube(&mut self, method: Method, path: &str, body: &Value) -> Result<(u16, Value), Unexpected> {
        self.user.request(method, path, body).await
    }

    async fn terminate(&mut self) -> Result<Flow, Unexpected> {
        self.processes.stop_bridges().await.map_err(unexpected)?;
        Ok(Flow::Goes)
    }

    async fn set_profile(&mut self, profile: Profile) -> Result<(), Unexpected> {
        self.cloud.set_profile(&profile).await.map_err(unexpected)
    }

    async fn power(&mut self, power: Power) -> Result<(), Unexpected> {
        match power {
            Power::Down => {
                self.processes.plane.stop_api_server();
                Ok(())
            }
            Power::Up => self.processes.plane.start_api_server().await.map_err(unexpected),
        }
    }

    async fn pass(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn wait_limit(&self) -> Duration {
        WAIT_LIMIT
    }
}

#[async_trait(?Send)]
impl CompositionBackend for RealProcesses {
    async fn crash(&mut self, process: Process) -> Result<Flow, Unexpected> {
        match process {
            Process::Bridge => self.processes.kill_bridge().await,
            Process::Function => self.processes.kill_function().await,
            Process::Plugin => self.processes.kill_plugin().await,
        }
        Ok(Flow::Goes)
    }

    async fn start(&mut self, process: Process) -> Result<(), Unexpected> {
        match process {
            Process::Bridge => self.processes.start_bridge(None).await,
            Process::Function => self.processes.start_function(),
            Process::Plugin => self.processes.start_plugin(),
        }
        .map_err(unexpected)
    }
}

impl RealProcesses {
    /// With the garbage collector of Kubernetes, or without.
    async fn start(has_collector: bool) -> Self {
        let mut processes = Processes::start(has_collector).await.unwrap();
        let cloud = processes.start_cloud(PLUGIN_KIND).await.unwrap();
        processes.start_bridge(None).await.unwrap();
        let user = User::connect(processes.plane.kubeconfig()).await;
        let config = json!({
            "apiVersion": "fake.example.org/v1alpha1", "kind": "ClusterProviderConfig",
            "metadata": {"name": "default"}, "spec": {"credentials": {"source": "None"}},
        });
        let path = "/apis/fake.example.org/v1alpha1/clusterproviderconfigs";
        // A bridge is ready once its kinds are served.
        let (code, answer) = user.request(Method::POST, path, &config).await.unwrap();
        assert_eq!(code, 201, "{answer}");
        Self {
            processes,
            cloud,
            user,
        }
    }

    /// One after the other: each ends with nothing left.
    async fn run(scenarios: Vec<CompositionScenario>, has_collector: bool) {
        let mut real = Self::start(has_collector).await;
        for scenario in scenarios {
            let begun = std::time::Instant::now();
            // What one leaves behind would disturb the others.
            if let Err(unexpected) = CompositionRunner::new(&scenario).run(&mut real).await {
                panic!(
                    "{}, with a collector: {has_collector}: {unexpected}",
                    scenario.name
                );
            }
            println!(
                "{}, with a collector: {has_collector}: {:.1} s",
                scenario.name,
                begun.elapsed().as_secs_f64()
            );
        }
    }
}

/// What needs no collector ends without one, too. A bridge that replaces one waits for two minutes: each such scenario does that on a control plane of its own, beside others.
#[tokio::test(flavor = "multi_thread")]
async fn every_scenario_of_compositions_passes_with_real_processes() {
    let replaces_the_bridge = |scenario: &CompositionScenario| {
        let mut steps = scenario.steps.iter();
        steps.any(|step| matches!(step, Step::Crash(Process::Bridge) | Step::Terminate))
    };
    let (slow, quick): (Vec<_>, _) = CompositionScenario::all()
        .unwrap()
        .into_iter()
        .filter(|scenario| !scenario.virtual_only)
        .partition(replaces_the_bridge);
    assert!(slow.len() >= 4 && quick.len() >= 4, "{slow:?} {quick:?}");
    futures::join!(
        RealProcesses::run(quick.clone(), true),
        RealProcesses::run(quick, false)
    );
    // These take minutes: every other one is without.
    let slow = slow
        .into_iter()
        .enumerate()
        .map(|(at, scenario)| RealProcesses::run(vec![scenario], at % 2 == 0));
    futures::stream::iter(slow)
        .buffer_unordered(5)
        .collect::<Vec<()>>()
        .await;
}
