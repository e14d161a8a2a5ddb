//! What a function answers.

use std::{collections::BTreeMap, time::Duration};

use super::{Resource, hidden::HiddenMap};

/// What is desired of a composite resource and of all that it composes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DesiredState {
    /// Its status, readiness and connection details; nothing else of it counts. `None`: the function passed on none.
    pub composite: Option<Resource>,
    /// Composed resources by their composition resource name. What is missing here is to be deleted.
    pub resources: BTreeMap<String, Resource>,
}

/// The response to one call.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunResponse {
    /// How long it stays good; `None` or zero: for ever.
    pub ttl: Option<Duration>,
    /// What is desired after this step.
    pub desired: DesiredState,
    /// In the function's order.
    pub results: Vec<RunResult>,
    /// For the steps after it.
    pub context: Option<HiddenMap>,
    /// What it wants to be shown.
    pub requirements: Requirements,
    /// In the function's order.
    pub conditions: Vec<Condition>,
    /// It was kept from a former call: the function was not called.
    pub kept: bool,
}

/// Whether a desired resource is ready, in the function's opinion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Readiness {
    /// No opinion.
    #[default]
    Unspecified,
    /// Ready.
    Ready,
    /// Not ready.
    NotReady,
}

/// How bad a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The run ends, and changes nothing.
    Fatal,
    /// An event of type Warning.
    Warning,
    /// An event of type Normal.
    Normal,
    /// One that this bridge does not know: it counts as a warning.
    Unknown,
}

/// Who sees a result or a condition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ResultTarget {
    /// The composite resource.
    #[default]
    Composite,
    /// Its claim too.
    CompositeAndClaim,
}

/// One result, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunResult {
    /// How bad it is.
    pub severity: Severity,
    /// What happened.
    pub message: String,
    /// Reason of its event; `None`: the default.
    pub reason: Option<String>,
    /// Who sees it.
    pub target: ResultTarget,
}

/// Value of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConditionStatus {
    /// `True`
    True,
    /// `False`
    False,
    /// `Unknown`, and whatever else a function sends.
    Unknown,
}

/// A condition that a function sets on the composite resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// Its type; those that are ours are ignored.
    pub type_: String,
    /// Its value.
    pub status: ConditionStatus,
    /// Why.
    pub reason: String,
    /// For people.
    pub message: Option<String>,
    /// Who sees it.
    pub target: ResultTarget,
}

/// What a function wants to be shown in its next call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Requirement -> which resources, by the deprecated name: they are shown as [`extra_resources`](super::RunRequest::extra_resources).
    pub extra_resources: BTreeMap<String, ResourceSelector>,
    /// Requirement -> which resources.
    pub resources: BTreeMap<String, ResourceSelector>,
    /// Requirement -> which schema.
    pub schemas: BTreeMap<String, SchemaSelector>,
}

impl Requirements {
    /// Nothing is required.
    pub fn is_empty(&self) -> bool {
        self.extra_resources.is_empty() && self.resources.is_empty() && self.schemas.is_empty()
    }
}

/// Which resources.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceSelector {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Which objects of the kind.
    pub matching: ResourceMatch,
    /// Where; `None`: cluster-scoped by name, in all namespaces by labels.
    pub namespace: Option<String>,
}

/// Which objects of a kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ResourceMatch {
    /// The one of this name.
    Name(String),
    /// Those with all these labels; empty: all.
    Labels(BTreeMap<String, String>),
}

/// Which schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaSelector {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
}
