//! What a function is asked.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde_json::{Map, Value};

use super::{DesiredState, Resource};

/// What a Secret holds: name -> bytes. Its `Debug` shows neither.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct SecretData(pub BTreeMap<String, Vec<u8>>);

impl SecretData {
    /// Nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for SecretData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} redacted]", self.0.len())
    }
}

/// What exists, as all steps of one run see it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// The composite resource.
    pub composite: Resource,
    /// Composed resources by their composition resource name.
    pub resources: BTreeMap<String, Resource>,
}

/// One call of a function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunRequest {
    /// The same for all calls of one run: a client encodes it once.
    pub observed: Arc<Observed>,
    /// What the steps before desire.
    pub desired: DesiredState,
    /// The step's input, as the composition has it.
    pub input: Option<Value>,
    /// What the steps before left for this one. Not shown: it may hold anything.
    pub context: Option<HiddenMap>,
    /// Credential -> data of the Secret that the composition names.
    pub credentials: BTreeMap<String, SecretData>,
    /// What satisfies those that are required by the deprecated name.
    pub extra_resources: BTreeMap<String, Vec<Resource>>,
    /// Requirement -> what satisfies it; empty: looked for, and nothing found.
    pub required_resources: BTreeMap<String, Vec<Resource>>,
    /// Requirement -> the schema; `None`: looked for, and the kind is not known.
    pub required_schemas: BTreeMap<String, Option<Value>>,
}

/// A JSON object whose `Debug` shows its names only.
#[derive(Clone, Default, PartialEq)]
pub struct HiddenMap(pub Map<String, Value>);

impl fmt::Debug for HiddenMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
