//! Judgements on what a life showed. Pure.

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{
    DiffMode, Document, Effect, FailureCode, Kind, Look, Observation, Outcome, OutcomeResult,
};
use serde_json::Value;
use tonic::{Code, Status};

use crate::{
    client::told,
    lab::Trail,
    schema,
    verdict::{Judgement, holds},
    wish,
};

pub(super) fn named(trail: &Trail, given: &str) -> Judgement {
    let told = trail
        .answers
        .iter()
        .any(|outcome| !outcome_name(outcome).is_empty());
    holds(told || !given.is_empty(), || {
        "Create was complete and no answer told its name".to_owned()
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

pub(super) fn named_early(trail: &Trail, name: &str) -> Judgement {
    trail
        .answers
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
    holds(seen.is_some(), || "what was made reads as absent".to_owned())
}

pub(super) fn progress_never_falls(trail: &Trail) -> Judgement {
    let mut highest = 0;
    for outcome in &trail.answers {
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

pub(super) fn handle_kept(trail: &Trail) -> Judgement {
    let mut before = None;
    for outcome in &trail.answers {
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

/// Who hands out no operations may leave the method out.
pub(super) fn garbage_refused(
    answer: Result<wire::PollOperationResponse, Status>,
    hands_out: bool,
) -> Judgement {
    match answer {
        Err(status) if status.code() == Code::InvalidArgument => Ok(()),
        Err(status) if status.code() == Code::Unimplemented && !hands_out => Ok(()),
        Err(status) => Err(format!("INVALID_ARGUMENT is due; it ended in {}", told(&status))),
        Ok(_) => Err("INVALID_ARGUMENT is due; the poll was answered".to_owned()),
    }
}

/// A handle that is still known. Only `OPERATION_FAILED` speaks of the operation; what else fails is the poll.
pub(crate) fn handle_good(answer: &Result<wire::PollOperationResponse, Status>) -> Judgement {
    match answer {
        Err(status) => Err(format!("the poll ended in {}", told(status))),
        Ok(answer) => match answer
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
pub(super) fn not_shown(answer: Result<wire::PollOperationResponse, Status>) -> Judgement {
    match answer {
        Err(status) if status.code() == Code::InvalidArgument => Ok(()),
        Err(status) => Err(format!("INVALID_ARGUMENT is due; it ended in {}", told(&status))),
        Ok(answer) => not_there(&answer).map_err(|seen| format!("INVALID_ARGUMENT is due; {seen}")),
    }
}

/// A poll whose resource is not there, for who asks.
pub(super) fn not_there(answer: &wire::PollOperationResponse) -> Judgement {
    match answer
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.result.as_ref())
    {
        Some(wire::outcome::Result::Failure(failure)) => {
            holds(failure.code() == wire::FailureCode::NotFound, || {
                format!("it says {}", failure.code().as_str_name())
            })
        }
        _ => Err("the poll was answered".to_owned()),
    }
}

/// A further poll of what has ended. An observation may be newer, and keys are given once.
pub(crate) fn ended_the_same(
    trail: &Trail,
    answer: Result<wire::PollOperationResponse, Status>,
) -> Judgement {
    // Whether the handle is good has its own assertion.
    let Some(Ok(again)) = answer.ok().map(Outcome::try_from) else {
        return Ok(());
    };
    let Some(ended) = trail.last() else { return Ok(()) };
    let word = |outcome: &Outcome| match &outcome.result {
        OutcomeResult::Completed(_) => "Completed".to_owned(),
        OutcomeResult::Operation(_) => "an operation under way".to_owned(),
        OutcomeResult::Failure(failure) => format!("{:?} {}", failure.code, failure.reason),
    };
    holds(word(ended) == word(&again), || {
        format!(
            "it ended with {}, and a further poll says {}",
            word(ended),
            word(&again)
        )
    })?;
    holds(
        ended.external_name == again.external_name || again.external_name.is_empty(),
        || format!("it was {:?}, then {:?}", ended.external_name, again.external_name),
    )
}

pub(crate) fn wish_came_back(kind: &Kind, wish: &Document, seen: &Observation) -> Judgement {
    match kind.capabilities.diff_mode {
        DiffMode::Bridge => {
            let mut missing = wish::unfulfilled(kind, wish, &seen.parameters);
            // Their last digits have an assertion of their own.
            let exact = wish::big_integers(wish);
            missing.retain(|diff| {
                let is_number = diff.observed.as_ref().is_some_and(Value::is_number);
                !(is_number && exact.iter().any(|(pointer, _)| *pointer == diff.path))
            });
            holds(missing.is_empty(), || wish::told(&missing))
        }
        // Values may be spelled otherwise: the plugin's own comparison counts.
        DiffMode::Plugin => {
            let missing = wish::missing(kind, wish, &seen.parameters);
            holds(missing.is_empty(), || wish::told(&missing))?;
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

/// Where the plugin compares, its word alone does not show that an Update did anything.
pub(super) fn update_shows(
    kind: &Kind,
    (former, wish): (&Document, &Document),
    (before, after): (&Observation, &Observation),
) -> Judgement {
    if kind.capabilities.diff_mode == DiffMode::Bridge {
        return Ok(());
    }
    let changed = wish::unfulfilled(kind, wish, former);
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

/// `None`: the wish holds none.
pub(super) fn big_integers(wished: &Document, seen: &Observation) -> Option<Judgement> {
    let wanted = wish::big_integers(wished);
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

pub(super) fn marker_aside(seen: &Observation, marker: &str) -> Judgement {
    let text = Value::Object(seen.parameters.clone()).to_string();
    holds(!text.contains(marker), || {
        "the marker stands in the parameters".to_owned()
    })
}

pub(super) fn compared(mode: DiffMode, own: &Observation, other: Option<&Observation>) -> Judgement {
    match mode {
        DiffMode::Bridge => holds(own.up_to_date.is_none(), || {
            "the bridge compares, and up_to_date is said".to_owned()
        }),
        DiffMode::Plugin => {
            holds(own.up_to_date == Some(true), || {
                format!("for its own wish it says {:?}", own.up_to_date)
            })?;
            match other {
                Some(other) => holds(other.up_to_date == Some(false) && !other.diffs.is_empty(), || {
                    format!(
                        "for another wish it says {:?} with {} diffs",
                        other.up_to_date,
                        other.diffs.len()
                    )
                }),
                None => Ok(()),
            }
        }
    }
}

/// The same resource, as far as a look shows it. A status may move by itself.
pub(super) fn unchanged(before: &Observation, after: &Observation) -> Judgement {
    holds(before.parameters == after.parameters, || {
        "parameters changed".to_owned()
    })?;
    same_thing(before, after)
}

fn same_thing(before: &Observation, after: &Observation) -> Judgement {
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

/// A look with another wish finds what the look with its own `wish` found: an answer that follows the wish would hide every drift.
pub(super) fn same_elsewhere(
    kind: &Kind,
    wish: &Document,
    own: &Observation,
    elsewhere: &Observation,
) -> Judgement {
    same_thing(own, elsewhere)?;
    if let Some(at) = wish::contradiction(&own.parameters, &elsewhere.parameters) {
        return Err(format!("asked with another wish, it shows another {at}"));
    }
    if kind.capabilities.diff_mode == DiffMode::Plugin {
        return Ok(());
    }
    let known = wish::unfulfilled(kind, wish, &own.parameters);
    let strange: Vec<_> = wish::unfulfilled(kind, wish, &elsewhere.parameters)
        .into_iter()
        // What an answer leaves out follows the shape of the wish.
        .filter(|diff| diff.observed.as_ref().is_some_and(|value| !value.is_null()))
        .filter(|diff| known.iter().all(|known| known.path != diff.path))
        .collect();
    holds(strange.is_empty(), || {
        format!("asked with another wish, {}", wish::told(&strange))
    })
}

pub(super) fn found_as(look: &Look, name: &str) -> Judgement {
    match look {
        Look::Found(found) => holds(found.external_name == name, || {
            format!("{name:?} was made, {:?} is found", found.external_name)
        }),
        Look::Absent(_) => Err("it reads as absent".to_owned()),
        Look::Failed(failure) => Err(format!("the look failed: {}", failure.message)),
    }
}

pub(crate) fn completed(trail: &Trail, method: &str) -> Judgement {
    match trail.last().map(|outcome| &outcome.result) {
        Some(OutcomeResult::Completed(_)) => Ok(()),
        Some(OutcomeResult::Failure(failure)) => Err(format!(
            "{method} failed: {:?} {}: {}",
            failure.code, failure.reason, failure.message
        )),
        _ => Err(format!("{method} did not end")),
    }
}

/// An etag may change: some upstreams count writes.
pub(super) fn no_op(trail: &Trail, before: &Observation, after: &Observation) -> Judgement {
    completed(trail, "Update")?;
    holds(before.parameters == after.parameters, || {
        "parameters changed".to_owned()
    })?;
    holds(before.found_marker == after.found_marker, || {
        "the marker changed".to_owned()
    })
}

pub(super) fn conflict(outcome: &Outcome) -> Judgement {
    refused(outcome, FailureCode::Conflict)
}

/// A call under another marker.
pub(super) fn hidden(outcome: &Outcome, before: &Observation, after: &Observation) -> Judgement {
    refused(outcome, FailureCode::NotFound)?;
    holds(
        before.parameters == after.parameters && before.found_marker == after.found_marker,
        || "it was changed".to_owned(),
    )
}

pub(super) fn update_made_none(outcome: &Outcome, look: &Look) -> Judgement {
    holds(matches!(look, Look::Absent(_)), || {
        "afterwards something is there".to_owned()
    })?;
    refused(outcome, FailureCode::NotFound)
}

/// Refused with this code and without effect.
pub(crate) fn refused(outcome: &Outcome, code: FailureCode) -> Judgement {
    match &outcome.result {
        OutcomeResult::Failure(failure) => {
            holds(failure.code == code && failure.effect == Effect::None, || {
                format!(
                    "{code:?} with effect None is due; it says {:?} with {:?}",
                    failure.code, failure.effect
                )
            })
        }
        OutcomeResult::Completed(_) => Err(format!("{code:?} is due; it was completed")),
        OutcomeResult::Operation(_) => Err(format!("{code:?} is due; an operation began")),
    }
}

pub(super) fn nothing_to_see(trail: &Trail) -> Judgement {
    match trail.last().map(|outcome| &outcome.result) {
        Some(OutcomeResult::Completed(completed)) => holds(completed.observation.is_none(), || {
            "the completed Delete brings an observation".to_owned()
        }),
        _ => Ok(()),
    }
}

pub(super) fn gone(is_gone: bool) -> Judgement {
    holds(is_gone, || "it is still found".to_owned())
}

pub(super) fn deleted_nothing(trail: &Trail) -> Judgement {
    completed(trail, "Delete")?;
    match trail.last().map(|outcome| &outcome.result) {
        Some(OutcomeResult::Completed(completed)) => {
            holds(completed.already_done, || "already_done is not said".to_owned())
        }
        _ => Ok(()),
    }
}
