//! Judgements on repeated creations. Pure.

use std::collections::BTreeSet;

use crossbridge_types::{FailureCode, Observation, Outcome, OutcomeResult};

use crate::{
    spelling::spell,
    verdict::{Judgement, holds},
};

/// Answers to repeats of a creation that created `name`: it again, or the report that it exists.
pub(super) fn same_resource(responses: &[Outcome], name: &str, finds_its_own: bool) -> Judgement {
    responses.iter().try_for_each(|response| match &response.result {
        OutcomeResult::Completed(_) | OutcomeResult::Operation(_) => {
            holds(response.external_name == name, || {
                format!(
                    "the first created {name:?}, a repeat {:?}",
                    response.external_name
                )
            })
        }
        OutcomeResult::Failure(failure) => holds(is_there(failure.code, finds_its_own), || {
            format!(
                "a repeat failed: {} {}: {}",
                spell(failure.code),
                failure.reason,
                failure.message
            )
        }),
    })
}

/// A repeat may report that another actor has the name. One that finds its own work is never rejected.
fn is_there(code: FailureCode, finds_its_own: bool) -> bool {
    !finds_its_own && is_harmless(code, false)
}

/// One of many may report that another actor has the name, which a token does not excuse, or that another call is under way.
fn is_harmless(code: FailureCode, honors_token: bool) -> bool {
    match code {
        FailureCode::AlreadyExists => !honors_token,
        FailureCode::Conflict => true,
        _ => false,
    }
}

/// Answers to the same request sent many times at once.
pub(super) fn one_resource_created(responses: &[Outcome], honors_token: bool) -> Judgement {
    let names: BTreeSet<&str> = responses
        .iter()
        .filter(|response| !matches!(response.result, OutcomeResult::Failure(_)))
        .map(|response| response.external_name.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    holds(names.len() <= 1, || format!("they created {names:?}"))?;
    let created = responses
        .iter()
        .filter(|response| matches!(response.result, OutcomeResult::Completed(_)))
        .count();
    holds(created > 0, || "none of them was completed".to_owned())?;
    responses.iter().try_for_each(|response| match &response.result {
        OutcomeResult::Failure(failure) => holds(is_harmless(failure.code, honors_token), || {
            format!(
                "one failed: {} {}: {}",
                spell(failure.code),
                failure.reason,
                failure.message
            )
        }),
        _ => Ok(()),
    })
}

/// The end of a creation that was in doubt. The first repeat may find the doubtful one under way.
pub(super) fn settled(responses: &[Outcome], name: &str, honors_token: bool) -> Judgement {
    holds(!name.is_empty(), || {
        "after the repeat its name is unknown".to_owned()
    })?;
    let under_way = |response: &Outcome| matches!(&response.result, OutcomeResult::Failure(failure) if failure.code == FailureCode::Conflict);
    let settled = match responses {
        [first, rest @ ..] if !rest.is_empty() && under_way(first) => rest,
        all => all,
    };
    same_resource(settled, name, honors_token)
}

/// What a token returns to a new process: the resource that it created.
pub(crate) fn token_honored(outcome: &Outcome, name: &str) -> Judgement {
    if let OutcomeResult::Failure(failure) = &outcome.result {
        return Err(format!(
            "the first process created {name:?}, the second rejects: {} {}: {}",
            spell(failure.code),
            failure.reason,
            failure.message
        ));
    }
    holds(outcome.external_name == name, || {
        format!(
            "the first process created {name:?}, the second {:?}",
            outcome.external_name
        )
    })
}

pub(super) fn untouched(before: &Observation, after: &Observation) -> Judgement {
    holds(
        before.parameters == after.parameters && before.found_marker == after.found_marker,
        || "the other one was changed".to_owned(),
    )
}

/// The answer to a token whose resource no longer exists.
pub(super) fn token_of_deleted(response: &Outcome, name: &str) -> Judgement {
    match &response.result {
        OutcomeResult::Failure(failure) => {
            holds(failure.code == FailureCode::NotFound, || {
                format!("expected NOT_FOUND, got {}", spell(failure.code))
            })?;
            holds(response.external_name == name, || {
                format!("it was {name:?}; the answer names {:?}", response.external_name)
            })
        }
        _ => Err(format!(
            "expected NOT_FOUND, got a creation of {:?}",
            response.external_name
        )),
    }
}

/// What exists though its creation ended, and was not there just after that.
pub(super) fn no_late_effect(names: &BTreeSet<String>) -> Judgement {
    holds(names.is_empty(), || {
        format!("it came about after the call had ended: {names:?}")
    })
}
