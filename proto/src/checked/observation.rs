//! What a look can find.

use std::time::Duration;

use serde_json::Value;

use super::{Document, Failure, Operation, Rule, Secrets, Violation, document, nested, text};
use crate::v1alpha1::{self as wire, observe_response};

/// The answer to a look, or why there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum Look {
    /// It exists. Its external name is not empty.
    Found(Box<Observation>),
    /// The upstream said that there is no such resource.
    Absent(Absent),
    /// The look failed: nobody knows.
    Failed(Failure),
}

impl Look {
    /// Checks what was found, or why nothing was.
    pub fn check(&self) -> Result<(), Violation> {
        match self {
            Self::Found(observation) => text::required(&observation.external_name, "external_name")
                .and_then(|()| observation.check())
                .map_err(|violation| violation.within("observation")),
            Self::Absent(_) => Ok(()),
            Self::Failed(failure) => failure.check().map_err(|violation| violation.within("failure")),
        }
    }
}

impl TryFrom<wire::ObserveResponse> for Look {
    type Error = Violation;

    fn try_from(wire: wire::ObserveResponse) -> Result<Self, Violation> {
        use observe_response::Result as Wire;
        let look = match wire.result {
            None => return Err(Violation::new("result", Rule::Required)),
            Some(Wire::Observation(observation)) => {
                Self::Found(Box::new(nested::required(Some(observation), "observation")?))
            }
            Some(Wire::Absent(absent)) => Self::Absent(Absent {
                external_name: absent.external_name,
            }),
            Some(Wire::Failure(failure)) => Self::Failed(nested::required(Some(failure), "failure")?),
        };
        look.check()?;
        Ok(look)
    }
}

impl From<Look> for wire::ObserveResponse {
    fn from(look: Look) -> Self {
        use observe_response::Result as Wire;
        Self {
            result: Some(match look {
                Look::Found(observation) => Wire::Observation((*observation).into()),
                Look::Absent(absent) => Wire::Absent(wire::Absent {
                    external_name: absent.external_name,
                }),
                Look::Failed(failure) => Wire::Failure(failure.into()),
            }),
        }
    }
}

/// The upstream said that there is no such resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Absent {
    /// The name that it would have; set where names are derived.
    pub external_name: String,
}

/// An external resource that exists, as it is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observation {
    /// The name under which it was found. Empty only within a completed outcome, whose own name counts.
    pub external_name: String,
    /// Globally unique id; empty: not told.
    pub canonical_id: String,
    /// Replaces the recorded state, at most 4 KiB; empty keeps it.
    pub provider_state: String,
    /// Same shape as desired parameters, without sensitive values.
    pub parameters: Document,
    /// Goes to `status.atProvider`.
    pub status: Option<Document>,
    /// Usable by others.
    pub ready: bool,
    /// Why not; empty: not told.
    pub ready_message: String,
    /// Whether wish and fact agree, where the plugin compares.
    pub up_to_date: Option<bool>,
    /// What differs, where the plugin compares.
    pub diffs: Vec<FieldDiff>,
    /// For the connection Secret.
    pub connection_details: Secrets,
    /// Upstream version; empty: none.
    pub etag: String,
    /// Removal has begun upstream and goes on by itself.
    pub deleting: bool,
    /// An operation that was found running.
    pub operation: Option<Operation>,
    /// Empty where the kind holds one: nobody has claimed it.
    pub found_marker: String,
    /// Look again no sooner than this.
    pub observe_after: Option<Duration>,
    /// Worth an event.
    pub warnings: Vec<Warning>,
}

impl Observation {
    /// Checks sizes and forms, but not that there is a name. A found marker may be anybody's, and has no form.
    pub fn check(&self) -> Result<(), Violation> {
        text::at_most(&self.provider_state, text::STATE_LIMIT, "provider_state")?;
        nested::check_each(&self.diffs, "diffs", |diff| text::pointer(&diff.path, "path"))?;
        check_connection_details(&self.connection_details)?;
        nested::check_optional(self.operation.as_ref(), "operation", Operation::check)?;
        nested::check_each(&self.warnings, "warnings", Warning::check)
    }
}

/// The keys become keys of a Secret.
pub(super) fn check_connection_details(details: &Secrets) -> Result<(), Violation> {
    details
        .0
        .keys()
        .try_for_each(|key| text::secret_key(key, &format!("connection_details[{key:?}]")))
}

impl TryFrom<wire::Observation> for Observation {
    type Error = Violation;

    fn try_from(wire: wire::Observation) -> Result<Self, Violation> {
        let observation = Self {
            up_to_date: match wire.up_to_date() {
                wire::Tristate::Unspecified => None,
                wire::Tristate::True => Some(true),
                wire::Tristate::False => Some(false),
            },
            external_name: wire.external_name,
            canonical_id: wire.canonical_id,
            provider_state: wire.provider_state,
            parameters: document::required(wire.parameters, "parameters")?,
            status: document::optional(wire.status, "status")?,
            ready: wire.ready,
            ready_message: wire.ready_message,
            diffs: nested::each(wire.diffs, "diffs")?,
            connection_details: wire.connection_details.into(),
            etag: wire.etag,
            deleting: wire.deleting,
            operation: nested::optional(wire.operation, "operation")?,
            found_marker: wire.found_marker,
            observe_after: text::advice(wire.observe_after, "observe_after")?,
            warnings: nested::each(wire.warnings, "warnings")?,
        };
        observation.check()?;
        Ok(observation)
    }
}

impl From<Observation> for wire::Observation {
    fn from(observation: Observation) -> Self {
        let up_to_date = match observation.up_to_date {
            None => wire::Tristate::Unspecified,
            Some(true) => wire::Tristate::True,
            Some(false) => wire::Tristate::False,
        };
        Self {
            external_name: observation.external_name,
            canonical_id: observation.canonical_id,
            provider_state: observation.provider_state,
            parameters: Some(wire::Document::of(observation.parameters)),
            status: observation.status.map(wire::Document::of),
            ready: observation.ready,
            ready_message: observation.ready_message,
            up_to_date: up_to_date.into(),
            diffs: observation.diffs.into_iter().map(Into::into).collect(),
            connection_details: observation.connection_details.into(),
            etag: observation.etag,
            deleting: observation.deleting,
            operation: observation.operation.map(Into::into),
            found_marker: observation.found_marker,
            observe_after: text::wire_duration(observation.observe_after),
            warnings: observation.warnings.into_iter().map(Into::into).collect(),
        }
    }
}

/// One difference between wish and fact. Values of sensitive paths are left out.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldDiff {
    /// JSON Pointer into the parameters.
    pub path: String,
    /// What is wished; `None`: left out.
    pub desired: Option<Value>,
    /// What is; `None`: absent or left out.
    pub observed: Option<Value>,
    /// Cannot be changed in place.
    pub needs_replacement: bool,
}

impl TryFrom<wire::FieldDiff> for FieldDiff {
    type Error = Violation;

    fn try_from(wire: wire::FieldDiff) -> Result<Self, Violation> {
        Ok(Self {
            path: wire.path,
            desired: json_text(&wire.desired_json, "desired_json")?,
            observed: json_text(&wire.observed_json, "observed_json")?,
            needs_replacement: wire.needs_replacement,
        })
    }
}

fn json_text(text: &str, field: &str) -> Result<Option<Value>, Violation> {
    if text.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(text)
        .map(Some)
        .map_err(|_| Violation::new(field, Rule::Malformed { form: "JSON text" }))
}

impl From<FieldDiff> for wire::FieldDiff {
    fn from(diff: FieldDiff) -> Self {
        let text = |value: Option<Value>| value.map(|value| value.to_string()).unwrap_or_default();
        Self {
            path: diff.path,
            desired_json: text(diff.desired),
            observed_json: text(diff.observed),
            needs_replacement: diff.needs_replacement,
        }
    }
}

/// Not an error, worth an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// `PascalCase`, stable.
    pub reason: String,
    /// For people.
    pub message: String,
}

impl Warning {
    /// Checks that both texts are there and in form.
    pub fn check(&self) -> Result<(), Violation> {
        text::pascal_case(&self.reason, "reason")?;
        text::required(&self.message, "message")
    }
}

impl TryFrom<wire::Warning> for Warning {
    type Error = Violation;

    fn try_from(wire: wire::Warning) -> Result<Self, Violation> {
        Ok(Self {
            reason: wire.reason,
            message: wire.message,
        })
    }
}

impl From<Warning> for wire::Warning {
    fn from(warning: Warning) -> Self {
        Self {
            reason: warning.reason,
            message: warning.message,
        }
    }
}
