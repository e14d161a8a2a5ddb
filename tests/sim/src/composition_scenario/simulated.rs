//! A scenario of compositions in virtual time.

use async_trait::async_trait;
use serde_json::Value;

use super::{CompositionBackend, CompositionRunner, CompositionScenario, Process};
use crate::{
    scenario::{self, Flow, Processes, Simulated, Unexpected, simulate_in},
    simulation::{Environment, FaultAt, WriteFault},
};

/// Runs a scenario in virtual time, where the invariants of compositions are checked after every commit. Returns what happened, in words.
///
/// # Errors
/// What did not come to pass, and what happened.
pub fn simulate_compositions(
    scenario: &CompositionScenario,
) -> Result<Vec<String>, (Unexpected, Vec<String>)> {
    simulate_with_faults(scenario, &[], true).ended
}

/// What came of a scenario with faults.
#[derive(Debug)]
pub struct RunWithFaults {
    /// Writes of the bridge that were counted.
    pub writes: u32,
    /// Faults that came: others were behind its end.
    pub fired: u32,
    /// What happened, in words; `Err`: what did not come to pass, and what happened.
    pub ended: Result<Vec<String>, (Unexpected, Vec<String>)>,
}

/// Runs a scenario whose writes of these numbers, from 0 when its definitions are applied, fail.
pub fn simulate_with_faults(
    scenario: &CompositionScenario,
    faults: &[FaultAt],
    keeps_journal: bool,
) -> RunWithFaults {
    let two = faults.iter().any(|one| one.fault == WriteFault::LeaseMoves);
    let kinds = vec![super::PLUGIN_KIND.to_owned()];
    let environment = Environment::new(
        0,
        kinds,
        keeps_journal,
        &scenario::settings(),
        1 + usize::from(two),
    );
    let mut runner = CompositionRunner::new(scenario);
    let mut began = false;
    let (name, processes) = (&scenario.name, Processes::with_function());
    let ended = simulate_in(name, &environment, processes, async |backend| {
        if !std::mem::replace(&mut began, true) {
            environment.faults.begin(faults);
        }
        let ended = runner.run(backend).await;
        environment.faults.forget_time();
        ended
    });
    RunWithFaults {
        writes: environment.faults.writes(),
        fired: environment.faults.fired(),
        ended,
    }
}

#[async_trait(?Send)]
impl CompositionBackend for Simulated {
    fn note_applied(&mut self, path: &str, object: &Value) {
        self.environment().departure.note_applied(path, object);
    }

    fn has_departed(&self) -> bool {
        self.environment().departure.is_taken()
    }

    fn is_without_fault(&self) -> bool {
        self.environment().faults.fired() == 0
    }

    fn take_recreation(&mut self) -> Option<Value> {
        self.environment().departure.take_recreation()
    }

    fn resume_all(&mut self) -> bool {
        self.environment().resume_all()
    }

    fn delete_stripped(&mut self) -> bool {
        let environment = self.environment();
        environment.departure.has_stripped() && environment.delete_ownerless()
    }

    async fn crash(&mut self, process: Process) -> Result<Flow, Unexpected> {
        match process {
            Process::Bridge => Ok(self.crash_bridge()),
            Process::Function => {
                self.kill_function();
                Ok(Flow::Goes)
            }
            Process::Plugin => {
                self.kill_plugin();
                Ok(Flow::Goes)
            }
        }
    }

    async fn start(&mut self, process: Process) -> Result<(), Unexpected> {
        match process {
            Process::Bridge => self.start_bridge(),
            Process::Function => self.start_function(),
            Process::Plugin => self.start_plugin(),
        }
        Ok(())
    }
}
