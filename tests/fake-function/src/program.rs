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
    /// Results of any severity, after the messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ResultEntry>,
    /// Conditions of the composite resource.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionEntry>,
    /// Requirement -> which objects.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requires: BTreeMap<String, RequiredEntry>,
    /// Requirement -> which schema.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub requires_schemas: BTreeMap<String, KindEntry>,
    /// What the steps after it find in the context, beside what the steps before left.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// The desired status says under `shown` what the function was shown: `namespace/name` of each required object, which schemas are known, and the
    /// keys of connection details.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reports_shown: bool,
    /// For how long the response is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_seconds: Option<u64>,
}

/// One result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResultEntry {
    /// How bad it is.
    #[serde(default)]
    pub severity: SeverityEntry,
    /// For people.
    pub message: String,
    /// Reason of its event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The claim sees it, too.
    #[serde(default)]
    pub on_claim: bool,
    /// Whether there is this result at all.
    #[serde(default, skip_serializing_if = "Condition::is_always")]
    pub when: Condition,
}

/// How bad a result is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SeverityEntry {
    /// The run ends.
    Fatal,
    /// A warning.
    Warning,
    /// News.
    #[default]
    Normal,
    /// None.
    Unspecified,
}

/// One condition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConditionEntry {
    /// Its type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False`, or anything else.
    pub status: String,
    /// Why.
    pub reason: String,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The claim sees it, too.
    #[serde(default)]
    pub on_claim: bool,
}

/// Which objects are required. Neither a name nor labels: all of the kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RequiredEntry {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// The one of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_name: Option<String>,
    /// Those with these labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// A kind.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KindEntry {
    /// Group and version.
    pub api_version: String,
    /// Its name.
    pub kind: String,
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
    /// JSON pointer into the object, whose parent is there -> what is put there of required objects.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub copies: BTreeMap<String, CopyEntry>,
}

/// Texts of required objects, in their order, with commas between them.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CopyEntry {
    /// The requirement.
    pub of: String,
    /// JSON pointer into each of its objects.
    pub path: String,
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
    /// An object was shown for the requirement of this name.
    Required(String),
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

impl Condition {
    fn is_always(&self) -> bool {
        *self == Self::Always
    }
}
