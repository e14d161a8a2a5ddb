//! What a step's input says the function does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The step's input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Program {
    /// An input is an object of Kubernetes' form; not looked at.
    pub api_version: String,
    /// As above.
    pub kind: String,
    /// Composition resource name -> what is desired under it, beside what the steps before desire.
    pub resources: BTreeMap<String, Entry>,
    /// Desired status of the composite resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Map<String, Value>>,
    /// Results of severity `Normal`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// A credential: the composite resource publishes what is in it, and a Secret with the same is composed under this name. Its values are put
    /// there as they are, so they must read as base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// For how long the response is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
}

/// One desired resource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// The fields that are desired.
    pub object: Value,
    /// Whether it is desired at all.
    #[serde(default)]
    pub when: Condition,
    /// Whether it is ready; none: the function has no opinion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Condition>,
}

/// A condition over what is observed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Condition {
    /// It holds.
    #[default]
    Always,
    /// It does not hold.
    Never,
    /// A composed resource of this name exists.
    Exists(String),
    /// A field has this value.
    Equals {
        /// Name of the composed resource; none: the composite.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<String>,
        /// JSON Pointer into the object.
        path: String,
        /// What is there; null: nothing is.
        value: Value,
    },
    /// A composed resource has a condition of this type, and it is true.
    IsTrue {
        /// Name of the composed resource.
        of: String,
        /// Type of its condition.
        condition: String,
    },
    /// The other does not hold.
    Not(Box<Condition>),
    /// All of them hold.
    All(Vec<Condition>),
    /// One of them holds.
    Any(Vec<Condition>),
}
