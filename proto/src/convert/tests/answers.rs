use std::{collections::HashMap, time::Duration};

use super::{refused, requests::document};
use crossbridge_types::{
    Effect, Failure, FailureCode, Listed, ObserveResult, Operation, OperationVerb, Outcome, OutcomeResult,
    Violation,
};

use crate::v1alpha1::{self as wire, observe_response, outcome};

fn failure() -> wire::Failure {
    wire::Failure {
        code: wire::FailureCode::Throttled.into(),
        effect: wire::Effect::None.into(),
        reason: "TooFast".to_owned(),
        message: "Slow down.".to_owned(),
        retry_after: Some(prost_types::Duration {
            seconds: 2,
            nanos: 500_000_000,
        }),
        violations: vec![wire::FieldViolation {
            path: String::new(),
            message: "too long".to_owned(),
        }],
        ..Default::default()
    }
}

fn operation() -> wire::Operation {
    wire::Operation {
        handle: "h".repeat(4096),
        verb: wire::OperationVerb::Create.into(),
        progress_percent: Some(100),
        phase: "Copying".to_owned(),
        ..Default::default()
    }
}

fn observation() -> wire::Observation {
    wire::Observation {
        external_name: "notes.txt".to_owned(),
        parameters: Some(document("{}")),
        status: Some(document(r#"{"size": 3}"#)),
        up_to_date: wire::Tristate::False.into(),
        diffs: vec![wire::FieldDiff {
            path: "/a".to_owned(),
            desired_json: "1".to_owned(),
            ..Default::default()
        }],
        connection_details: HashMap::from([("user.name".to_owned(), b"root".to_vec())]),
        operation: Some(operation()),
        warnings: vec![wire::Warning {
            reason: "Slow".to_owned(),
            message: "It is slow.".to_owned(),
        }],
        ..Default::default()
    }
}

fn with(result: outcome::Result) -> wire::Outcome {
    wire::Outcome {
        external_name: "notes.txt".to_owned(),
        result: Some(result),
        ..Default::default()
    }
}

#[test]
fn a_failure_is_checked() {
    refused!(Failure, failure();
        "reason": |failure| failure.reason.clear();
        "reason": |failure| failure.reason = "too_fast".to_owned();
        "reason": |failure| failure.reason = "T".repeat(64);
        "message": |failure| failure.message.clear();
        "retry_after": |failure| failure.retry_after = Some(prost_types::Duration { seconds: -1, nanos: 0 });
        "violations[0].message": |failure| failure.violations[0].message.clear();
        "violations[0].path": |failure| failure.violations[0].path = "a.b".to_owned();
    );
}

#[test]
fn advice_of_more_than_an_hour_counts_as_an_hour() -> Result<(), Violation> {
    let hour = Duration::from_hours(1);
    for (seconds, counts) in [(3599, Duration::from_secs(3599)), (3601, hour), (i64::MAX, hour)] {
        let advice = Some(prost_types::Duration { seconds, nanos: 0 });
        let failure = Failure::try_from(wire::Failure {
            retry_after: advice,
            ..failure()
        })?;
        let operation = Operation::try_from(wire::Operation {
            poll_after: advice,
            ..operation()
        })?;
        let observed = ObserveResult::try_from(wire::ObserveResponse {
            result: Some(observe_response::Result::Observation(wire::Observation {
                observe_after: advice,
                ..observation()
            })),
        })?;
        let ObserveResult::Found(observation) = observed else {
            panic!("it exists: {observed:?}");
        };
        let read = [
            failure.retry_after,
            operation.poll_after,
            observation.observe_after,
        ];
        assert_eq!(read, [Some(counts); 3], "{seconds} s");
    }
    Ok(())
}

#[test]
fn unset_and_unknown_values_have_the_documented_default() -> Result<(), Violation> {
    for code in [0, 4711] {
        for effect in [0, 4711] {
            let failure = Failure::try_from(wire::Failure {
                code,
                effect,
                ..failure()
            })?;
            assert_eq!(
                (failure.code, failure.effect),
                (FailureCode::Internal, Effect::Unknown)
            );
        }
    }
    Ok(())
}

#[test]
fn every_failure_code_has_a_code_of_its_own() {
    for number in 1..=19 {
        let code = wire::FailureCode::try_from(number).expect("the contract numbers them so");
        assert_eq!(wire::FailureCode::from(FailureCode::from(code)), code);
    }
    assert!(
        wire::FailureCode::try_from(20).is_err(),
        "a new code needs a word"
    );
}

#[test]
fn an_operation_is_checked() {
    refused!(Operation, operation();
        "handle": |operation| operation.handle.clear();
        "handle": |operation| operation.handle.push('h');
        "verb": |operation| operation.verb = 0;
        "verb": |operation| operation.verb = 4711;
        "progress_percent": |operation| operation.progress_percent = Some(101);
        "progress_percent": |operation| operation.progress_percent = Some(-1);
        "progress_percent": |operation| operation.progress_percent = Some(300);
        "phase": |operation| operation.phase = "copying files".to_owned();
        "poll_after": |operation| operation.poll_after = Some(prost_types::Duration { seconds: 0, nanos: -1 });
    );
}

fn found(observation: wire::Observation) -> wire::ObserveResponse {
    wire::ObserveResponse {
        result: Some(observe_response::Result::Observation(observation)),
    }
}

#[test]
fn an_observe_response_is_checked() {
    refused!(ObserveResult, found(observation());
        "result": |response| response.result = None;
        "failure.reason": |response| {
            response.result = Some(observe_response::Result::Failure(wire::Failure::default()));
        };
        "observation.external_name": |response| {
            *response = found(wire::Observation { external_name: String::new(), ..observation() });
        };
        "observation.parameters": |response| {
            *response = found(wire::Observation { parameters: None, ..observation() });
        };
        "observation.status.json": |response| {
            *response = found(wire::Observation { status: Some(document("3")), ..observation() });
        };
        "observation.provider_state": |response| {
            *response = found(wire::Observation { provider_state: "s".repeat(4097), ..observation() });
        };
        "observation.diffs[0].path": |response| {
            *response = found(wire::Observation { diffs: vec![wire::FieldDiff::default()], ..observation() });
        };
        "observation.diffs[0].desired_json": |response| {
            let diff = wire::FieldDiff { path: "/a".to_owned(), desired_json: "{".to_owned(), ..Default::default() };
            *response = found(wire::Observation { diffs: vec![diff], ..observation() });
        };
        "observation.connection_details[\"a/b\"]": |response| {
            let details = HashMap::from([("a/b".to_owned(), Vec::new())]);
            *response = found(wire::Observation { connection_details: details, ..observation() });
        };
        "observation.operation.verb": |response| {
            let operation = wire::Operation { verb: 0, ..operation() };
            *response = found(wire::Observation { operation: Some(operation), ..observation() });
        };
        "observation.warnings[0].reason": |response| {
            *response = found(wire::Observation { warnings: vec![wire::Warning::default()], ..observation() });
        };
    );
}

#[test]
fn an_absence_is_not_a_failure() -> Result<(), Violation> {
    let absent = wire::ObserveResponse {
        result: Some(observe_response::Result::Absent(wire::Absent::default())),
    };
    assert!(matches!(
        ObserveResult::try_from(absent)?,
        ObserveResult::Absent(_)
    ));
    Ok(())
}

#[test]
fn an_outcome_is_checked() {
    refused!(Outcome, with(outcome::Result::Operation(operation()));
        "result": |outcome| outcome.result = None;
        "provider_state": |outcome| outcome.provider_state = "s".repeat(4097);
        "connection_details[\"\"]": |outcome| {
            outcome.connection_details.insert(String::new(), Vec::new());
        };
        "warnings[0].message": |outcome| {
            outcome.warnings.push(wire::Warning { reason: "Slow".to_owned(), message: String::new() });
        };
        "operation.handle": |outcome| {
            outcome.result = Some(outcome::Result::Operation(wire::Operation { handle: String::new(), ..operation() }));
        };
        "failure.message": |outcome| {
            outcome.result = Some(outcome::Result::Failure(wire::Failure { message: String::new(), ..failure() }));
        };
        "completed.observation.parameters": |outcome| {
            let observation = Some(wire::Observation::default());
            outcome.result = Some(outcome::Result::Completed(wire::Completed { observation, already_done: false }));
        };
    );
    refused!(Outcome, wire::CreateResponse { outcome: Some(with(outcome::Result::Failure(failure()))) };
        "outcome": |response| response.outcome = None;
        "outcome.result": |response| response.outcome = Some(wire::Outcome::default());
    );
}

#[test]
fn a_completed_outcome_speaks_for_its_observation() -> Result<(), Violation> {
    let nameless = wire::Observation {
        external_name: String::new(),
        ..observation()
    };
    let outcome = Outcome::try_from(with(outcome::Result::Completed(wire::Completed {
        observation: Some(nameless),
        already_done: true,
    })))?;
    assert!(matches!(outcome.result, OutcomeResult::Completed(completed) if completed.already_done));
    Ok(())
}

#[test]
fn an_answer_must_fit_its_call() -> Result<(), Violation> {
    use OperationVerb::{Create, Delete, Update};
    let completed = |observation| {
        outcome::Result::Completed(wire::Completed {
            observation,
            already_done: false,
        })
    };
    let field = |outcome: &Outcome, verb: OperationVerb, name: &str| {
        outcome
            .check_answer(verb, name)
            .err()
            .map(|violation| violation.field)
    };

    let done = Outcome::try_from(with(completed(Some(observation()))))?;
    assert_eq!(field(&done, Create, ""), None);
    assert_eq!(field(&done, Update, "notes.txt"), None);
    assert_eq!(
        field(&done, Update, "other.txt").as_deref(),
        Some("external_name"),
        "a name never changes"
    );
    assert_eq!(
        field(&done, Delete, "notes.txt").as_deref(),
        Some("completed.observation")
    );

    let nameless = Outcome {
        external_name: String::new(),
        ..Outcome::try_from(with(completed(None)))?
    };
    assert_eq!(field(&nameless, Create, "").as_deref(), Some("external_name"));
    assert_eq!(field(&nameless, Create, "notes.txt"), None);
    assert_eq!(field(&nameless, Delete, "notes.txt"), None);

    let creating = Outcome::try_from(with(outcome::Result::Operation(operation())))?;
    assert_eq!(field(&creating, Create, ""), None);
    assert_eq!(
        field(&creating, Delete, "notes.txt").as_deref(),
        Some("operation.verb")
    );
    Ok(())
}

#[test]
fn responses_survive_a_round_trip() -> Result<(), Violation> {
    let observed = ObserveResult::try_from(found(observation()))?;
    assert_eq!(
        ObserveResult::try_from(wire::ObserveResponse::from(observed.clone()))?,
        observed
    );

    for result in [
        outcome::Result::Operation(operation()),
        outcome::Result::Failure(failure()),
        outcome::Result::Completed(wire::Completed {
            observation: Some(observation()),
            already_done: true,
        }),
    ] {
        let outcome = Outcome::try_from(with(result))?;
        assert_eq!(
            Outcome::try_from(wire::CreateResponse::from(outcome.clone()))?,
            outcome
        );
    }
    Ok(())
}

#[test]
fn durations_that_the_wire_cannot_express_are_cut() {
    let failure = Failure {
        retry_after: Some(Duration::MAX),
        ..Failure::try_from(failure()).expect("the good message passes")
    };
    let seconds = wire::Failure::from(failure)
        .retry_after
        .map(|after| after.seconds);
    assert_eq!(seconds, Some(i64::MAX));
}

#[test]
fn a_list_of_what_exists_is_checked() {
    let listed = wire::ListExternalResponse {
        items: vec![wire::ExternalResource {
            external_name: "notes.txt".to_owned(),
            ..Default::default()
        }],
        ..Default::default()
    };
    refused!(Result<Listed, Failure>, listed;
        "items[0].external_name": |response| response.items[0].external_name.clear();
        "items[0].parameters.json": |response| response.items[0].parameters = Some(document("1"));
        "failure.reason": |response| response.failure = Some(wire::Failure::default());
    );
}
