//! What is checked of an answer beside its own form: whether it fits what was sent, and what the kind declares.

use bridge_core::{
    external::{Call, Failure, ObserveResult, Outcome, OutcomeResult},
    kind::{DiffMode, Kind},
};
use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{ConfigVerdict, Rule, Violation};

/// An answer, or how it breaks the contract.
pub type Answered<T> = Result<T, Violation>;

/// The answer to Observe, which must be about the resource of the name that was sent, if one was: else a Delete would go to another one. Where the plugin
/// compares, it must report the result, as otherwise nothing would ever be updated. `kind`: as it is published; `None`: the plugin does not publish it
/// any more.
pub fn observed(
    answer: wire::ObserveResponse,
    sent_name: &str,
    kind: Option<&Kind>,
) -> Answered<ObserveResult> {
    let result = ObserveResult::try_from(answer)?;
    if let ObserveResult::Found(found) = &result {
        found
            .check_name(sent_name)
            .map_err(|violation| violation.within("observation"))?;
    }
    if let (ObserveResult::Found(found), Some(kind)) = (&result, kind) {
        if kind.capabilities.diff_mode == DiffMode::Plugin && found.up_to_date.is_none() {
            let when = "where the plugin compares";
            return Err(Violation::new("up_to_date", Rule::RequiredWhere { when }));
        }
        found
            .connection_details
            .check_declared(kind)
            .map_err(|violation| violation.within("observation"))?;
    }
    Ok(result)
}

/// The answer to a call, which must fit what was sent.
pub fn outcome<A>(answer: A, call: &Call, kind: Option<&Kind>) -> Answered<Outcome>
where
    Outcome: TryFrom<A, Error = Violation>,
{
    let outcome = Outcome::try_from(answer)?;
    outcome.check_answer(call.operation_verb(), &call.target.external_name)?;
    let observation = match &outcome.result {
        OutcomeResult::Completed(completed) => completed.observation.as_ref(),
        OutcomeResult::Operation(_) | OutcomeResult::Failure(_) => None,
    };
    let within = |violation: Violation| violation.within("completed.observation");
    if let Some(observation) = observation {
        let names = [&outcome.external_name, &call.target.external_name];
        for name in names {
            observation.check_name(name).map_err(within)?;
        }
    }
    if let Some(kind) = kind {
        outcome.connection_details.check_declared(kind)?;
        if let Some(observation) = observation {
            observation
                .connection_details
                .check_declared(kind)
                .map_err(within)?;
        }
    }
    Ok(outcome)
}

/// The identity of a usable config, or why it is not usable.
pub fn config_checked(answer: wire::CheckConfigResponse) -> Answered<Result<String, Failure>> {
    Ok(match ConfigVerdict::try_from(answer)? {
        ConfigVerdict::Usable { identity } => Ok(identity),
        ConfigVerdict::Unusable(failure) => Err(failure),
    })
}
