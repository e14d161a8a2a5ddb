use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bridge_control_plane::process::{Output, Process, Spawn};
use serde_json::Value;

use crate::Failure;
use crate::project::Project;
use crate::run::answer;

/// How long everything may take to end.
const GRACE: Duration = Duration::from_secs(30);

/// `runtime-bridge dev`, and the contents of its state file.
pub(super) struct Dev {
    process: Process,
    state_file: PathBuf,
}

/// A composition function that runs beside the bridge.
pub(super) struct Function {
    /// What compositions call it.
    pub(super) name: &'static str,
    /// As `--function-command` takes it.
    pub(super) command: String,
}

impl Dev {
    pub(super) fn start(
        project: &Project,
        state_file: &Path,
        manifests: &[PathBuf],
        functions: &[Function],
    ) -> Result<Self, Failure> {
        let plugin = project.binary("provider-aws-example");
        let dev = Spawn::new(project.binary("runtime-bridge"))
            .args(["dev", "--plugin-command"])
            .arg(format!("'{}'", plugin.display()))
            .arg("--state-file")
            .arg(state_file);
        let dev = manifests
            .iter()
            .fold(dev, |dev, manifest| dev.arg("--apply").arg(manifest));
        let dev = if functions.is_empty() {
            dev
        } else {
            dev.arg("--compositions")
        };
        let dev = functions.iter().fold(dev, |dev, function| {
            let command = format!("{}={}", function.name, function.command);
            dev.arg("--function-command").arg(command)
        });
        // A call cut off in the middle may have its effect until its deadline and this are over: here all clocks are one.
        let process = dev
            .args(["--", "--clock-skew", "1s"])
            .stdout(Output::lines(|line| println!("  {line}")))
            .stderr(Output::lines(|line| println!("  {line}")))
            .spawn()
            .map_err(|error| Failure::new(error.to_string()))?;
        Ok(Self {
            process,
            state_file: state_file.to_owned(),
        })
    }

    /// What it reports of its processes, once there are any.
    pub(super) fn state(&self) -> Option<Value> {
        let state: Value = serde_json::from_slice(&fs::read(&self.state_file).ok()?).ok()?;
        ["plugin", "bridge"]
            .iter()
            .all(|name| state["processes"][name].is_object())
            .then_some(state)
    }

    /// How often its processes were started, together.
    pub(super) fn starts(&self) -> u64 {
        let state = self.state().unwrap_or_default();
        let processes = state["processes"].as_object().into_iter().flatten();
        processes
            .filter_map(|(_, process)| process["starts"].as_u64())
            .sum()
    }

    /// `kill -9`, by process id.
    pub(super) async fn kill(&self, names: &[&str]) -> Result<(), Failure> {
        let state = self.state().unwrap_or_default();
        let ids: Option<Vec<String>> = names
            .iter()
            .map(|name| state["processes"][name]["pid"].as_u64().map(|id| id.to_string()))
            .collect();
        let ids = ids.ok_or_else(|| Failure::new("the state file has no process ids"))?;
        answer(Spawn::new("kill").arg("-9").args(ids)).await.map(drop)
    }

    /// The failure that it is if it ends by itself.
    pub(super) async fn ended(&self) -> Failure {
        Failure::new(format!(
            "`runtime-bridge dev` ended by itself ({})",
            self.process.wait().await
        ))
    }

    /// Ends it as Ctrl-C does.
    pub(super) async fn stop(&self) -> Result<(), Failure> {
        let status = self.process.stop(GRACE).await;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::new(format!("`runtime-bridge dev` ended with {status}")))
        }
    }
}
