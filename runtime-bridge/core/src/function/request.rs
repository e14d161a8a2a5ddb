//! What a function is asked.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use super::{
    DesiredState, Resource,
    hidden::{HiddenMap, SecretData},
};

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
