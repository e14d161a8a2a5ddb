//! How the plugin puts its answers.

use std::collections::BTreeMap;

use bridge_core::{
    external::{
        Completed, Effect, Failure, FailureCode, Observation, Operation, OperationVerb, Outcome,
        OutcomeResult, Secrets,
    },
    rule::Rule,
};
use jiff::Timestamp;
use serde_json::json;

use super::{External, State};

/// As it looks.
pub fn observation(one: &External, now: Timestamp) -> Observation {
    let ready = matches!(one.state, State::Ready | State::Disabled);
    Observation {
        external_name: one.name.clone(),
        canonical_id: format!("id-{}", one.id.0),
        provider_state: String::new(),
        parameters: one.parameters.clone(),
        status: json!({"id": format!("id-{}", one.id.0)}).as_object().cloned(),
        ready,
        ready_message: if ready {
            String::new()
        } else {
            "not yet".to_owned()
        },
        up_to_date: None,
        diffs: Vec::new(),
        connection_details: secrets(&[("endpoint", &one.name)]),
        etag: String::new(),
        deleting: matches!(one.state, State::Deleting(_))
            || Rule::DrivenRemovalIsNotDeleting.is_off() && one.state == State::Disabled,
        operation: None,
        found_marker: if one.marker_visible <= now {
            one.marker.clone()
        } else {
            String::new()
        },
        observe_after: None,
        warnings: Vec::new(),
    }
}

/// Values by key.
pub fn secrets(pairs: &[(&str, &str)]) -> Secrets {
    let pairs = pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
    Secrets(pairs.collect::<BTreeMap<_, _>>())
}

pub fn outcome(name: &str, result: OutcomeResult) -> Outcome {
    Outcome {
        external_name: name.to_owned(),
        canonical_id: String::new(),
        provider_state: String::new(),
        connection_details: Secrets::default(),
        warnings: Vec::new(),
        result,
    }
}

/// What the observation leaves empty, the outcome tells.
pub fn completed(name: &str, observation: Option<Observation>, already_done: bool) -> Outcome {
    let mut observation = observation;
    let canonical_id = observation
        .as_mut()
        .map(|observation| std::mem::take(&mut observation.canonical_id));
    let completed = Completed {
        observation,
        already_done,
    };
    Outcome {
        canonical_id: canonical_id.unwrap_or_default(),
        ..outcome(name, OutcomeResult::Completed(Box::new(completed)))
    }
}

pub fn failed(name: &str, code: FailureCode, effect: Effect) -> Outcome {
    outcome(name, OutcomeResult::Failure(failure(code, effect)))
}

pub fn failure(code: FailureCode, effect: Effect) -> Failure {
    Failure {
        code,
        effect,
        reason: format!("{code:?}"),
        message: "the cloud said no".to_owned(),
        retry_after: None,
        violations: Vec::new(),
        upstream_code: String::new(),
        upstream_request_id: String::new(),
        existing_external_name: String::new(),
    }
}

pub fn operation(handle: &str, verb: OperationVerb, poll_driven: bool) -> Operation {
    Operation {
        handle: handle.to_owned(),
        verb,
        expire_time: None,
        poll_after: Some(std::time::Duration::from_secs(11)),
        progress_percent: None,
        phase: String::new(),
        message: String::new(),
        poll_driven,
        upstream_operation_id: String::new(),
    }
}
