//! What leaves the plugin: the author's answer if it keeps the contract, else a failure that names the broken rule.

use crossbridge_types::{
    self as types, Absent, Effect, FailureCode, NameSource, ObserveResult, OperationVerb, Outcome,
    OutcomeResult, Rule, Secrets, Violation, check,
};
use tonic::Status;

use super::redact::Redaction;
use crate::{Call, Failure, kind::PublishedKind};

/// Converts the answer to an Observe.
pub(super) fn observe_response(
    kind: &PublishedKind,
    call: &Call,
    redaction: &Redaction,
    result: Result<ObserveResult, Failure>,
) -> Result<ObserveResult, Status> {
    let checked = result.and_then(|observed| match check_observe(kind, call, redaction, &observed) {
        Ok(()) => Ok(observed),
        Err(violation) => Err(broken(&violation, Some(kind))),
    });
    let mut response = match checked {
        Ok(observed) => observed,
        Err(failure) => {
            ObserveResult::Failed(well_formed(failure).map_err(|status| redaction.status(status))?)
        }
    };
    redaction.observe_result(&mut response);
    Ok(response)
}

fn check_observe(
    kind: &PublishedKind,
    call: &Call,
    redaction: &Redaction,
    observed: &ObserveResult,
) -> Result<(), Violation> {
    observed.check()?;
    match observed {
        ObserveResult::Found(observation) => kind
            .check_observation(observation, &call.target.external_name)
            .and_then(|()| redaction.check_observation(observation))
            .map_err(|violation| violation.within("observation")),
        ObserveResult::Absent(Absent { external_name })
            if external_name.is_empty() && kind.rules.external_name.source == NameSource::Derived =>
        {
            let when = "where names are derived";
            Err(Violation::new(
                "absent.external_name",
                Rule::RequiredWhere { when },
            ))
        }
        ObserveResult::Absent(_) | ObserveResult::Failed(_) => Ok(()),
    }
}

/// The answer to a call that changes something, or to a poll. The name that the author recorded stands in it whatever the result is.
pub(super) fn outcome(
    kind: &PublishedKind,
    call: &Call,
    redaction: &Redaction,
    verb: Option<OperationVerb>,
    result: Result<Outcome, Failure>,
) -> Result<Outcome, Status> {
    let checked = checked_outcome(kind, call, redaction, verb, result);
    let mut outcome = checked.map_err(|status| redaction.status(status))?;
    redaction.outcome(&mut outcome);
    Ok(outcome)
}

fn checked_outcome(
    kind: &PublishedKind,
    call: &Call,
    redaction: &Redaction,
    verb: Option<OperationVerb>,
    result: Result<Outcome, Failure>,
) -> Result<Outcome, Status> {
    let recorded = call.recorded_name.get().cloned().unwrap_or_default();
    let mut outcome = match result {
        Ok(outcome) => outcome,
        // A status means that nothing was done, and cannot carry a name.
        Err(failure) if call.has_news(verb) => failed(well_formed(failure.after_name())?),
        Err(failure) => failed(well_formed(failure)?),
    };
    if outcome.external_name.is_empty() {
        outcome.external_name.clone_from(&recorded);
    }
    correct_effect(verb, &call.target.external_name, &recorded, &mut outcome);
    let checked = check_outcome(kind, call, verb, &outcome).and_then(|()| redaction.check_outcome(&outcome));
    let Err(violation) = checked else {
        return Ok(outcome);
    };
    let failure = well_formed(broken(&violation, Some(kind)))?;
    // What is well formed goes along: names and keys may be given only once.
    let mut salvaged = Outcome {
        external_name: std::mem::take(&mut outcome.external_name),
        canonical_id: std::mem::take(&mut outcome.canonical_id),
        connection_details: std::mem::take(&mut outcome.connection_details),
        ..failed(failure)
    };
    salvaged
        .connection_details
        .0
        .retain(|key, _| kind.check_connection_key(key).is_ok());
    // Each of these goes alone: it must not cost the name.
    if check::name(&salvaged.canonical_id, "canonical_id").is_err() {
        salvaged.canonical_id.clear();
    }
    if salvaged.connection_details.check_connection_details().is_err() {
        salvaged.connection_details = Secrets::default();
    }
    // A name that contradicts the one that was sent goes with no answer.
    for name in [recorded, String::new()] {
        if check_outcome(kind, call, verb, &salvaged).is_err() {
            salvaged.external_name = name;
        }
    }
    Ok(salvaged)
}

/// Corrects a failure that reports that nothing was changed, beside a name that the upstream gave: something was, as a name is given with a
/// resource. Without this the bridge would forget the name, and create another. `NOT_FOUND` apart, which means that what had the name is
/// absent.
fn correct_effect(verb: Option<OperationVerb>, sent_name: &str, recorded: &str, outcome: &mut Outcome) {
    let is_new = !recorded.is_empty() || (sent_name.is_empty() && !outcome.external_name.is_empty());
    let OutcomeResult::Failure(failure) = &mut outcome.result else {
        return;
    };
    let speaks_of_a_creation = match verb {
        Some(OperationVerb::Create) => failure.code != FailureCode::NotFound,
        // Of a poll, any other failure is the poll's own.
        None => failure.code == FailureCode::OperationFailed,
        Some(OperationVerb::Update | OperationVerb::Delete) => false,
    };
    if is_new && speaks_of_a_creation && failure.effect == Effect::None {
        tracing::debug!(
            reason = failure.reason,
            "the failure reports EFFECT_NONE although the upstream has given a name: PARTIAL is sent"
        );
        failure.effect = Effect::Partial;
    }
}

/// The answer to a call that ended before the author's code ran.
pub(super) fn rejected(failure: Failure) -> Result<Outcome, Status> {
    well_formed(failure).map(failed)
}

fn check_outcome(
    kind: &PublishedKind,
    call: &Call,
    verb: Option<OperationVerb>,
    outcome: &Outcome,
) -> Result<(), Violation> {
    outcome.check()?;
    outcome.check_answer(verb, &call.target.external_name)?;
    kind.check_connection_details(&outcome.connection_details)?;
    match &outcome.result {
        OutcomeResult::Completed(completed) => match &completed.observation {
            Some(observation) => kind
                .check_observation(observation, &call.target.external_name)
                .map_err(|violation| violation.within("completed.observation")),
            None => Ok(()),
        },
        OutcomeResult::Operation(_) | OutcomeResult::Failure(_) => Ok(()),
    }
}

fn failed(failure: types::Failure) -> Outcome {
    Outcome {
        external_name: String::new(),
        canonical_id: String::new(),
        provider_state: String::new(),
        connection_details: Secrets::default(),
        warnings: Vec::new(),
        result: OutcomeResult::Failure(failure),
    }
}

/// The plugin's author has a bug.
pub(crate) fn broken(violation: &Violation, kind: Option<&PublishedKind>) -> Failure {
    let source = kind.map(|kind| kind.source.as_str());
    tracing::error!(%violation, source, "the plugin's answer breaks the contract");
    Failure::internal(format!("the plugin's answer breaks the contract: {violation}")).reason("InvalidAnswer")
}

/// A failure for the body, in form; or the status that stands in for one.
pub(super) fn well_formed(failure: Failure) -> Result<types::Failure, Status> {
    let checked = failure.into_types()?;
    match checked.check() {
        Ok(()) => Ok(checked),
        // Built from constants and a path: in form.
        Err(violation) => broken(&violation.within("failure"), None).into_types(),
    }
}
