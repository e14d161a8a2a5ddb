//! What Observe can report.

use crossbridge_types::{
    Absent, FieldDiff, Observation, ObserveResult, Rule, Secrets, Violation, Warning, check, limits,
};
use serde_json::Value;

use super::{document, nested, scalar};
use crate::v1alpha1::{self as wire, observe_response};

impl TryFrom<wire::ObserveResponse> for ObserveResult {
    type Error = Violation;

    fn try_from(wire: wire::ObserveResponse) -> Result<Self, Violation> {
        use observe_response::Result as Wire;
        let result = match wire.result {
            None => return Err(Violation::new("result", Rule::Required)),
            Some(Wire::Observation(observation)) => {
                Self::Found(Box::new(nested::required(Some(observation), "observation")?))
            }
            Some(Wire::Absent(absent)) => Self::Absent(Absent {
                external_name: absent.external_name,
            }),
            Some(Wire::Failure(failure)) => Self::Failed(nested::required(Some(failure), "failure")?),
        };
        result.check()?;
        Ok(result)
    }
}

impl From<ObserveResult> for wire::ObserveResponse {
    fn from(result: ObserveResult) -> Self {
        use observe_response::Result as Wire;
        Self {
            result: Some(match result {
                ObserveResult::Found(observation) => Wire::Observation((*observation).into()),
                ObserveResult::Absent(absent) => Wire::Absent(wire::Absent {
                    external_name: absent.external_name,
                }),
                ObserveResult::Failed(failure) => Wire::Failure(failure.into()),
            }),
        }
    }
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
            ready_message: limits::cut(wire.ready_message),
            diffs: diffs(wire.diffs)?,
            connection_details: Secrets(wire.connection_details.into_iter().collect()),
            etag: wire.etag,
            deleting: wire.deleting,
            operation: nested::optional(wire.operation, "operation")?,
            found_marker: wire.found_marker,
            observe_after: scalar::advice(wire.observe_after, "observe_after")?,
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
            connection_details: observation.connection_details.0.into_iter().collect(),
            etag: observation.etag,
            deleting: observation.deleting,
            operation: observation.operation.map(Into::into),
            found_marker: observation.found_marker,
            observe_after: scalar::wire_duration(observation.observe_after),
            warnings: observation.warnings.into_iter().map(Into::into).collect(),
        }
    }
}

/// Counted before any is parsed: each value takes many times the room of its text.
fn diffs(wire: Vec<wire::FieldDiff>) -> Result<Vec<FieldDiff>, Violation> {
    check::count(&wire, limits::DIFFS, "diffs")?;
    let (mut count, limit) = (0, limits::VALUES);
    for (index, diff) in wire.iter().enumerate() {
        count += limits::values_in(&diff.desired_json) + limits::values_in(&diff.observed_json);
        if count > limit {
            let field = format!("diffs[0..={index}]");
            return Err(Violation::new(field, Rule::TooMany { count, limit }));
        }
    }
    nested::each(wire, "diffs")
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
    check::json_text(text, field)?;
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

impl TryFrom<wire::Warning> for Warning {
    type Error = Violation;

    fn try_from(wire: wire::Warning) -> Result<Self, Violation> {
        Ok(Self {
            reason: wire.reason,
            message: limits::cut(wire.message),
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
