//! What a plugin answers to calls about a resource.

use std::collections::BTreeMap;

use bridge_core::external::{
    CallError, Config, DesiredState, Failure, Observation, ObserveResult, Outcome, OutcomeResult, Secrets,
};
use bridge_core::limits;
use bridge_plugin::{
    answer,
    secrets::{SHORTEST_PART, SentSecrets, Texts},
};
use crossbridge_proto::v1alpha1 as wire;
use serde_json::Value;

use super::same;
use crate::{Broken, Target, Verdict, ensure, json, target::rejected};

const WORDS: &[&str] = &[
    "observation",
    "absent",
    "failure",
    "operation",
    "completed",
    "externalName",
    "handle",
    "json",
    "{}",
    "warnings",
    "connectionDetails",
    "NOT_FOUND",
    "THROTTLED",
    "UNAUTHENTICATED",
    "EFFECT_NONE",
    "TRISTATE_TRUE",
    "observeAfter",
    "3.5s",
    "-1s",
    "c2VjcmV0",
];

/// An answer to `Observe`.
pub(super) const OBSERVATION: Target = Target {
    name: "observation",
    about: "ObserveResponse: what is accepted converts back, and its names, texts, warnings and documents are within their limits",
    words: WORDS,
    judge: |input| {
        let Some(answer) = json::of_plugin::<wire::ObserveResponse>("ObserveResponse", input) else {
            return Ok("no message".to_owned());
        };
        let result = match answer::observed(answer, "", None, || {}) {
            Ok(result) => result,
            Err(violation) => return rejected(&violation.to_string()),
        };
        within_limits(&mut result.clone())?;
        let again = ObserveResult::try_from(wire::ObserveResponse::from(result.clone()));
        same("the answer", &Some(result.clone()), &again.ok())?;
        Ok(match result {
            ObserveResult::Found(found) => {
                observation(&found)?;
                format!(
                    "found: {} {:?} {}",
                    found.ready,
                    found.up_to_date,
                    found.operation.is_some()
                )
            }
            ObserveResult::Absent(absent) => {
                name("external_name", &absent.external_name)?;
                "absent".to_owned()
            }
            ObserveResult::Failed(failure) => failed(&failure)?,
        })
    },
};

/// An answer to a call that changes something.
pub(super) const OUTCOME: Target = Target {
    name: "outcome",
    about: "Outcome of Create, Update, Delete and PollOperation: likewise",
    words: WORDS,
    judge: |input| {
        let Some(answer) = json::of_plugin::<wire::Outcome>("Outcome", input) else {
            return Ok("no message".to_owned());
        };
        let outcome = match Outcome::try_from(answer) {
            Ok(outcome) => outcome,
            Err(violation) => return rejected(&violation.to_string()),
        };
        within_limits(&mut outcome.clone())?;
        for (field, text) in [
            ("external_name", &outcome.external_name),
            ("canonical_id", &outcome.canonical_id),
        ] {
            name(field, text)?;
        }
        details(&outcome.connection_details)?;
        ensure(outcome.warnings.len() <= limits::WARNINGS, || {
            format!("{} warnings", outcome.warnings.len())
        })?;
        let again = Outcome::try_from(wire::Outcome::from(outcome.clone()));
        same("the outcome", &Some(outcome.clone()), &again.ok())?;
        Ok(match &outcome.result {
            OutcomeResult::Completed(completed) => {
                completed.observation.as_ref().map_or(Ok(()), observation)?;
                format!(
                    "completed: {} {}",
                    completed.already_done,
                    completed.observation.is_some()
                )
            }
            OutcomeResult::Operation(operation) => {
                ensure(operation.handle.len() <= 4 << 10, || {
                    format!("a handle of {} bytes", operation.handle.len())
                })?;
                format!("operation: {:?}", operation.verb)
            }
            OutcomeResult::Failure(failure) => failed(failure)?,
        })
    },
};

/// An answer to `CheckConfig`.
pub(super) const CONFIG_CHECK: Target = Target {
    name: "config-check",
    about: "CheckConfigResponse: an identity or a failure, within their limits",
    words: WORDS,
    judge: |input| {
        let Some(answer) = json::of_plugin::<wire::CheckConfigResponse>("CheckConfigResponse", input) else {
            return Ok("no message".to_owned());
        };
        match answer::config_checked(answer) {
            Ok(mut checked) => {
                within_limits(&mut checked)?;
                match checked {
                    Ok(_) => Ok("usable".to_owned()),
                    Err(failure) => failed(&failure),
                }
            }
            Err(violation) => rejected(&violation.to_string()),
        }
    },
};

/// Texts with secrets in them, as JSON: `{"secret": …, "text": …}`.
pub(super) const SECRETS: Target = Target {
    name: "secrets-in-texts",
    about: "a text that quotes a value that was sent: the value stands in no text that leaves, whatever surrounds it",
    words: &[
        "secret",
        "text",
        "s3cr3t-value",
        "czNjcjN0LXZhbHVl",
        "s3cr3t%2Dvalue",
        "[redacted]",
        "s3cr3t",
    ],
    judge: |input| {
        let value: Value = serde_json::from_slice(input).unwrap_or_default();
        let (Some(secret), Some(text)) = (value["secret"].as_str(), value["text"].as_str()) else {
            return Ok("no secret and text".to_owned());
        };
        let (config, desired) = (config(secret), desired(secret));
        let sent = SentSecrets::of(&config, Some(&desired));
        let error = CallError::Unknown {
            code: "INTERNAL".to_owned(),
            message: text.to_owned(),
        };
        let CallError::Unknown { message, .. } = sent.hide_in_error(error) else {
            return Err(Broken("it is another error".to_owned()));
        };
        let published = Observation {
            status: Some(serde_json::Map::from_iter([(
                "field".to_owned(),
                Value::from(text),
            )])),
            ..Observation::default()
        };
        let hidden = sent.hide_in_answer(ObserveResult::Found(Box::new(published)));
        let ObserveResult::Found(found) = hidden else {
            return Err(Broken("it is another answer".to_owned()));
        };
        let status = found
            .status
            .as_ref()
            .and_then(|status| status["field"].as_str())
            .unwrap_or_default();
        // A secret that is a part of what stands in its place cannot be told from that.
        let is_hidden = secret.len() >= 6 && !"[redacted]".contains(secret) && !secret.contains(['[', ']']);
        // Of a status a short one may be a part.
        let stands = [
            (message.as_str(), message.contains(secret)),
            (
                status,
                status == secret || status.contains(secret) && secret.len() >= SHORTEST_PART,
            ),
        ];
        for (left, stands) in stands {
            ensure(!is_hidden || !stands, || format!("{secret:?} stands in {left:?}"))?;
            ensure(left.len() <= text.len() * 2 + 16, || {
                format!("the text grew to {} bytes", left.len())
            })?;
        }
        Ok(format!("hidden: {}", message != text))
    },
};

fn failed(failure: &Failure) -> Verdict {
    ensure(failure.check().is_ok(), || {
        format!("its own check rejects {failure:?}")
    })?;
    ensure(failure.violations.len() <= limits::VIOLATIONS, || {
        format!("{} violations", failure.violations.len())
    })?;
    Ok(format!("failure: {:?} {:?}", failure.code, failure.effect))
}

fn observation(observation: &Observation) -> Result<(), Broken> {
    for (field, text) in [
        ("external_name", &observation.external_name),
        ("canonical_id", &observation.canonical_id),
        ("etag", &observation.etag),
        ("found_marker", &observation.found_marker),
    ] {
        name(field, text)?;
    }
    details(&observation.connection_details)?;
    ensure(observation.provider_state.len() <= 4 << 10, || {
        format!("a state of {} bytes", observation.provider_state.len())
    })?;
    ensure(observation.warnings.len() <= limits::WARNINGS, || {
        format!("{} warnings", observation.warnings.len())
    })?;
    ensure(observation.diffs.len() <= limits::DIFFS, || {
        format!("{} diffs", observation.diffs.len())
    })?;
    observation
        .diffs
        .iter()
        .try_for_each(|diff| name("diffs[].path", &diff.path))?;
    let parameters = depth(&Value::Object(observation.parameters.clone()));
    ensure(parameters <= limits::DEPTH + 1, || {
        format!("parameters {parameters} deep")
    })
}

fn name(field: &str, text: &str) -> Result<(), Broken> {
    ensure(
        text.len() <= limits::NAME && !text.contains(char::is_control),
        || format!("{field} is {text:?}"),
    )
}

fn details(details: &Secrets) -> Result<(), Broken> {
    let bytes: usize = details
        .0
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    ensure(bytes <= limits::CONNECTION_DETAILS, || {
        format!("connection details of {bytes} bytes")
    })
}

/// No text for people is longer than the contract lets it be, with the dots that say that it was cut.
fn within_limits(answer: &mut impl Texts) -> Result<(), Broken> {
    let mut broken = None;
    answer.each_text(&mut |text| {
        if text.len() > limits::TEXT + 8 {
            broken = Some(Broken(format!("a text of {} bytes", text.len())));
        }
    });
    broken.map_or(Ok(()), Err)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

fn config(secret: &str) -> Config {
    Config {
        id: "id".to_owned(),
        revision: "1".to_owned(),
        settings_digest: String::new(),
        identity: String::new(),
        settings: None,
        credentials: Secrets(BTreeMap::from([("key".to_owned(), secret.as_bytes().to_vec())])),
        credentials_expire: None,
    }
}

fn desired(secret: &str) -> DesiredState {
    DesiredState {
        sensitive: Secrets(BTreeMap::from([("/key".to_owned(), secret.as_bytes().to_vec())])),
        ..DesiredState::default()
    }
}
