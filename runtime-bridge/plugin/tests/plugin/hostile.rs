//! A plugin that says too much, too long, or what it was told in confidence.

use bridge_core::{
    external::{CallError, ObserveResult},
    limits,
    port::External,
};
use bridge_plugin::{ConnectionStatus, HandshakeError, Plugin};
use crossbridge_proto::v1alpha1::{
    ConnectionKey, Document, Effect, Failure, FailureCode as WireCode, FieldDiff, FieldViolation,
    Observation, ObserveResponse, ResourceKind, Warning, observe_response,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tonic::Status;

use crate::fake::{Fake, Say, Script, desired, in_seconds, kind, target};

pub fn found(observation: Observation) -> Say<ObserveResponse> {
    Say::Answer(ObserveResponse {
        result: Some(observe_response::Result::Observation(Observation {
            external_name: if observation.external_name.is_empty() {
                "logs".into()
            } else {
                observation.external_name
            },
            parameters: Some(
                observation
                    .parameters
                    .unwrap_or_else(|| Document { json: "{}".into() }),
            ),
            ..observation
        })),
    })
}

fn differs(path: &str, desired: &str) -> FieldDiff {
    FieldDiff {
        path: path.to_owned(),
        desired_json: desired.to_owned(),
        ..FieldDiff::default()
    }
}

pub async fn observed(say: Say<ObserveResponse>) -> Result<ObserveResult, CallError> {
    let mut script = Script {
        observe: say,
        ..Script::default()
    };
    let bucket = &mut script.kinds.get_mut("Bucket").unwrap().1;
    bucket.connection_keys = vec![ConnectionKey {
        name: "url".into(),
        ..ConnectionKey::default()
    }];
    let fake = Fake::start(script);
    let plugin = fake.connect().await;
    plugin.observe(&target(), &desired(), in_seconds(30)).await
}

async fn refused(say: Say<ObserveResponse>) -> String {
    match observed(say).await {
        Err(CallError::Unknown { code, message }) if code == "INVALID_ANSWER" => message,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_answer_over_a_limit_is_a_failure_that_names_the_field() {
    let nested = format!(r#"{{"a": {}1{}}}"#, "[".repeat(70), "]".repeat(70));
    let warning = Warning {
        reason: "Odd".into(),
        message: "It is.".into(),
    };
    let cases = [
        (
            "observation.external_name has 307200 bytes",
            Observation {
                external_name: "x".repeat(300 << 10),
                ..Observation::default()
            },
        ),
        (
            "observation.etag is malformed: it must be without control characters",
            Observation {
                etag: "a\u{1b}[2J".into(),
                ..Observation::default()
            },
        ),
        (
            "observation.warnings has 17 items; at most 16",
            Observation {
                warnings: vec![warning; 17],
                ..Observation::default()
            },
        ),
        (
            "observation.diffs has 1025 items; at most 1024",
            Observation {
                diffs: vec![differs("/a", ""); 1025],
                ..Observation::default()
            },
        ),
        (
            "observation.diffs[0].path has 1025 bytes; at most 1024",
            Observation {
                diffs: vec![differs(&format!("/{}", "a".repeat(1024)), "")],
                ..Observation::default()
            },
        ),
        (
            "observation.diffs[0..=992] has 32769 items; at most 32768",
            Observation {
                diffs: vec![differs("/a", &json!([0, 0, 0].repeat(11)).to_string()); 1024],
                ..Observation::default()
            },
        ),
        (
            "observation.parameters is nested too deeply",
            Observation {
                parameters: Some(Document { json: nested.clone() }),
                ..Observation::default()
            },
        ),
        (
            "observation.parameters.json has 40001 items; at most 32768",
            Observation {
                parameters: Some(Document {
                    json: json!({ "a": vec![0; 40_000] }).to_string(),
                }),
                ..Observation::default()
            },
        ),
        (
            "observation.status is nested too deeply",
            Observation {
                status: Some(Document { json: nested }),
                ..Observation::default()
            },
        ),
        (
            "observation.connection_details has 1048580 bytes",
            Observation {
                connection_details: [("url".to_owned(), vec![0; (1 << 20) + 1])].into(),
                ..Observation::default()
            },
        ),
    ];
    for (expected, observation) in cases {
        let message = refused(found(observation)).await;
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

/// Else a Delete would go to what was found.
#[tokio::test]
async fn what_is_found_under_another_name_is_not_believed() {
    let message = refused(found(Observation {
        external_name: "logs-of-another".into(),
        ..Observation::default()
    }))
    .await;
    assert!(message.contains("a name never changes"), "{message}");
}

#[tokio::test]
async fn an_answer_of_more_than_4_mib_is_not_read() {
    let large = Document {
        json: json!({ "a": "x".repeat(limits::ANSWER) }).to_string(),
    };
    let answer = observed(found(Observation {
        parameters: Some(large),
        ..Observation::default()
    }))
    .await;
    let Err(CallError::Unknown { message, .. }) = answer else {
        panic!("{answer:?}");
    };
    assert!(message.contains("too large"), "{message}");
}

#[tokio::test]
async fn an_answer_of_too_many_fields_is_not_decoded() {
    let answer = observed(found(Observation {
        diffs: vec![FieldDiff::default(); limits::FIELDS],
        ..Observation::default()
    }))
    .await;
    let Err(CallError::Unknown { code, message }) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(code, "OUT_OF_RANGE");
    assert!(
        message.contains("the answer has more than 32768 fields"),
        "{message}"
    );
}

#[tokio::test]
async fn a_long_text_is_cut_and_commands_no_terminal() {
    let answer = observed(found(Observation {
        ready_message: format!("\u{1b}[31m{}", "x".repeat(1 << 20)),
        connection_details: [("url".to_owned(), vec![1])].into(),
        ..Observation::default()
    }))
    .await;
    let Ok(ObserveResult::Found(found)) = answer else {
        panic!("{answer:?}");
    };
    assert!(found.ready_message.len() <= limits::TEXT);
    assert!(found.ready_message.starts_with("\u{fffd}[31m"));
}

#[tokio::test]
async fn values_that_were_sent_come_back_in_no_text() {
    let failure = Failure {
        code: WireCode::PermissionDenied.into(),
        effect: Effect::None.into(),
        reason: "Denied".into(),
        message: "the token canary is wrong".into(),
        violations: vec![FieldViolation {
            path: "/password".into(),
            message: "Y2FuYXJ5 is too short".into(),
        }],
        upstream_request_id: "for=canary".into(),
        ..Failure::default()
    };
    let result = Some(observe_response::Result::Failure(failure));
    let answer = observed(Say::Answer(ObserveResponse { result })).await;
    let Ok(ObserveResult::Failed(failure)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(failure.message, "the token [redacted] is wrong");
    assert_eq!(failure.violations[0].message, "[redacted] is too short");
    assert_eq!(failure.upstream_request_id, "for=[redacted]");
    let status = Status::internal("panicked at canary: Secrets { token: \"canary\" }");
    let error = observed(Say::Status(status)).await.unwrap_err();
    assert!(!error.to_string().contains("canary"), "{error}");
    assert!(error.to_string().contains("panicked at [redacted]"), "{error}");
}

#[tokio::test]
async fn sensitive_values_are_published_in_no_status() {
    // The account, too, is a credential, and a part of every id.
    let answer = observed(found(Observation {
        status: Some(Document {
            json: json!({ "url": "https://me:hunter2hunter2@example.org", "all": [{ "password": "hunter2hunter2" }], "account": "canary" })
                .to_string(),
        }),
        ..Observation::default()
    }))
    .await;
    let Ok(ObserveResult::Found(observation)) = answer else {
        panic!("{answer:?}");
    };
    let published = serde_json::Value::Object(observation.status.unwrap());
    assert_eq!(
        published,
        json!({ "url": "https://me:[redacted]@example.org", "all": [{ "password": "[redacted]" }], "account": "canary" })
    );
}

async fn handshake(script: Script) -> HandshakeError {
    let fake = Fake::start(script);
    match Plugin::connect(fake.options()).await {
        Ok(_) => panic!("the handshake succeeded"),
        Err(error) => error,
    }
}

#[tokio::test]
async fn a_plugin_of_more_than_512_kinds_is_rejected() {
    let mut script = Script {
        page: 100,
        ..Script::default()
    };
    script.kinds = (0..=limits::KINDS)
        .map(|n| (format!("Kind{n}"), ("1".to_owned(), kind(&format!("Kind{n}")))))
        .collect();
    let error = handshake(script).await;
    assert!(error.to_string().contains("more than 512 kinds"), "{error}");
}

#[tokio::test]
async fn a_plugin_that_pages_without_end_is_rejected() {
    let error = handshake(Script {
        page: 0,
        ..Script::default()
    })
    .await;
    assert!(error.to_string().contains("more than 512 pages"), "{error}");
}

#[tokio::test]
async fn a_kind_over_a_limit_is_left_out_alone() {
    let mut script = Script::default();
    let queue = &mut script.kinds.get_mut("Queue").unwrap().1;
    let long = "x".repeat(limits::SCHEMA);
    queue.parameters_schema_json = json!({"type": "object", "description": long}).to_string();
    let table = &mut script.kinds.get_mut("Table").unwrap().1;
    table.short_names = (0..=limits::RULES).map(|n| format!("t{n}")).collect();
    let fake = Fake::start(script);
    let plugin = fake.connect().await;
    let served = plugin.state().borrow().served.clone();
    let kinds: Vec<&str> = served
        .kinds
        .iter()
        .map(|kind| kind.resource_type.kind.as_str())
        .collect();
    assert_eq!(kinds, ["Bucket"]);
    let why: Vec<&str> = served
        .refused
        .iter()
        .map(|refused| refused.why.as_str())
        .collect();
    assert!(
        why[0].contains("parameters_schema_json has") && why[0].contains("at most 262144"),
        "{why:?}"
    );
    assert!(why[1].contains("short_names has 257 items"), "{why:?}");
}

#[tokio::test]
async fn all_kinds_together_are_bounded() {
    let mut script = Script {
        page: 512,
        ..Script::default()
    };
    let description = "x".repeat(limits::ANSWER - (1 << 20));
    script.kinds = (0..25)
        .map(|n| {
            let mut kind = kind(&format!("Kind{n}"));
            kind.description.clone_from(&description);
            (format!("Kind{n}"), ("1".to_owned(), kind))
        })
        .collect();
    let error = handshake(script).await;
    assert!(error.to_string().contains("more than 64 MiB in all"), "{error}");
}

/// A kind with a schema of so many values, of two bytes each.
fn with_values(name: &str, count: usize) -> ResourceKind {
    let number = json!({"type": "integer", "enum": vec![1; count]});
    let schema = json!({"type": "object", "properties": {"number": number}});
    ResourceKind {
        parameters_schema_json: schema.to_string(),
        ..kind(name)
    }
}

#[tokio::test]
async fn values_of_all_schemas_together_are_bounded() {
    let mut script = Script {
        page: 512,
        ..Script::default()
    };
    let kinds = (0..17).map(|n| format!("Kind{n}"));
    script.kinds = kinds
        .map(|name| (name.clone(), ("1".to_owned(), with_values(&name, 32_000))))
        .collect();
    let error = handshake(script).await;
    let expected = "more than 524288 values in the schemas and examples of all kinds";
    assert!(error.to_string().contains(expected), "{error}");
}

#[tokio::test]
async fn kinds_that_are_kept_count_in_the_next_handshake() {
    let half = |kinds: std::ops::Range<usize>| {
        let kinds = kinds.map(|n| format!("Kind{n}"));
        kinds.map(|name| (name.clone(), ("1".to_owned(), with_values(&name, 32_000))))
    };
    let fake = Fake::start(Script {
        page: 512,
        kinds: half(0..10).collect(),
        ..Script::default()
    });
    let (plugin, supervision) = Plugin::connect(fake.options()).await.unwrap();
    let stop = CancellationToken::new();
    let supervised = tokio::spawn(supervision.run(stop.clone()));
    {
        let mut script = fake.script();
        script.info.instance_id = "another".into();
        script.kinds.extend(half(10..20));
    }
    let mut state = plugin.state();
    let down = state.wait_for(|state| matches!(state.link, ConnectionStatus::Down { .. }));
    let why = match &down.await.unwrap().link {
        ConnectionStatus::Down { why, .. } => why.clone(),
        ConnectionStatus::Up => String::new(),
    };
    assert!(why.contains("more than 524288 values"), "{why}");
    assert_eq!(
        plugin.state().borrow().served.kinds.len(),
        10,
        "what it published is served"
    );
    stop.cancel();
    supervised.await.unwrap();
}

/// Fails each call, and calls itself another process each time that it is asked.
#[tokio::test]
async fn calls_that_fail_cause_no_handshake_each() {
    let fake = Fake::start(Script {
        observe: Say::Status(Status::unavailable("not now")),
        ..Script::default()
    });
    let mut options = fake.options();
    options.check_every = std::time::Duration::from_hours(1);
    let (plugin, supervision) = Plugin::connect(options).await.unwrap();
    let stop = CancellationToken::new();
    let supervised = tokio::spawn(supervision.run(stop.clone()));
    let begun = std::time::Instant::now();
    let mut renewals = 0;
    let mut state = plugin.state();
    for call in 0..200 {
        fake.script().info.instance_id = call.to_string();
        assert!(
            plugin
                .observe(&target(), &desired(), in_seconds(30))
                .await
                .is_err()
        );
        if state.has_changed().unwrap() {
            state.borrow_and_update();
            renewals += 1;
        }
    }
    // The first at once, the next ones a second after and later.
    let most = 2 + begun.elapsed().as_secs();
    assert!(renewals <= most, "{renewals} handshakes, at most {most}");
    stop.cancel();
    supervised.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn large_answers_are_parsed_one_at_a_time_beside_the_workers() {
    let large = found(Observation {
        parameters: Some(Document {
            json: json!({"a": "x".repeat(300 << 10)}).to_string(),
        }),
        ..Observation::default()
    });
    let fake = Fake::start(Script {
        observe: large,
        ..Script::default()
    });
    let plugin = fake.connect().await;
    let (begun, begins) = tokio::sync::oneshot::channel();
    let (go_on, goes_on) = std::sync::mpsc::channel();
    let computing = plugin.clone();
    let compute = tokio::spawn(async move {
        let goes_on = std::sync::Mutex::new(goes_on);
        let mut begun = Some(begun);
        External::compute(&computing, &mut || {
            begun
                .take()
                .expect("it is called once")
                .send(())
                .expect("the test waits");
            goes_on.lock().unwrap().recv().expect("the test goes on");
        })
        .await;
    });
    begins.await.unwrap();
    // The one worker has been handed over: all else goes on.
    let observing = plugin.clone();
    let observe = tokio::spawn(async move { observing.observe(&target(), &desired(), in_seconds(30)).await });
    while fake.script().observed == 0 {
        tokio::task::yield_now().await;
    }
    let waits = tokio::time::timeout(std::time::Duration::from_millis(200), is_over(&observe)).await;
    assert!(waits.is_err(), "a second one was parsed at the same time");
    go_on.send(()).unwrap();
    compute.await.unwrap();
    assert!(matches!(observe.await.unwrap(), Ok(ObserveResult::Found(_))));
}

async fn is_over<T>(task: &tokio::task::JoinHandle<T>) {
    while !task.is_finished() {
        tokio::task::yield_now().await;
    }
}
