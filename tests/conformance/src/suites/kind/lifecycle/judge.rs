//! Judgements on what a lifecycle showed. Pure.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{
    DiffMode, Document, Effect, FailureCode, Kind, Observation, ObserveResult, Outcome, OutcomeResult,
};
use serde_json::Value;
use tonic::{Code, Status};

use crate::{
    client::describe,
    comparison,
    kind_context::CallTrace,
    schema,
    spelling::spell,
    verdict::{Judgement, holds},
};

pub(super) fn named(trace: &CallTrace, given: &str) -> Judgement {
    let is_reported = trace
        .responses
        .iter()
        .any(|outcome| !outcome_name(outcome).is_empty());
    holds(is_reported || !given.is_empty(), || {
        "Create was complete and no answer reported its name".to_owned()
    })
}

/// The name of an outcome, or of its observation.
fn outcome_name(outcome: &Outcome) -> &str {
    match &outcome.result {
        OutcomeResult::Completed(completed) if outcome.external_name.is_empty() => completed
            .observation
            .as_ref()
            .map_or("", |observation| observation.external_name.as_str()),
        _ => &outcome.external_name,
    }
}

pub(super) fn name_reported_when_known(trace: &CallTrace, name: &str) -> Judgement {
    trace
        .responses
        .iter()
        .try_for_each(|outcome| match &outcome.result {
            OutcomeResult::Operation(operation) if outcome.external_name.is_empty() && !name.is_empty() => {
                let knows = operation.handle.contains(name)
                    || operation.message.contains(name)
                    || outcome.provider_state.contains(name);
                holds(!knows, || {
                    format!("the operation knows the name {name:?}, and its outcome has no external_name")
                })
            }
            _ => Ok(()),
        })
}

pub(crate) fn exists(seen: Option<&Observation>) -> Judgement {
    holds(seen.is_some(), || "what was created reads as absent".to_owned())
}

pub(super) fn progress_monotonic(trace: &CallTrace) -> Judgement {
    let mut highest = 0;
    for outcome in &trace.responses {
        let OutcomeResult::Operation(operation) = &outcome.result else {
            continue;
        };
        if let Some(percent) = operation.progress_percent {
            holds(percent >= highest, || {
                format!("it fell from {highest} to {percent} percent")
            })?;
            highest = percent;
        }
    }
    Ok(())
}

pub(super) fn handle_stable(trace: &CallTrace) -> Judgement {
    let mut before = None;
    for outcome in &trace.responses {
        let OutcomeResult::Operation(operation) = &outcome.result else {
            continue;
        };
        let step = (
            &operation.phase,
            operation.progress_percent,
            operation.poll_driven,
        );
        if let Some((handle, earlier)) = before.replace((&operation.handle, step)) {
            holds(*handle == operation.handle || earlier != step, || {
                "the handle changed from one poll to the next, and nothing else did".to_owned()
            })?;
        }
    }
    Ok(())
}

/// A plugin without operations may leave the method unimplemented.
pub(super) fn unknown_handle_rejected(
    response: Result<wire::PollOperationResponse, Status>,
    hands_out: bool,
) -> Judgement {
    match response {
        Err(status) if status.code() == Code::InvalidArgument => Ok(()),
        Err(status) if status.code() == Code::Unimplemented && !hands_out => Ok(()),
        Err(status) => Err(format!("expected INVALID_ARGUMENT, got {}", describe(&status))),
        Ok(_) => Err("expected INVALID_ARGUMENT, got an answer to the poll".to_owned()),
    }
}

/// A handle that is still known. Only `OPERATION_FAILED` speaks of the operation; what else fails is the poll.
pub(crate) fn handle_accepted(response: &Result<wire::PollOperationResponse, Status>) -> Judgement {
    match response {
        Err(status) => Err(format!("the poll ended in {}", describe(status))),
        Ok(response) => match response
            .outcome
            .as_ref()
            .and_then(|outcome| outcome.result.as_ref())
        {
            Some(wire::outcome::Result::Failure(failure))
                if failure.code() != wire::FailureCode::OperationFailed =>
            {
                Err(format!(
                    "the poll failed: {} {}: {}",
                    failure.code().as_str_name(),
                    failure.reason,
                    failure.message
                ))
            }
            _ => Ok(()),
        },
    }
}

/// A handle of another's operation: not this resource's, or not under this marker.
pub(super) fn not_shown(response: Result<wire::PollOperationResponse, Status>) -> Judgement {
    match response {
        Err(status) if status.code() == Code::InvalidArgument => Ok(()),
        Err(status) => Err(format!("expected INVALID_ARGUMENT, got {}", describe(&status))),
        Ok(response) => {
            is_not_found(&response).map_err(|seen| format!("expected INVALID_ARGUMENT, got {seen}"))
        }
    }
}

/// A poll of a resource that is absent for its caller.
pub(super) fn is_not_found(response: &wire::PollOperationResponse) -> Judgement {
    match response
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.result.as_ref())
    {
        Some(wire::outcome::Result::Failure(failure)) => {
            holds(failure.code() == wire::FailureCode::NotFound, || {
                format!("it reports {}", failure.code().as_str_name())
            })
        }
        _ => Err("the poll was answered".to_owned()),
    }
}

/// A further poll of what has ended. An observation may be newer, and keys are given once.
pub(crate) fn same_terminal_response(
    trace: &CallTrace,
    response: Result<wire::PollOperationResponse, Status>,
) -> Judgement {
    // Whether the handle is good has its own assertion.
    let Some(Ok(again)) = response.ok().map(Outcome::try_from) else {
        return Ok(());
    };
    let Some(ended) = trace.last() else { return Ok(()) };
    let word = |outcome: &Outcome| match &outcome.result {
        OutcomeResult::Completed(_) => "Completed".to_owned(),
        OutcomeResult::Operation(_) => "an operation under way".to_owned(),
        OutcomeResult::Failure(failure) => format!("{} {}", spell(failure.code), failure.reason),
    };
    holds(word(ended) == word(&again), || {
        format!(
            "it ended with {}, and a further poll reports {}",
            word(ended),
            word(&again)
        )
    })?;
    holds(
        ended.external_name == again.external_name || again.external_name.is_empty(),
        || format!("it was {:?}, then {:?}", ended.external_name, again.external_name),
    )
}

pub(crate) fn matches_desired(kind: &Kind, desired: &Document, seen: &Observation) -> Judgement {
    match kind.capabilities.diff_mode {
        DiffMode::Bridge => {
            let mut missing = comparison::unfulfilled(kind, desired, &seen.parameters);
            // Their last digits have an assertion of their own.
            let exact = comparison::big_integers(desired);
            missing.retain(|diff| {
                let is_number = diff.observed.as_ref().is_some_and(Value::is_number);
                !(is_number && exact.iter().any(|(pointer, _)| *pointer == diff.path))
            });
            holds(missing.is_empty(), || comparison::describe(&missing))
        }
        // Values may be spelled otherwise: the plugin's own comparison counts.
        DiffMode::Plugin => {
            let missing = comparison::missing(kind, desired, &seen.parameters);
            holds(missing.is_empty(), || comparison::describe(&missing))?;
            let differ: Vec<_> = seen.diffs.iter().map(|diff| diff.path.as_str()).collect();
            holds(seen.up_to_date == Some(true), || {
                format!(
                    "up_to_date is {:?}, with differences at {differ:?}",
                    seen.up_to_date
                )
            })
        }
    }
}

/// Where the plugin compares, its report alone does not show that an Update did anything.
pub(super) fn update_shows(
    kind: &Kind,
    (former, desired): (&Document, &Document),
    (before, after): (&Observation, &Observation),
) -> Judgement {
    if kind.capabilities.diff_mode == DiffMode::Bridge {
        return Ok(());
    }
    let changed = comparison::unfulfilled(kind, desired, former);
    let [before, after] = [before, after].map(|seen| Value::Object(seen.parameters.clone()));
    let shows = |path: &str| before.pointer(path) != after.pointer(path);
    holds(
        changed.is_empty() || changed.iter().any(|diff| shows(&diff.path)),
        || {
            let paths: Vec<_> = changed.iter().map(|diff| diff.path.as_str()).collect();
            format!("{paths:?} was to change, and nothing of it did")
        },
    )
}

pub(super) fn parameters_valid(kind: &Kind, seen: &Observation) -> Judgement {
    let sensitive: Vec<&str> = kind
        .field_rules
        .iter()
        .filter(|rule| rule.sensitive)
        .map(|rule| rule.path.as_str())
        .collect();
    let whole = Value::Object(seen.parameters.clone());
    for pointer in &sensitive {
        holds(whole.pointer(pointer).is_none_or(Value::is_null), || {
            format!("the sensitive field {pointer} stands in it")
        })?;
    }
    let schema = schema::without_required(&kind.parameters_schema, sensitive.into_iter());
    schema::valid(&schema, &seen.parameters)
}

pub(super) fn status_valid(kind: &Kind, seen: &Observation) -> Judgement {
    match &seen.status {
        Some(status) => schema::valid(&kind.status_schema, status),
        None => Ok(()),
    }
}

/// `None`: the desired state holds none.
pub(super) fn big_integers(desired: &Document, seen: &Observation) -> Option<Judgement> {
    let wanted = comparison::big_integers(desired);
    if wanted.is_empty() {
        return None;
    }
    let whole = Value::Object(seen.parameters.clone());
    let lost = wanted
        .iter()
        .find(|(pointer, value)| whole.pointer(pointer) != Some(value));
    Some(match lost {
        None => Ok(()),
        Some((pointer, value)) => Err(format!(
            "{pointer} was {value}, and came back as {}",
            whole.pointer(pointer).unwrap_or(&Value::Null)
        )),
    })
}

pub(super) fn marker_kept(seen: &Observation, marker: &str) -> Judgement {
    holds(seen.found_marker == marker, || {
        format!("{marker:?} was sent, {:?} is found", seen.found_marker)
    })
}

pub(super) fn marker_not_in_parameters(seen: &Observation, marker: &str) -> Judgement {
    let text = Value::Object(seen.parameters.clone()).to_string();
    holds(!text.contains(marker), || {
        "the marker stands in the parameters".to_owned()
    })
}

pub(super) fn comparison_reported(
    mode: DiffMode,
    own: &Observation,
    other: Option<&Observation>,
) -> Judgement {
    match mode {
        DiffMode::Bridge => holds(own.up_to_date.is_none(), || {
            "the bridge compares, and up_to_date is reported".to_owned()
        }),
        DiffMode::Plugin => {
            holds(own.up_to_date == Some(true), || {
                format!("for its own desired state it reports {:?}", own.up_to_date)
            })?;
            match other {
                Some(other) => holds(other.up_to_date == Some(false) && !other.diffs.is_empty(), || {
                    format!(
                        "for another desired state it reports {:?} with {} diffs",
                        other.up_to_date,
                        other.diffs.len()
                    )
                }),
                None => Ok(()),
            }
        }
    }
}

/// The same resource, as far as an observation shows it. A status may move by itself.
pub(super) fn unchanged(before: &Observation, after: &Observation) -> Judgement {
    holds(before.parameters == after.parameters, || {
        "parameters changed".to_owned()
    })?;
    same_identity(before, after)
}

fn same_identity(before: &Observation, after: &Observation) -> Judgement {
    let differs = |what: &str| format!("{what} changed");
    holds(before.external_name == after.external_name, || {
        differs("external_name")
    })?;
    holds(before.canonical_id == after.canonical_id, || {
        differs("canonical_id")
    })?;
    holds(before.found_marker == after.found_marker, || {
        differs("found_marker")
    })?;
    holds(before.etag == after.etag, || differs("etag"))
}

/// An observation with another desired state finds the same as one with `desired`: a response that echoes the desired state would hide every drift.
pub(super) fn same_with_other_desired(
    kind: &Kind,
    desired: &Document,
    own: &Observation,
    elsewhere: &Observation,
) -> Judgement {
    same_identity(own, elsewhere)?;
    if let Some(at) = comparison::contradiction(&own.parameters, &elsewhere.parameters) {
        return Err(format!("asked with another desired state, it shows another {at}"));
    }
    if kind.capabilities.diff_mode == DiffMode::Plugin {
        return Ok(());
    }
    let known = comparison::unfulfilled(kind, desired, &own.parameters);
    let strange: Vec<_> = comparison::unfulfilled(kind, desired, &elsewhere.parameters)
        .into_iter()
        // What an answer leaves out follows the shape of the desired state.
        .filter(|diff| diff.observed.as_ref().is_some_and(|value| !value.is_null()))
        .filter(|diff| known.iter().all(|known| known.path != diff.path))
        .collect();
    holds(strange.is_empty(), || {
        format!(
            "asked with another desired state, {}",
            comparison::describe(&strange)
        )
    })
}

pub(super) fn found_as(observation: &ObserveResult, name: &str) -> Judgement {
    match observation {
        ObserveResult::Found(found) => holds(found.external_name == name, || {
            format!("{name:?} was created, {:?} is found", found.external_name)
        }),
        ObserveResult::Absent(_) => Err("it reads as absent".to_owned()),
        ObserveResult::Failed(failure) => Err(format!("the observation failed: {}", failure.message)),
    }
}

pub(crate) fn completed(trace: &CallTrace, method: &str) -> Judgement {
    match trace.last().map(|outcome| &outcome.result) {
        Some(OutcomeResult::Completed(_)) => Ok(()),
        Some(OutcomeResult::Failure(failure)) => Err(format!(
            "{method} failed: {:?} {}: {}",
            failure.code, failure.reason, failure.message
        )),
        _ => Err(format!("{method} did not end")),
    }
}

/// An etag may change: some upstreams count writes.
pub(super) fn no_op(trace: &CallTrace, before: &Observation, after: &Observation) -> Judgement {
    completed(trace, "Update")?;
    holds(before.parameters == after.parameters, || {
        "parameters changed".to_owned()
    })?;
    holds(before.found_marker == after.found_marker, || {
        "the marker changed".to_owned()
    })
}

pub(super) fn conflict(outcome: &Outcome) -> Judgement {
    rejected(outcome, FailureCode::Conflict)
}

/// A call under another marker.
pub(super) fn not_modified(outcome: &Outcome, before: &Observation, after: &Observation) -> Judgement {
    rejected(outcome, FailureCode::NotFound)?;
    holds(
        before.parameters == after.parameters && before.found_marker == after.found_marker,
        || "it was changed".to_owned(),
    )
}

pub(super) fn update_created_none(outcome: &Outcome, observation: &ObserveResult) -> Judgement {
    holds(matches!(observation, ObserveResult::Absent(_)), || {
        "afterwards something exists".to_owned()
    })?;
    rejected(outcome, FailureCode::NotFound)
}

/// Rejected with this code and `EFFECT_NONE`.
pub(crate) fn rejected(outcome: &Outcome, code: FailureCode) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => {
            holds(failure.code == code && failure.effect == Effect::None, || {
                format!(
                    "expected {} with EFFECT_NONE, got {} with EFFECT_{}",
                    spell(code),
                    spell(failure.code),
                    spell(failure.effect)
                )
            })
        }
        OutcomeResult::Completed(_) => Err(format!("expected {}, got completion", spell(code))),
        OutcomeResult::Operation(_) => Err(format!("expected {}, got an operation", spell(code))),
    }
}

pub(super) fn has_no_observation(trace: &CallTrace) -> Judgement {
    match trace.last().map(|outcome| &outcome.result) {
        Some(OutcomeResult::Completed(completed)) => holds(completed.observation.is_none(), || {
            "the completed Delete carries an observation".to_owned()
        }),
        _ => Ok(()),
    }
}

pub(super) fn is_absent_after_delete(is_absent: bool) -> Judgement {
    holds(is_absent, || "it is still found".to_owned())
}

pub(super) fn delete_was_idempotent(trace: &CallTrace) -> Judgement {
    completed(trace, "Delete")?;
    match trace.last().map(|outcome| &outcome.result) {
        Some(OutcomeResult::Completed(completed)) => {
            holds(completed.already_done, || "already_done is not said".to_owned())
        }
        _ => Ok(()),
    }
}
