//! Scenarios: short files that run in the simulation, and with real processes on a real API server, and must agree.
//!
//! ```yaml
//! about: The answer to Create is lost. It is found again, and nothing is made twice.
//! kinds: [Token, Named]           # all of them at once; `all`: every kind of the cloud
//! steps:
//!   - fault: {rpc: create, fate: loseAnswer}
//!   - apply: {size: 1}
//!   - expect: {ready: true, external: 1}
//! ```

mod runner;
mod simulated;

use std::time::Duration;

use bridge_core::managed::Settings;
use fake_cloud::{
    cloud::Profile,
    fault::{FaultOutcome, Rpc},
};
use serde::Deserialize;
use serde_json::Value;

pub use self::{
    runner::{CloudSnapshot, Flow, Runner, ScenarioBackend, Unexpected},
    simulated::simulate,
};

/// A scenario.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Name of its file, without the ending.
    #[serde(default)]
    pub name: String,
    /// One or two sentences.
    pub about: String,
    /// For which kinds.
    pub kinds: Kinds,
    /// One after the other.
    pub steps: Vec<Step>,
}

/// For which kinds: there is one object of each.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Kinds {
    /// `all`
    Word(All),
    /// These.
    These(Vec<String>),
}

/// Every kind of the cloud.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum All {
    /// The word for it.
    All,
}

/// One step. What is about objects is about all of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// They are made.
    Apply {
        /// `spec.forProvider.size`
        size: u32,
    },
    /// Their size changes.
    Resize(u32),
    /// They are deleted.
    Delete,
    /// An annotation is set; `null` removes it.
    Annotate {
        /// Which.
        key: String,
        /// To what.
        value: Option<String>,
    },
    /// The bridge asks what became of a creation, and is told the truth.
    Answer,
    /// Somebody removes the external objects by hand.
    RemoveByHand,
    /// Somebody else makes external objects of the names that ours are going to have.
    Foreign,
    /// What becomes of calls on behalf of each object.
    Fault {
        /// Which call.
        rpc: Rpc,
        /// What becomes of it.
        fate: FaultOutcome,
        /// So many times.
        #[serde(default = "once")]
        times: u32,
        /// After so many that are spared.
        #[serde(default)]
        after: u32,
    },
    /// How the cloud is from now on; fields that are left out have their defaults.
    Profile(Profile),
    /// `kill -9`.
    Crash(Process),
    /// SIGTERM, and it ends.
    Terminate,
    /// It starts again.
    Start(Process),
    /// Nobody reaches the API server, or everybody does again.
    Api(Power),
    /// The definitions of the kinds are deleted, or made again as they were.
    Definitions(Change),
    /// The plugin starts anew, and publishes these kinds alone.
    Publish(Vec<String>),
    /// So many seconds pass, in which nothing may go wrong.
    Pass(u32),
    /// This comes to pass, for each object.
    Expect(Expectation),
}

fn once() -> u32 {
    1
}

/// What can be killed and started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// The bridge.
    Bridge,
    /// The plugin.
    Plugin,
}

/// Whether the API server can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Power {
    /// It cannot.
    Down,
    /// It can.
    Up,
}

/// What becomes of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// They are deleted, and gone when the step ends.
    Delete,
    /// They are made again.
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
    /// It is gone, or not.
    pub gone: Option<bool>,
    /// External objects that were made for it, and are.
    pub external: Option<usize>,
    /// Its external name is annotated, and is that of the external object.
    pub named: Option<bool>,
    /// Size of the external object.
    pub size: Option<u64>,
    /// Calls of Create that came on its behalf.
    pub creates: Option<usize>,
    /// Calls of Delete.
    pub deletes: Option<usize>,
    /// Looks that said that nothing is there, though it is.
    pub lies: Option<usize>,
    /// Calls that had no answer yet when the bridge was told to stop last.
    pub unanswered: Option<usize>,
}

/// How the bridge is to behave: [`FLAGS`] say the same on a command line.
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
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
        let entries = std::fs::read_dir(folder).map_err(|error| format!("{folder}: {error}"))?;
        let mut scenarios = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| error.to_string())?.path();
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let text = std::fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
            scenarios.push(Self::read(&name, &text)?);
        }
        scenarios.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(scenarios)
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
