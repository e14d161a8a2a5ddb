//! Judgements on repeated creations. Pure.

use std::collections::BTreeSet;

use crossbridge_types::{FailureCode, Observation, Outcome, OutcomeResult};

use crate::verdict::{Judgement, holds};

/// Answers to repeats of a creation that made `name`: it again, or a word that it is there.
pub(super) fn same_resource(answers: &[Outcome], name: &str, honours_token: bool) -> Judgement {
    answers.iter().try_for_each(|answer| match &answer.result {
        OutcomeResult::Completed(_) | OutcomeResult::Operation(_) => {
            holds(answer.external_name == name, || {
                format!("the first made {name:?}, a repeat {:?}", answer.external_name)
            })
        }
        OutcomeResult::Failure(failure) => holds(is_there(failure.code, honours_token), || {
            format!(
                "a repeat failed: {:?} {}: {}",
                failure.code, failure.reason, failure.message
            )
        }),
    })
}

/// A repeat may say that somebody has the name. One whose token had its effect is never refused.
fn is_there(code: FailureCode, honours_token: bool) -> bool {
    !honours_token && is_harmless(code, false)
}

/// One of many may say that somebody has the name, which a token does not excuse, or that others are at it.
fn is_harmless(code: FailureCode, honours_token: bool) -> bool {
    match code {
        FailureCode::AlreadyExists => !honours_token,
        FailureCode::Conflict => true,
        _ => false,
    }
}

/// Answers to the same request sent many times at once.
pub(super) fn one_of_many(answers: &[Outcome], honours_token: bool) -> Judgement {
    let names: BTreeSet<&str> = answers
        .iter()
        .filter(|answer| !matches!(answer.result, OutcomeResult::Failure(_)))
        .map(|answer| answer.external_name.as_str())
        .filter(|name| !name.is_empty())
        .collect();
    holds(names.len() <= 1, || format!("they made {names:?}"))?;
    let made = answers
        .iter()
        .filter(|answer| matches!(answer.result, OutcomeResult::Completed(_)))
        .count();
    holds(made > 0, || "none of them was completed".to_owned())?;
    answers.iter().try_for_each(|answer| match &answer.result {
        OutcomeResult::Failure(failure) => holds(is_harmless(failure.code, honours_token), || {
            format!(
                "one failed: {:?} {}: {}",
                failure.code, failure.reason, failure.message
            )
        }),
        _ => Ok(()),
    })
}

/// The end of a creation that was in doubt. The first repeat may find the doubtful one under way.
pub(super) fn settled(answers: &[Outcome], name: &str, honours_token: bool) -> Judgement {
    holds(!name.is_empty(), || {
        "after the repeat nobody knows its name".to_owned()
    })?;
    let under_way = |answer: &Outcome| matches!(&answer.result, OutcomeResult::Failure(failure) if failure.code == FailureCode::Conflict);
    let settled = match answers {
        [first, rest @ ..] if !rest.is_empty() && under_way(first) => rest,
        all => all,
    };
    same_resource(settled, name, honours_token)
}

/// A token's word to a new process: the resource that it made.
pub(crate) fn honoured(outcome: &Outcome, name: &str) -> Judgement {
    if let OutcomeResult::Failure(failure) = &outcome.result {
        return Err(format!(
            "the first process made {name:?}, the second refuses: {:?} {}: {}",
            failure.code, failure.reason, failure.message
        ));
    }
    holds(outcome.external_name == name, || {
        format!(
            "the first process made {name:?}, the second {:?}",
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

/// The answer to a token whose resource is gone.
pub(super) fn gone(answer: &Outcome, name: &str) -> Judgement {
    match &answer.result {
        OutcomeResult::Failure(failure) => {
            holds(failure.code == FailureCode::NotFound, || {
                format!("NOT_FOUND is due; it says {:?}", failure.code)
            })?;
            holds(answer.external_name == name, || {
                format!("it was {name:?}; the answer names {:?}", answer.external_name)
            })
        }
        _ => Err(format!("NOT_FOUND is due; it made {:?}", answer.external_name)),
    }
}

/// What is there though its creation ended, and was not there just after that.
pub(super) fn nothing_came(names: &BTreeSet<String>) -> Judgement {
    holds(names.is_empty(), || {
        format!("it came about after the call had ended: {names:?}")
    })
}
