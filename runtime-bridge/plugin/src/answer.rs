//! What is checked of an answer beside its own form: whether it fits what was sent, and what the kind declares.

use bridge_core::{
    external::{Call, Failure, ObserveResult, Outcome, OutcomeResult, Warning},
    kind::{DiffMode, Kind},
    reasons::WarningEvent,
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
    on_undeclared: impl FnOnce(),
) -> Answered<ObserveResult> {
    let mut result = ObserveResult::try_from(answer)?;
    if let ObserveResult::Found(found) = &result {
        found
            .check_name(sent_name)
            .map_err(|violation| violation.within("observation"))?;
    }
    if let (ObserveResult::Found(found), Some(kind)) = (&mut result, kind) {
        if kind.capabilities.diff_mode == DiffMode::Plugin && found.up_to_date.is_none() {
            let when = "where the plugin compares";
            return Err(Violation::new("up_to_date", Rule::RequiredWhere { when }));
        }
        let undeclared = found.connection_details.take_undeclared(kind);
        warn(&undeclared, "left out", &mut found.warnings, on_undeclared);
    }
    Ok(result)
}

/// The answer to a call, which must fit what was sent. An observation in it that is of another name is left out.
pub fn outcome<A>(
    answer: A,
    call: &Call,
    kind: Option<&Kind>,
    on_undeclared: impl FnOnce(),
) -> Answered<Outcome>
where
    Outcome: TryFrom<A, Error = Violation>,
{
    let mut outcome = Outcome::try_from(answer)?;
    outcome.check_answer(call.operation_verb(), &call.target.external_name)?;
    let names = [outcome.external_name.clone(), call.target.external_name.clone()];
    if let OutcomeResult::Completed(completed) = &mut outcome.result {
        // It only saves an observation: the name and the details of the call's own resource count all the same.
        completed
            .observation
            .take_if(|observation| names.iter().any(|name| observation.check_name(name).is_err()));
    }
    if let Some(kind) = kind {
        if let OutcomeResult::Completed(completed) = &mut outcome.result
            && let Some(observation) = &mut completed.observation
        {
            // Each of them is observed again.
            observation.connection_details.take_undeclared(kind);
        }
        let undeclared = outcome.connection_details.undeclared(kind);
        warn(&undeclared, "published", &mut outcome.warnings, on_undeclared);
    }
    Ok(outcome)
}

/// A plugin that was replaced declares more than is known of it for a moment: it is asked anew. The rest of its answer counts, and what may never come
/// again is kept.
fn warn(keys: &[String], what: &str, warnings: &mut Vec<Warning>, on_undeclared: impl FnOnce()) {
    if keys.is_empty() {
        return;
    }
    on_undeclared();
    let shown: Vec<String> = keys
        .iter()
        .take(SHOWN_KEYS)
        .map(|key| format!("{key:?}"))
        .collect();
    warnings.push(Warning {
        reason: WarningEvent::UndeclaredConnectionDetails.as_str().to_owned(),
        message: format!(
            "{what} connection details that the kind does not declare among its connection_keys: {}{}",
            shown.join(", "),
            if keys.len() > SHOWN_KEYS { ", …" } else { "" },
        ),
    });
}

/// So many keys are named.
const SHOWN_KEYS: usize = 5;

/// The identity of a usable config, or why it is not usable.
pub fn config_checked(answer: wire::CheckConfigResponse) -> Answered<Result<String, Failure>> {
    Ok(match ConfigVerdict::try_from(answer)? {
        ConfigVerdict::Usable { identity } => Ok(identity),
        ConfigVerdict::Unusable(failure) => Err(failure),
    })
}
