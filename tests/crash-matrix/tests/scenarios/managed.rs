//! Scenarios of managed resources.

use std::time::Duration;

use async_trait::async_trait;
use bridge_sim::scenario::{
    CloudSnapshot, ClusterBackend, FLAGS, Flow, Power, Process, Runner, Scenario, ScenarioBackend, Unexpected,
};
use crash_matrix::testbed::{Programs, Testbed};
use fake_cloud::{
    cloud::Profile,
    fault::{Fault, FaultOutcome},
};
use http::Method;
use jiff::Timestamp;
use serde_json::Value;

use crate::user::{User, unexpected};

/// Longest wait for anything; a test that gets there fails.
const WAIT_LIMIT: Duration = Duration::from_mins(2);

/// Where an answer is to be outstanding when something happens, it is so for this many times what the scenario says: a machine that is busy takes its time.
const SLOWER: u32 = 10;

struct RealProcesses {
    testbed: Testbed,
    user: User,
}

impl RealProcesses {
    async fn start(call_seconds: Option<u32>) -> Self {
        let programs = Programs::from_build("runtime-bridge", &FLAGS).unwrap();
        let testbed = Testbed::start(Programs {
            call_seconds,
            ..programs
        })
        .await
        .unwrap();
        Self {
            user: User::connect(testbed.plane.kubeconfig()).await,
            testbed,
        }
    }

    /// As at the start, whatever a scenario did.
    async fn clean_up(&mut self) {
        if !self.testbed.publishes_all() {
            self.testbed.publish(&[]).await.unwrap();
        }
        self.testbed.cloud.clear_faults().await.unwrap();
        self.testbed.cloud.set_profile(&Profile::default()).await.unwrap();
    }
}

#[async_trait(?Send)]
impl ScenarioBackend for RealProcesses {
    async fn cloud(&mut self) -> Result<CloudSnapshot, Unexpected> {
        Ok(CloudSnapshot {
            now: Timestamp::now(),
            objects: self.testbed.cloud.objects().await.map_err(unexpected)?,
            entries: self.testbed.cloud.entries().await.map_err(unexpected)?,
        })
    }

    async fn inject(&mut self, mut fault: Fault) -> Result<(), Unexpected> {
        if let FaultOutcome::Slow(wait) = &mut fault.fate {
            *wait *= SLOWER;
        }
        self.testbed.cloud.inject(&fault).await.map_err(unexpected)
    }

    async fn remove_by_hand(&mut self, kind: &str, name: &str) -> Result<(), Unexpected> {
        self.testbed
            .cloud
            .remove_by_hand(kind, name)
            .await
            .map_err(unexpected)
    }

    async fn foreign(&mut self, kind: &str, name: &str) -> Result<(), Unexpected> {
        self.testbed
            .cloud
            .foreign(kind, name, "another-owner")
            .await
            .map_err(unexpected)
    }

    async fn crash(&mut self, process: Process) -> Result<Flow, Unexpected> {
        match process {
            Process::Bridge => self.testbed.kill_bridge().await,
            Process::Plugin => self.testbed.kill_plugin().await,
        }
        Ok(Flow::Goes)
    }

    async fn start(&mut self, process: Process) -> Result<(), Unexpected> {
        match process {
            Process::Bridge => self.testbed.start_bridge(None),
            Process::Plugin => self.testbed.start_plugin(),
        }
        .map_err(unexpected)
    }

    async fn publish(&mut self, kinds: &[String]) -> Result<(), Unexpected> {
        self.testbed.publish(kinds).await.map_err(unexpected)
    }
}

#[async_trait(?Send)]
impl ClusterBackend for RealProcesses {
    async fn kube(&mut self, method: Method, path: &str, body: &Value) -> Result<(u16, Value), Unexpected> {
        self.user.request(method, path, body).await
    }

    async fn terminate(&mut self) -> Result<Flow, Unexpected> {
        self.testbed.terminate_bridge();
        match self.testbed.wait_for_bridge_exit().await.map_err(unexpected)? {
            Some(0) => Ok(Flow::Goes),
            other => Err(Unexpected(format!("the bridge ended with {other:?}"))),
        }
    }

    async fn set_profile(&mut self, profile: Profile) -> Result<(), Unexpected> {
        self.testbed.cloud.set_profile(&profile).await.map_err(unexpected)
    }

    async fn power(&mut self, power: Power) -> Result<(), Unexpected> {
        match power {
            Power::Down => {
                self.testbed.plane.stop_api_server();
                Ok(())
            }
            Power::Up => self.testbed.plane.start_api_server().await.map_err(unexpected),
        }
    }

    async fn pass(&mut self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    fn wait_limit(&self) -> Duration {
        WAIT_LIMIT
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scenarios_pass_with_real_processes() {
    pass(scenarios(false), RealProcesses::start(None).await).await;
}

/// A call of theirs has as much more time as its answer takes longer.
#[tokio::test(flavor = "multi_thread")]
async fn scenarios_with_slow_answers_pass_with_real_processes() {
    pass(scenarios(true), RealProcesses::start(Some(SLOWER)).await).await;
}

fn scenarios(with_slow_answers: bool) -> Vec<Scenario> {
    let all = Scenario::all().unwrap().into_iter();
    let these: Vec<Scenario> = all
        .filter(|one| one.has_slow_answers() == with_slow_answers)
        .collect();
    assert!(these.len() >= 2, "{these:?}");
    these
}

async fn pass(scenarios: Vec<Scenario>, mut real: RealProcesses) {
    for scenario in scenarios {
        let begun = std::time::Instant::now();
        let ended = Runner::new(&scenario).run(&mut real).await;
        println!("{}: {:.1} s", scenario.name, begun.elapsed().as_secs_f64());
        // What it left behind would disturb the others.
        ended.unwrap_or_else(|unexpected| panic!("{unexpected}"));
        real.clean_up().await;
    }
}
