//! Scenarios: short files that run in the simulation, and with real processes on a real API server, and must agree.
//!
//! ```yaml
//! about: The answer to Create is lost. It is found again, and nothing is created twice.
//! kinds: [Token, Named]           # all of them at once; `all`: every kind of the cloud
//! steps:
//!   - fault: {rpc: create, fate: loseAnswer}
//!   - apply: {size: 1}
//!   - expect: {ready: true, external: 1}
//! ```

mod definitions;
mod runner;
mod simulated;

use std::{collections::BTreeMap, time::Duration};

use bridge_core::managed::Settings;
use fake_cloud::{
    cloud::Profile,
    fault::{FaultOutcome, Rpc},
};
use serde::Deserialize;
use serde_json::Value;

pub use self::{
    runner::{CloudSnapshot, ClusterBackend, Flow, Runner, ScenarioBackend, Unexpected},
    simulated::simulate,
};
pub(crate) use self::{
    runner::{LOOK_AGAIN, ask, ask_while, condition, conditions, plural},
    simulated::{Processes, Simulated, simulate_in},
};

/// A scenario file: what happens, step by step, and what must come of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of its file, without the ending.
    #[serde(default)]
    pub name: String,
    /// What the scenario is about, in a sentence or two.
    pub about: String,
    /// The kinds of which it has one object each.
    pub kinds: Kinds,
    /// The steps, one after the other.
    pub steps: Vec<Step>,
}

/// For which kinds: there is one object of each.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Kinds {
    /// The word `all`: every kind of the fake cloud.
    Word(All),
    /// The kinds of these names.
    These(Vec<String>),
}

/// Every kind of the cloud.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum All {
    /// The word `all`.
    All,
}

/// One step. What is about objects is about all of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// The objects are created.
    Apply {
        /// The number in `spec.forProvider.size`.
        size: u32,
    },
    /// The objects get another `spec.forProvider.size`.
    Resize(u32),
    /// The objects are deleted.
    Delete,
    /// An annotation is set; `null` removes it.
    Annotate {
        /// The annotation's key.
        key: String,
        /// The annotation's value; `null`: it is removed.
        value: Option<String>,
    },
    /// The bridge asks what became of a creation, and gets the true answer.
    Answer,
    /// An unknown actor removes the external objects by hand.
    RemoveByHand,
    /// Another owner creates external objects of the names that ours are going to have.
    Foreign,
    /// What becomes of calls on behalf of each object.
    Fault {
        /// The method that the fault waits for.
        rpc: Rpc,
        /// What becomes of it.
        fate: FaultOutcome,
        /// The number of calls that it meets.
        #[serde(default = "once")]
        times: u32,
        /// After so many that are spared.
        #[serde(default)]
        after: u32,
    },
    /// How the cloud is from now on; fields that are left out have their defaults.
    Profile(Profile),
    /// The process is killed with SIGKILL.
    Crash(Process),
    /// SIGTERM, and it ends.
    Terminate,
    /// A process that was killed or terminated is started again.
    Start(Process),
    /// No client reaches the API server, or all do again.
    Api(Power),
    /// The definitions of the kinds are deleted, or created again as they were.
    Definitions(Change),
    /// The plugin starts anew, and publishes these kinds alone.
    Publish(Vec<String>),
    /// So many seconds pass, in which nothing may go wrong.
    Pass(u32),
    /// This becomes true of each object, within the limit.
    Expect(Expectation),
}

fn once() -> u32 {
    1
}

/// What can be killed and started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// `runtime-bridge`, the one of the scenario.
    Bridge,
    /// The plugin; its cloud lives on.
    Plugin,
}

/// Whether the API server can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Power {
    /// No request reaches it.
    Down,
    /// Every request reaches it.
    Up,
}

/// What becomes of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// They are deleted, and absent when the step ends.
    Delete,
    /// They are created again.
    Create,
}

/// What comes to pass. What is left out does not matter.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expectation {
    /// `Ready` and `Synced` are true, or not.
    pub ready: Option<bool>,
    /// Reason of the condition `Ready`.
    pub ready_reason: Option<String>,
    /// Reason of the condition `Synced`.
    pub synced_reason: Option<String>,
    /// Whether the object is absent.
    pub gone: Option<bool>,
    /// External objects that were created for it, and exist.
    pub external: Option<usize>,
    /// Its external name is annotated, and is that of the external object.
    pub named: Option<bool>,
    /// Size of the external object.
    pub size: Option<u64>,
    /// Calls of Create that came on its behalf.
    pub creates: Option<usize>,
    /// Calls of Delete that came on its behalf.
    pub deletes: Option<usize>,
    /// Observes that reported absence though the resource exists.
    pub lies: Option<usize>,
    /// Calls that had no answer yet when the bridge was last asked to stop.
    pub unanswered: Option<usize>,
}

/// How the bridge is to behave: [`FLAGS`] are the same on a command line.
pub(crate) fn settings() -> Settings {
    Settings {
        poll: Duration::from_secs(2),
        poll_jitter: Duration::ZERO,
        clock_skew: Duration::from_secs(1),
        ..Settings::default()
    }
}

/// Flags of `runtime-bridge serve` for scenarios with real processes.
pub const FLAGS: [&str; 3] = ["--poll=2s", "--poll-jitter=0s", "--clock-skew=1s"];

impl Scenario {
    /// Reads one.
    ///
    /// # Errors
    /// A sentence on what is wrong with it.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let value: Value = serde_yaml_ng::from_str(text).map_err(|error| format!("{name}: {error}"))?;
        let scenario: Self = serde_json::from_value(value).map_err(|error| format!("{name}: {error}"))?;
        Ok(Self {
            name: name.to_owned(),
            ..scenario
        })
    }

    /// Every scenario of the folder `tests/sim/scenarios`, by name.
    ///
    /// # Errors
    /// The folder, or one of its files, cannot be read.
    pub fn all() -> Result<Vec<Self>, String> {
        read_folder("scenarios", Self::read)
    }

    /// Whether answers are outstanding for a while.
    pub fn has_slow_answers(&self) -> bool {
        let is_slow = |step: &Step| {
            matches!(
                step,
                Step::Fault {
                    fate: FaultOutcome::Slow(_),
                    ..
                }
            )
        };
        self.steps.iter().any(is_slow)
    }

    /// Names of its kinds.
    pub fn kinds(&self) -> Vec<String> {
        match &self.kinds {
            Kinds::These(kinds) => kinds.clone(),
            Kinds::Word(All::All) => fake_cloud::kinds::all()
                .iter()
                .map(|subject| subject.name().to_owned())
                .collect(),
        }
    }
}

/// Every file of a folder of this crate, by name.
///
/// # Errors
/// The folder, or one of its files, cannot be read.
pub(crate) fn read_folder<T>(
    folder: &str,
    read: impl Fn(&str, &str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let folder = format!("{}/{folder}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{folder}: {error}"))?;
    let mut all = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            continue;
        }
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        all.insert(name.clone(), read(&name, &text)?);
    }
    Ok(all.into_values().collect())
}
