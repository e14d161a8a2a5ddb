//! Scenarios of compositions: short files that run in the simulation, and with real processes on a real API server, and must agree.
//!
//! ```yaml
//! about: A composite resource says that it is being deleted before anything of it goes.
//! definitions: [orders]
//! steps:
//!   - apply: {apiVersion: shop.example.org/v1, kind: Order, metadata: {name: web}}
//!   - expect: {of: Order/web, conditions: {Ready: True/Available}}
//!   - delete: [Order/web]
//!   - expect: {of: Order/web, gone: true}
//! ```
//!
//! An object is named `Kind/name`, `Kind/name@namespace` outside the namespace `default`, and `Claim/name>XKind` if it is the composite resource that
//! a claim refers to. When the steps are done, everything that was applied is deleted, and must be
//! gone; nothing that was composed may be left.

mod objects;
mod runner;
mod simulated;

use std::collections::BTreeMap;

use fake_cloud::cloud::Profile;
use serde::Deserialize;
use serde_json::Value;

pub use self::{
    runner::{CompositionBackend, CompositionRunner},
    simulated::{RunWithFaults, simulate_compositions, simulate_with_faults},
};
use crate::scenario::{Power, read_folder};

/// The plugin beside the function serves this kind of the fake cloud, whose creations and deletions take a while.
pub const PLUGIN_KIND: &str = "Table";

/// A scenario file: what happens, step by step, and what must come of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CompositionScenario {
    /// Name of its file, without the ending.
    #[serde(default)]
    pub name: String,
    /// What the scenario is about, in a sentence or two.
    pub about: String,
    /// Files of `composition-scenarios/definitions`: what is in them is applied first.
    #[serde(default)]
    pub definitions: Vec<String>,
    /// It takes hours, or asks how long something takes: it does not run with real processes.
    #[serde(default)]
    pub virtual_only: bool,
    /// The steps, one after the other.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Step {
    /// What is in this file of `composition-scenarios/definitions` is applied again.
    Define(String),
    /// A user creates this, as soon as the API server takes it: its kind is served, and no object of its name is left.
    Apply(Value),
    /// A user changes an object by a merge patch. `${name}` in it is the uid that was noted under this name.
    Patch {
        /// The object.
        of: String,
        /// The merge patch.
        change: Value,
    },
    /// A user deletes these, one right after the other.
    Delete(Vec<String>),
    /// A user deletes an object, and reads others and then it every 100 ms until it says that it is being deleted: in no reading may one of the others go
    /// and it not say so. In virtual time the invariants say more: they hold for each commit.
    DeleteVisibly {
        /// The object.
        of: String,
        /// The other ones.
        before: Vec<String>,
    },
    /// A user tries to delete an object, and is refused.
    Refused {
        /// The object.
        of: String,
        /// A part of the message.
        message: String,
    },
    /// Notes the uid of an object under a name.
    Note {
        /// The object.
        of: String,
        /// The name.
        name: String,
    },
    /// The process is killed with SIGKILL.
    Crash(Process),
    /// SIGTERM to the bridge, and it ends.
    Terminate,
    /// A process that was killed or terminated is started again.
    Start(Process),
    /// No client reaches the API server, or all do again.
    Api(Power),
    /// How the cloud of the plugin is from now on; fields that are left out have their defaults.
    Cloud(Profile),
    /// So many seconds pass.
    Pass(u32),
    /// This becomes true of an object, within the limit.
    Expect(Expectation),
}

/// What can be killed and started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Process {
    /// `runtime-bridge`, the one of the scenario.
    Bridge,
    /// The composition function.
    Function,
    /// The plugin of what is composed; its cloud goes on.
    Plugin,
}

/// What comes to pass. What is left out does not matter.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Expectation {
    /// The object.
    pub of: String,
    /// Whether it is absent.
    pub gone: Option<bool>,
    /// Whether it is being deleted.
    pub deleting: Option<bool>,
    /// It is another object than the one of this noted uid.
    pub other_than: Option<String>,
    /// By type: status and reason, as `False/Deleting`.
    pub conditions: BTreeMap<String, String>,
    /// By type of the condition: a part of its message. `${name}` in it is a noted uid.
    pub messages: BTreeMap<String, String>,
    /// By JSON pointer: what is there; `null`: nothing.
    pub fields: BTreeMap<String, Value>,
    /// In so many seconds, where time is virtual.
    pub within: Option<u32>,
}

impl CompositionScenario {
    /// Reads one.
    ///
    /// # Errors
    /// A sentence on what is wrong with it.
    pub fn read(name: &str, text: &str) -> Result<Self, String> {
        let value: Value = serde_yaml_ng::from_str(text).map_err(|error| format!("{name}: {error}"))?;
        let mut scenario: Self = serde_json::from_value(value).map_err(|error| format!("{name}: {error}"))?;
        name.clone_into(&mut scenario.name);
        Ok(scenario)
    }

    /// Every scenario of the folder `tests/sim/composition-scenarios`, by name.
    ///
    /// # Errors
    /// The folder, or one of its files, cannot be read.
    pub fn all() -> Result<Vec<Self>, String> {
        read_folder("composition-scenarios", Self::read)
    }

    /// Those of which any write may fail: they do not ask how long something takes, as a fault takes time.
    ///
    /// # Errors
    /// The folder, or one of its files, cannot be read.
    pub fn explored() -> Result<Vec<Self>, String> {
        let is_timed = |step: &Step| matches!(step, Step::Expect(Expectation { within: Some(_), .. }));
        let mut all = Self::all()?;
        all.retain(|scenario| !scenario.steps.iter().any(is_timed));
        Ok(all)
    }

    /// The objects of a file of `composition-scenarios/definitions`.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn definition(name: &str) -> Result<Vec<Value>, String> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/composition-scenarios/definitions");
        let text = std::fs::read_to_string(format!("{folder}/{name}.yaml"));
        let text = text.map_err(|error| format!("{name}: {error}"))?;
        serde_yaml_ng::from_str(&text).map_err(|error| format!("{name}: {error}"))
    }
}
