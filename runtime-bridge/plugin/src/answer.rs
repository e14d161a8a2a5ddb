//! What is checked of an answer beside its own form: whether it fits what was sent.

use bridge_core::external::{Call, Failure, ObserveResult, Outcome};
use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{ConfigVerdict, Rule, Violation};

pub(crate) type Answered<T> = Result<T, Violation>;

/// The answer to Observe; where the plugin compares, it must report the result, as otherwise nothing would ever be updated.
pub(crate) fn observed(answer: wire::ObserveResponse, plugin_compares: bool) -> Answered<ObserveResult> {
    let result = ObserveResult::try_from(answer)?;
    match &result {
        ObserveResult::Found(found) if plugin_compares && found.up_to_date.is_none() => {
            let when = "where the plugin compares";
            Err(Violation::new("up_to_date", Rule::RequiredWhere { when }))
        }
        ObserveResult::Found(_) | ObserveResult::Absent(_) | ObserveResult::Failed(_) => Ok(result),
    }
}

/// The answer to a call, which must fit what was sent.
pub(crate) fn outcome<A>(answer: A, call: &Call) -> Answered<Outcome>
where
    Outcome: TryFrom<A, Error = Violation>,
{
    let outcome = Outcome::try_from(answer)?;
    outcome.check_answer(call.operation_verb(), &call.target.external_name)?;
    Ok(outcome)
}

/// The identity of a usable config, or why it is not usable.
pub(crate) fn config_checked(answer: wire::CheckConfigResponse) -> Answered<Result<String, Failure>> {
    Ok(match ConfigVerdict::try_from(answer)? {
        ConfigVerdict::Usable { identity } => Ok(identity),
        ConfigVerdict::Unusable(failure) => Err(failure),
    })
}
