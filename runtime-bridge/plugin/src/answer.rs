//! From checked answers to the words of the core.

use bridge_core::external::{
    Absent, Completed, Effect, Failure, FailureCode, FieldDiff, FieldViolation, Look, Observation, Operation,
    OperationVerb, Outcome, OutcomeResult, Secrets, Warning,
};
use crossbridge_proto::{
    checked::{self, Rule, Violation},
    v1alpha1 as wire,
};
use jiff::Timestamp;

pub(crate) type Answered<T> = Result<T, Violation>;

/// The answer to a look; where the plugin compares, it must say how the comparison went, as nothing would ever be updated otherwise.
pub(crate) fn look(answer: wire::ObserveResponse, plugin_compares: bool) -> Answered<Look> {
    Ok(match checked::Look::try_from(answer)? {
        checked::Look::Found(found) if plugin_compares && found.up_to_date.is_none() => {
            let when = "where the plugin compares";
            return Err(Violation::new("up_to_date", Rule::RequiredWhere { when }));
        }
        checked::Look::Found(found) => Look::Found(Box::new(observation(*found))),
        checked::Look::Absent(absent) => Look::Absent(Absent {
            external_name: absent.external_name,
        }),
        checked::Look::Failed(refusal) => Look::Failed(failure(refusal)),
    })
}

/// The answer to a call that changes something, or to a poll (whose operation may be of any verb), which must fit what was sent.
pub(crate) fn outcome<A>(
    answer: A,
    verb: Option<checked::OperationVerb>,
    sent_name: &str,
) -> Answered<Outcome>
where
    checked::Outcome: TryFrom<A, Error = Violation>,
{
    let answer = checked::Outcome::try_from(answer)?;
    answer.check_answer(verb, sent_name)?;
    Ok(of_outcome(answer))
}

pub(crate) fn config_checked(answer: wire::CheckConfigResponse) -> Answered<Result<String, Failure>> {
    Ok(match checked::ConfigVerdict::try_from(answer)? {
        checked::ConfigVerdict::Usable { identity } => Ok(identity),
        checked::ConfigVerdict::Unusable(refusal) => Err(failure(refusal)),
    })
}

fn of_outcome(outcome: checked::Outcome) -> Outcome {
    Outcome {
        external_name: outcome.external_name,
        canonical_id: outcome.canonical_id,
        provider_state: outcome.provider_state,
        connection_details: secrets(outcome.connection_details),
        warnings: outcome.warnings.into_iter().map(warning).collect(),
        result: match outcome.result {
            checked::OutcomeResult::Completed(completed) => OutcomeResult::Completed(Box::new(Completed {
                observation: completed.observation.map(observation),
                already_done: completed.already_done,
            })),
            checked::OutcomeResult::Operation(running) => OutcomeResult::Operation(operation(running)),
            checked::OutcomeResult::Failure(refusal) => OutcomeResult::Failure(failure(refusal)),
        },
    }
}

fn observation(observation: checked::Observation) -> Observation {
    Observation {
        external_name: observation.external_name,
        canonical_id: observation.canonical_id,
        provider_state: observation.provider_state,
        parameters: observation.parameters,
        status: observation.status,
        ready: observation.ready,
        ready_message: observation.ready_message,
        up_to_date: observation.up_to_date,
        diffs: observation.diffs.into_iter().map(diff).collect(),
        connection_details: secrets(observation.connection_details),
        etag: observation.etag,
        deleting: observation.deleting,
        operation: observation.operation.map(operation),
        found_marker: observation.found_marker,
        observe_after: observation.observe_after,
        warnings: observation.warnings.into_iter().map(warning).collect(),
    }
}

fn diff(diff: checked::FieldDiff) -> FieldDiff {
    FieldDiff {
        path: diff.path,
        desired: diff.desired,
        observed: diff.observed,
        needs_replacement: diff.needs_replacement,
    }
}

fn warning(warning: checked::Warning) -> Warning {
    Warning {
        reason: warning.reason,
        message: warning.message,
    }
}

fn secrets(secrets: checked::Secrets) -> Secrets {
    Secrets(secrets.0)
}

fn operation(operation: checked::Operation) -> Operation {
    Operation {
        handle: operation.handle,
        verb: match operation.verb {
            checked::OperationVerb::Create => OperationVerb::Create,
            checked::OperationVerb::Update => OperationVerb::Update,
            checked::OperationVerb::Delete => OperationVerb::Delete,
        },
        // A time beyond the calendar (year 9999) is as good as never.
        expire_time: operation
            .expire_time
            .and_then(|time| Timestamp::try_from(time).ok()),
        poll_after: operation.poll_after,
        progress_percent: operation.progress_percent,
        phase: operation.phase,
        message: operation.message,
        poll_driven: operation.poll_driven,
        upstream_operation_id: operation.upstream_operation_id,
    }
}

fn failure(failure: checked::Failure) -> Failure {
    Failure {
        code: code(failure.code),
        effect: match failure.effect {
            checked::Effect::None => Effect::None,
            checked::Effect::Partial => Effect::Partial,
            checked::Effect::Unknown => Effect::Unknown,
        },
        reason: failure.reason,
        message: failure.message,
        retry_after: failure.retry_after,
        violations: failure
            .violations
            .into_iter()
            .map(|violation| FieldViolation {
                path: violation.path,
                message: violation.message,
            })
            .collect(),
        upstream_code: failure.upstream_code,
        upstream_request_id: failure.upstream_request_id,
        existing_external_name: failure.existing_external_name,
    }
}

fn code(code: checked::FailureCode) -> FailureCode {
    use checked::FailureCode as Checked;
    match code {
        Checked::InvalidSpec => FailureCode::InvalidSpec,
        Checked::ImmutableField => FailureCode::ImmutableField,
        Checked::Unsupported => FailureCode::Unsupported,
        Checked::AlreadyExists => FailureCode::AlreadyExists,
        Checked::NotFound => FailureCode::NotFound,
        Checked::Conflict => FailureCode::Conflict,
        Checked::DependencyNotReady => FailureCode::DependencyNotReady,
        Checked::InvalidConfig => FailureCode::InvalidConfig,
        Checked::Unauthenticated => FailureCode::Unauthenticated,
        Checked::CredentialsExpired => FailureCode::CredentialsExpired,
        Checked::PermissionDenied => FailureCode::PermissionDenied,
        Checked::Throttled => FailureCode::Throttled,
        Checked::QuotaExceeded => FailureCode::QuotaExceeded,
        Checked::Unavailable => FailureCode::Unavailable,
        Checked::Timeout => FailureCode::Timeout,
        Checked::OperationFailed => FailureCode::OperationFailed,
        Checked::OperationExpired => FailureCode::OperationExpired,
        Checked::TokenReused => FailureCode::TokenReused,
        Checked::Internal => FailureCode::Internal,
    }
}
