//! What Observe can report.

use std::time::Duration;

use serde_json::Value;

use crate::{Document, Failure, Operation, Secrets, Violation, check, limits};

/// The answer to Observe, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum ObserveResult {
    /// It exists. Its external name is not empty.
    Found(Box<Observation>),
    /// The upstream said that there is no such resource.
    Absent(Absent),
    /// It could not be observed: whether it exists is unknown.
    Failed(Failure),
}

impl ObserveResult {
    /// Checks what was found, or why nothing was.
    ///
    /// # Errors
    /// The first field that breaks a rule.
    pub fn check(&self) -> Result<(), Violation> {
        match self {
            Self::Found(observation) => check::required(&observation.external_name, "external_name")
                .and_then(|()| observation.check())
                .map_err(|violation| violation.within("observation")),
            Self::Absent(absent) => check::name(&absent.external_name, "external_name")
                .map_err(|violation| violation.within("absent")),
            Self::Failed(failure) => failure.check().map_err(|violation| violation.within("failure")),
        }
    }
}

/// An external resource that exists, as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observation {
    /// The name under which it was found. Empty only within a completed outcome, whose own name counts.
    pub external_name: String,
    /// Globally unique id; empty: not reported.
    pub canonical_id: String,
    /// Replaces the recorded state, at most 4 KiB; empty keeps it.
    pub provider_state: String,
    /// Same shape as desired parameters, without sensitive values.
    pub parameters: Document,
    /// What the bridge copies to `status.atProvider`.
    pub status: Option<Document>,
    /// Whether others may use the resource now: condition `Ready`.
    pub ready: bool,
    /// Why not; empty: not reported.
    pub ready_message: String,
    /// Whether desired and observed state agree, where the plugin compares.
    pub up_to_date: Option<bool>,
    /// What differs, where the plugin compares.
    pub diffs: Vec<FieldDiff>,
    /// Keys and values for the connection Secret.
    pub connection_details: Secrets,
    /// Upstream version; empty: none.
    pub etag: String,
    /// Removal has begun upstream and goes on by itself.
    pub deleting: bool,
    /// An operation that the bridge may not know of.
    pub operation: Option<Operation>,
    /// Empty where the kind holds one: no owner has claimed it.
    pub found_marker: String,
    /// Observe again no sooner than this; at most an hour.
    pub observe_after: Option<Duration>,
    /// What is worth an event without being an error.
    pub warnings: Vec<Warning>,
}

impl Observation {
    /// Checks that it is of the resource of the name that was sent (perhaps none).
    ///
    /// # Errors
    /// It has another name.
    pub fn check_name(&self, sent_name: &str) -> Result<(), Violation> {
        check::same_name(&self.external_name, sent_name)
    }

    /// Checks sizes and forms, but not that there is a name. A found marker may be of any owner, and has no required form.
    ///
    /// # Errors
    /// The first field that breaks a rule.
    pub fn check(&self) -> Result<(), Violation> {
        check::name(&self.external_name, "external_name")?;
        check::name(&self.canonical_id, "canonical_id")?;
        check::name(&self.etag, "etag")?;
        check::name(&self.found_marker, "found_marker")?;
        check::at_most(&self.provider_state, check::STATE_LIMIT, "provider_state")?;
        check::document(&self.parameters, "parameters")?;
        if let Some(status) = &self.status {
            check::document(status, "status")?;
        }
        check::count(&self.diffs, limits::DIFFS, "diffs")?;
        check::each(&self.diffs, "diffs", FieldDiff::check)?;
        self.connection_details.check_connection_details()?;
        check::optional(self.operation.as_ref(), "operation", Operation::check)?;
        Warning::check_all(&self.warnings)
    }
}

/// The upstream said that there is no such resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Absent {
    /// The name that it would have; set where names are derived.
    pub external_name: String,
}

/// One difference between desired and observed state. Values of sensitive paths are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldDiff {
    /// JSON Pointer into the parameters.
    pub path: String,
    /// The desired value; `None`: left out.
    pub desired: Option<Value>,
    /// The observed value; `None`: absent or left out.
    pub observed: Option<Value>,
    /// Cannot be changed in place.
    pub needs_replacement: bool,
}

impl FieldDiff {
    fn check(&self) -> Result<(), Violation> {
        check::pointer(&self.path, "path")?;
        check::name(&self.path, "path")?;
        for (value, field) in [(&self.desired, "desired_json"), (&self.observed, "observed_json")] {
            if let Some(value) = value {
                check::shallow(value, field)?;
            }
        }
        Ok(())
    }
}

/// Not an error, worth an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// An event reason: `PascalCase`, stable within the plugin.
    pub reason: String,
    /// The event's note, for people.
    pub message: String,
}

impl Warning {
    /// Checks those of one answer.
    pub(crate) fn check_all(warnings: &[Self]) -> Result<(), Violation> {
        check::count(warnings, limits::WARNINGS, "warnings")?;
        check::each(warnings, "warnings", Self::check)
    }

    /// Checks that both texts are there and in form.
    ///
    /// # Errors
    /// The first field that breaks a rule.
    pub fn check(&self) -> Result<(), Violation> {
        check::pascal_case(&self.reason, "reason")?;
        check::required(&self.message, "message")
    }
}
