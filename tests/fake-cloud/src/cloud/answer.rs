//! How the plugin puts its answers.

use std::{collections::BTreeMap, time::Duration};

use crossbridge_types::{
    Completed, Effect, Failure, FailureCode, Observation, Operation, OperationVerb, Outcome, OutcomeResult,
    Secrets,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{External, State, no_secrets};

/// The observation of a resource, as the plugin would answer it.
pub(super) fn observation(one: &External, holds_marker: bool, untidy: bool) -> Observation {
    let ready = matches!(one.state, State::Ready | State::Disabled);
    Observation {
        external_name: one.name.clone(),
        canonical_id: format!("id-{}", one.id),
        parameters: one.parameters.clone(),
        status: if untidy {
            untidy_status(one).as_object().cloned()
        } else {
            json!({"id": one.id}).as_object().cloned()
        },
        ready,
        ready_message: if ready { "" } else { "not yet" }.to_owned(),
        connection_details: Secrets(BTreeMap::from([(
            "endpoint".to_owned(),
            one.name.clone().into_bytes(),
        )])),
        etag: one.revision.to_string(),
        deleting: matches!(one.state, State::Deleting(_)),
        found_marker: if holds_marker {
            one.marker.clone()
        } else {
            String::new()
        },
        ..Observation::default()
    }
}

/// A status that no API server stores as it is sent:
/// [`Profile::untidy_status`](super::Profile::untidy_status).
#[allow(clippy::cast_precision_loss)] // There are few.
fn untidy_status(one: &External) -> Value {
    json!({
        "id": one.id as f64,
        "ratio": f64::from(one.revision),
        "note": null,
        "maybe": null,
        "colour": null,
        "undeclared": {"since": one.id, "by": null},
        "parts": [{"size": 1.0, "undeclared": true}],
        "free": {"load": 2.0, "peak": 2.5, "none": null},
    })
}

pub(super) fn outcome(name: &str, result: OutcomeResult) -> Outcome {
    Outcome {
        external_name: name.to_owned(),
        canonical_id: String::new(),
        provider_state: String::new(),
        connection_details: no_secrets(),
        warnings: Vec::new(),
        result,
    }
}

pub(super) fn completed(name: &str, observation: Option<Observation>, already_done: bool) -> Outcome {
    let result = OutcomeResult::Completed(Box::new(Completed {
        observation,
        already_done,
    }));
    outcome(name, result)
}

pub(super) fn operation(handle: &str, verb: OperationVerb, poll_driven: bool) -> OutcomeResult {
    OutcomeResult::Operation(Operation {
        handle: handle.to_owned(),
        verb,
        expire_time: None,
        poll_after: Some(Duration::from_secs(1)),
        progress_percent: None,
        phase: String::new(),
        message: String::new(),
        poll_driven,
        upstream_operation_id: String::new(),
    })
}

pub(super) fn failed(name: &str, code: FailureCode, effect: Effect) -> Outcome {
    outcome(name, OutcomeResult::Failure(failure(code, effect)))
}

pub(super) fn failure(code: FailureCode, effect: Effect) -> Failure {
    Failure {
        code,
        effect,
        reason: format!("{code:?}"),
        message: format!("the cloud said {code:?}"),
        retry_after: None,
        violations: Vec::new(),
        upstream_code: String::new(),
        upstream_request_id: String::new(),
        existing_external_name: String::new(),
    }
}

/// The time after a wait, capped at the latest timestamp.
pub(super) fn after(now: Timestamp, wait: Duration) -> Timestamp {
    now.checked_add(wait).unwrap_or(Timestamp::MAX)
}
