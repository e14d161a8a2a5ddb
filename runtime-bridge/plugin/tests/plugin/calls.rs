//! What is sent, what is never sent, and how each end of a call is classified.

use std::{cell::Cell, time::Duration};

use crate::fake::{Fake, Say, Script, config, desired, in_millis, in_seconds, target};
use bridge_core::{
    external::{
        Answer, Call, CallError, DesiredState, FailureCode, ObserveResult, OutcomeResult, Secrets, Verb,
    },
    port::External,
};
use bridge_plugin::Plugin;
use crossbridge_proto::v1alpha1::{
    Absent, CheckConfigResponse, CreateResponse, DiffMode, Document, Effect, Failure,
    FailureCode as WireCode, KindCapabilities, Observation, ObserveResponse, Operation, OperationVerb,
    Outcome, Tristate, observe_response, outcome,
};
use jiff::Timestamp;
use tonic::{Code, Status};

const TOKEN: &str = "123e4567-e89b-12d3-a456-426614174000";

fn operation(verb: OperationVerb) -> CreateResponse {
    CreateResponse {
        outcome: Some(Outcome {
            external_name: "logs".into(),
            result: Some(outcome::Result::Operation(Operation {
                handle: "handle".into(),
                verb: verb.into(),
                ..Operation::default()
            })),
            ..Outcome::default()
        }),
    }
}

/// Creates, by a call as the bridge decides upon it.
async fn create_by(
    plugin: &Plugin,
    desired: DesiredState,
    outcome_unknown: bool,
    deadline: Timestamp,
) -> Answer {
    let call = Call {
        token: TOKEN.to_owned(),
        outcome_unknown,
        ..Call::new(Verb::Create, target(), desired, deadline)
    };
    plugin.execute(&call).await
}

async fn create(say: Say<CreateResponse>) -> (Answer, Fake) {
    let fake = Fake::start(Script {
        create: say,
        ..Script::default()
    });
    let plugin = fake.connect().await;
    let answer = create_by(&plugin, desired(), true, in_seconds(30)).await;
    (answer, fake)
}

#[tokio::test]
async fn a_create_carries_desired_state_deadline_and_trace() {
    let fake = Fake::start(Script {
        create: Say::Answer(operation(OperationVerb::Create)),
        ..Script::default()
    });
    let plugin = fake.connect().await;
    let deadline = in_seconds(30);
    let answer = create_by(&plugin, desired(), true, deadline).await.unwrap();
    assert_eq!(answer.external_name, "logs");
    assert!(matches!(answer.result, OutcomeResult::Operation(_)));

    let created = fake.script().created.clone();
    let (metadata, sent) = created.first().unwrap();
    let text = |key: &str| metadata.get(key).unwrap().to_str().unwrap().to_owned();
    assert_eq!(
        text("crossbridge-deadline-ms"),
        deadline.as_millisecond().to_string()
    );
    assert_eq!(text("crossbridge-call-id").len(), 36);
    let traceparent = text("traceparent");
    let parts: Vec<usize> = traceparent.split('-').map(str::len).collect();
    assert_eq!(parts, [2, 32, 16, 2], "{traceparent}");
    assert!(metadata.get("grpc-timeout").is_some());

    assert_eq!(sent.client_request_token, TOKEN);
    assert!(sent.outcome_unknown);
    let desired = sent.desired.clone().unwrap();
    assert_eq!(desired.parameters.unwrap().json, r#"{"size":9007199254740993}"#);
    assert_eq!(desired.sensitive_values["/password"], "hunter2hunter2");
    let about = sent.target.clone().unwrap();
    assert_eq!(about.owner.unwrap().uid, "uid-1");
    assert_eq!(about.provider_state, "state");
    assert_eq!(about.config.unwrap().credentials["token"], b"canary");
}

#[tokio::test]
async fn nothing_is_sent_after_the_deadline() {
    let fake = Fake::start(Script::default());
    let plugin = fake.connect().await;
    let answer = create_by(&plugin, desired(), false, in_millis(-1)).await;
    assert_eq!(refused(answer), "NOT_SENT");
    assert!(fake.script().created.is_empty());
}

/// The code of a call that certainly had no effect.
fn refused<T: std::fmt::Debug>(answer: Result<T, CallError>) -> String {
    match answer {
        Err(CallError::Rejected { code, .. }) => code,
        other => panic!("not rejected: {other:?}"),
    }
}

/// The code and message of a call whose effect is unknown.
fn unknown<T: std::fmt::Debug>(answer: Result<T, CallError>) -> (String, String) {
    match answer {
        Err(CallError::Unknown { code, message }) => (code, message),
        other => panic!("not unknown: {other:?}"),
    }
}

#[tokio::test]
async fn four_statuses_mean_that_nothing_was_done() {
    for (code, name) in [
        (Code::InvalidArgument, "INVALID_ARGUMENT"),
        (Code::FailedPrecondition, "FAILED_PRECONDITION"),
        (Code::NotFound, "NOT_FOUND"),
        (Code::Unimplemented, "UNIMPLEMENTED"),
    ] {
        let (answer, _fake) = create(Say::Status(Status::new(code, "no"))).await;
        assert_eq!(refused(answer), name);
    }
}

#[tokio::test]
async fn every_other_status_leaves_it_open() {
    for (code, name) in [
        (Code::Cancelled, "CANCELLED"),
        (Code::Unknown, "UNKNOWN"),
        (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
        (Code::AlreadyExists, "ALREADY_EXISTS"),
        (Code::PermissionDenied, "PERMISSION_DENIED"),
        (Code::ResourceExhausted, "RESOURCE_EXHAUSTED"),
        (Code::Aborted, "ABORTED"),
        (Code::OutOfRange, "OUT_OF_RANGE"),
        (Code::Internal, "INTERNAL"),
        (Code::Unavailable, "UNAVAILABLE"),
        (Code::DataLoss, "DATA_LOSS"),
        (Code::Unauthenticated, "UNAUTHENTICATED"),
    ] {
        let (answer, _fake) = create(Say::Status(Status::new(code, "no"))).await;
        assert_eq!(unknown(answer).0, name);
    }
}

#[tokio::test]
async fn a_call_that_hangs_ends_at_its_deadline_unknown() {
    let fake = Fake::start(Script::default());
    let plugin = fake.connect().await;
    let answer = create_by(&plugin, desired(), false, in_millis(300)).await;
    assert_eq!(unknown(answer).0, "DEADLINE_EXCEEDED");
}

#[tokio::test]
async fn a_call_that_could_not_connect_was_certainly_not_sent() {
    let mut fake = Fake::start(Script::default());
    let plugin = fake.connect().await;
    fake.stop().await;
    // The first call may meet the old connection while it is being closed: then its outcome is unknown.
    let mut codes = Vec::new();
    for _ in 0..2 {
        let answer = create_by(&plugin, desired(), false, in_seconds(30)).await;
        codes.push(match answer {
            Err(CallError::Unreachable { .. }) => "not sent".to_owned(),
            Err(CallError::Rejected { code, .. } | CallError::Unknown { code, .. }) => code,
            Ok(answer) => panic!("{answer:?}"),
        });
    }
    assert_eq!(codes[1], "not sent", "{codes:?}");
}

#[tokio::test]
async fn a_connection_that_breaks_under_a_call_leaves_it_open() {
    let mut fake = Fake::start(Script::default());
    let plugin = fake.connect().await;
    let call = tokio::spawn(async move { create_by(&plugin, desired(), false, in_seconds(60)).await });
    tokio::time::timeout(Duration::from_secs(30), async {
        while fake.script().created.is_empty() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("the call arrives");
    fake.stop().await;
    let (code, _) = unknown(call.await.unwrap());
    assert_ne!(code, "DEADLINE_EXCEEDED");
}

#[tokio::test]
async fn answers_that_break_the_contract_have_an_unknown_outcome() {
    let no_handle = CreateResponse {
        outcome: Some(Outcome {
            result: Some(outcome::Result::Operation(Operation {
                verb: OperationVerb::Create.into(),
                ..Operation::default()
            })),
            ..Outcome::default()
        }),
    };
    let mut renamed = operation(OperationVerb::Create);
    renamed.outcome.as_mut().unwrap().external_name = "other".into();
    for (answer, field) in [
        (CreateResponse::default(), "outcome"),
        (
            CreateResponse {
                outcome: Some(Outcome::default()),
            },
            "outcome.result",
        ),
        (no_handle, "outcome.operation.handle"),
        (operation(OperationVerb::Delete), "operation.verb"),
        (renamed, "external_name"),
    ] {
        let (answer, _fake) = create(Say::Answer(answer)).await;
        let (code, message) = unknown(answer);
        assert_eq!(code, "INVALID_ANSWER");
        assert!(message.contains(field), "{message}");
    }
}

#[tokio::test]
async fn a_request_beyond_the_limit_is_not_sent() {
    let mut script = Script::default();
    script.info.max_message_bytes = 64;
    let fake = Fake::start(script);
    let plugin = fake.connect().await;
    let answer = create_by(&plugin, desired(), false, in_seconds(30)).await;
    assert_eq!(refused(answer), "NOT_SENT");
    assert!(fake.script().created.is_empty());
}

#[tokio::test]
async fn a_call_that_lacks_what_its_verb_requires_is_not_sent() {
    let fake = Fake::start(Script {
        create: Say::Answer(operation(OperationVerb::Create)),
        ..Script::default()
    });
    let plugin = fake.connect().await;
    let call = Call {
        token: "no uuid".to_owned(),
        ..Call::new(Verb::Create, target(), desired(), in_seconds(30))
    };
    assert_eq!(refused(plugin.execute(&call).await), "NOT_SENT");
    assert!(fake.script().created.is_empty());
}

#[tokio::test]
async fn a_sensitive_value_that_is_no_text_is_not_sent() {
    let fake = Fake::start(Script::default());
    let plugin = fake.connect().await;
    let mut desired = desired();
    desired.sensitive.0.insert("/password".into(), vec![0xff]);
    let answer = create_by(&plugin, desired, false, in_seconds(30)).await;
    assert_eq!(refused(answer), "NOT_SENT");
}

#[tokio::test]
async fn permits_are_one_fewer_than_the_plugin_takes_calls() {
    let mut script = Script::default();
    script.info.max_concurrent_calls = 3;
    let fake = Fake::start(script);
    let plugin = fake.connect().await;
    let permits = [plugin.try_acquire(), plugin.try_acquire()];
    assert!(permits.iter().all(Option::is_some));
    assert!(plugin.try_acquire().is_none());
    let waits = tokio::time::timeout(Duration::from_millis(20), plugin.acquire()).await;
    assert!(waits.is_err());
    drop(permits);
    assert!(plugin.try_acquire().is_some(), "they were given back");
}

#[tokio::test]
async fn a_config_is_checked_by_who_holds_the_last_permit() {
    let mut script = Script {
        check_config: Say::Answer(CheckConfigResponse::default()),
        ..Script::default()
    };
    script.info.max_concurrent_calls = 2;
    let fake = Fake::start(script);
    let plugin = fake.connect().await;
    let _permit = plugin.try_acquire().expect("one is free");
    let checked = plugin.check_config(&config(), in_seconds(30)).await;
    assert_eq!(checked, Ok(Ok(String::new())));
}

#[tokio::test]
async fn a_plugin_of_one_call_at_a_time_is_asked_nothing_beside_it() {
    let mut script = Script {
        create: Say::Nothing,
        check_config: Say::Answer(CheckConfigResponse::default()),
        ..Script::default()
    };
    script.info.max_concurrent_calls = 1;
    let fake = Fake::start(script);
    let plugin = fake.connect().await;
    let _permit = plugin.try_acquire().expect("one is free");
    let ended = Cell::new(false);
    let create = async {
        let answer = create_by(&plugin, desired(), false, in_millis(300)).await;
        ended.set(true);
        unknown(answer);
    };
    let check = async {
        let checked = plugin.check_config(&config(), in_seconds(30)).await;
        assert_eq!(checked, Ok(Ok(String::new())));
        assert!(ended.get(), "the Create was under way");
    };
    tokio::join!(create, check);
}

#[tokio::test]
async fn absence_requires_an_absent_answer() {
    let absent = ObserveResponse {
        result: Some(observe_response::Result::Absent(Absent {
            external_name: "logs".into(),
        })),
    };
    let failed = ObserveResponse {
        result: Some(observe_response::Result::Failure(Failure {
            code: WireCode::Unauthenticated.into(),
            reason: "BadKey".into(),
            message: "The key is rejected.".into(),
            ..Failure::default()
        })),
    };
    for (answer, expected) in [(absent, None), (failed, Some(FailureCode::Unauthenticated))] {
        let fake = Fake::start(Script {
            observe: Say::Answer(answer),
            ..Script::default()
        });
        let observed = fake
            .connect()
            .await
            .observe(&target(), &desired(), in_seconds(30))
            .await
            .unwrap();
        let failure = match observed {
            ObserveResult::Absent(absent) => {
                assert_eq!(absent.external_name, "logs");
                None
            }
            ObserveResult::Failed(failure) => Some(failure.code),
            ObserveResult::Found(found) => panic!("{found:?}"),
        };
        assert_eq!(failure, expected);
    }
    let fake = Fake::start(Script {
        observe: Say::Answer(ObserveResponse::default()),
        ..Script::default()
    });
    let observed = fake
        .connect()
        .await
        .observe(&target(), &desired(), in_seconds(30))
        .await;
    assert_eq!(unknown(observed).0, "INVALID_ANSWER");
}

#[tokio::test]
async fn a_plugin_that_compares_must_report_the_result() {
    let said = [
        (Tristate::Unspecified, Err("INVALID_ANSWER".to_owned())),
        (Tristate::False, Ok(Some(false))),
        (Tristate::True, Ok(Some(true))),
    ];
    for (says, expected) in said {
        let mut script = Script {
            observe: Say::Answer(ObserveResponse {
                result: Some(observe_response::Result::Observation(Observation {
                    external_name: "logs".into(),
                    parameters: Some(Document { json: "{}".into() }),
                    up_to_date: says.into(),
                    ..Observation::default()
                })),
            }),
            ..Script::default()
        };
        let comparing = KindCapabilities {
            diff_mode: DiffMode::Plugin.into(),
            ..KindCapabilities::default()
        };
        for (_, kind) in script.kinds.values_mut() {
            kind.capabilities = Some(comparing.clone());
        }
        let fake = Fake::start(script);
        let plugin = fake.connect().await;
        let observed = plugin.observe(&target(), &desired(), in_seconds(30)).await;
        let described = match observed {
            Ok(ObserveResult::Found(found)) => Ok(found.up_to_date),
            other => Err(unknown(other).0),
        };
        assert_eq!(described, expected);
    }
}

/// The id of an account is one of its credentials in many clouds. It is not shown, and accounts stay apart.
#[tokio::test]
async fn an_identity_that_holds_a_credential_still_tells_accounts_apart() {
    let fake = Fake::start(Script::default());
    let plugin = fake.connect().await;
    let mut identities = Vec::new();
    for account in ["1111-canary", "2222-canary"] {
        fake.script().check_config = Say::Answer(CheckConfigResponse {
            identity: format!("subscription {account}"),
            ..CheckConfigResponse::default()
        });
        let mut config = config();
        config.credentials = Secrets([("subscriptionId".to_owned(), account.into())].into());
        let identity = plugin
            .check_config(&config, in_seconds(30))
            .await
            .unwrap()
            .unwrap();
        let shown = identity.strip_prefix("subscription [redacted] (sha256:").unwrap();
        assert_eq!(shown.len(), 17, "{identity}");
        identities.push(identity);
    }
    assert_ne!(identities[0], identities[1]);
}

#[tokio::test]
async fn a_config_is_checked() {
    let usable = CheckConfigResponse {
        identity: "account-1".into(),
        ..CheckConfigResponse::default()
    };
    let fake = Fake::start(Script {
        check_config: Say::Answer(usable),
        ..Script::default()
    });
    let plugin = fake.connect().await;
    assert_eq!(
        plugin.check_config(&config(), in_seconds(30)).await,
        Ok(Ok("account-1".into()))
    );
    fake.script().check_config = Say::Answer(CheckConfigResponse {
        failure: Some(Failure {
            code: WireCode::InvalidConfig.into(),
            effect: Effect::None.into(),
            reason: "NoRegion".into(),
            message: "The settings name no region.".into(),
            ..Failure::default()
        }),
        ..CheckConfigResponse::default()
    });
    let rejection = plugin
        .check_config(&config(), in_seconds(30))
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(rejection.reason, "NoRegion");
}
