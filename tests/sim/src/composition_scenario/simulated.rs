//! A scenario of compositions in virtual time.

use async_trait::async_trait;

use super::{CompositionBackend, CompositionRunner, CompositionScenario, Process};
use crate::scenario::{Flow, Processes, Simulated, Unexpected, simulate_with};

/// The plugin beside the function serves one kind, without objects.
const PLUGIN_KIND: &str = "Bucket";

/// Runs a scenario in virtual time, where the invariants of compositions are checked after every commit. Returns what happened, in words.
///
/// # Errors
/// What did not come to pass, and what happened.
pub fn simulate_compositions(
    scenario: &CompositionScenario,
) -> Result<Vec<String>, (Unexpected, Vec<String>)> {
    let mut runner = CompositionRunner::new(scenario);
    simulate_with(
        vec![PLUGIN_KIND.to_owned()],
        Processes::with_function(),
        async |backend| runner.run(backend).await,
    )
}

#[async_trait(?Send)]
impl CompositionBackend for Simulated {
    async fn crash(&mut self, process: Process) -> Result<Flow, Unexpected> {
        match process {
            Process::Bridge => Ok(self.crash_bridge()),
            Process::Function => {
                self.kill_function();
                Ok(Flow::Goes)
            }
        }
    }

    async fn start(&mut self, process: Process) -> Result<(), Unexpected> {
        match process {
            Process::Bridge => self.start_bridge(),
            Process::Function => self.start_function(),
        }
        Ok(())
    }
}
