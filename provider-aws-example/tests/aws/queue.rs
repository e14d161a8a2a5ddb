use std::time::Duration;

use aws_emulator::{Fault, Harm, Options, Service};
use crossbridge_proto::v1alpha1::{self as wire, Effect, FailureCode};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Object, completed, failure, parameters};

const POLICY: &str = r#"{ "Version": "2012-10-17", "Statement":
    [{ "Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*" }] }"#;

fn desired() -> Value {
    json!({
        "name": "jobs",
        "visibilityTimeoutSeconds": 45,
        "messageRetentionPeriodSeconds": 86400,
        "policy": POLICY,
        "tags": { "team": "messaging" },
    })
}

fn queue(fixture: &Fixture, desired: Value) -> Object<'_> {
    fixture.object("sqs", "Queue", "", desired)
}

async fn fresh() -> Fixture {
    Fixture::with(Options {
        queue_name_rests: Duration::ZERO,
        ..Options::default()
    })
    .await
}

#[tokio::test]
async fn a_queue_is_created_updated_and_deleted() {
    let fixture = fresh().await;
    let mut queue = queue(&fixture, desired());
    let url = format!("{}/123456789012/jobs", fixture.aws.endpoint());
    assert_eq!(
        queue.absent().await,
        url,
        "the name is known before the queue exists"
    );

    let created = queue.create().await;
    assert_eq!(created.external_name, url);
    completed(&created);
    queue.external_name.clone_from(&url);
    let found = queue.observation().await;
    assert!(found.ready);
    assert_eq!(found.found_marker, queue.marker);
    assert_eq!(found.canonical_id, "arn:aws:sqs:eu-west-1:123456789012:jobs");
    assert_eq!(parameters(&found)["tags"], json!({ "team": "messaging" }));
    assert_eq!(queue.drift().await, [""; 0]);
    assert_eq!(fixture.aws.queues("eu-west-1").await.unwrap(), [url.as_str()]);

    queue.desired["delaySeconds"] = json!(5);
    queue.desired["redriveAllowPolicy"] = json!({
        "redrivePermission": "byQueue",
        "sourceQueueArns": ["arn:aws:sqs:eu-west-1:123456789012:two", "arn:aws:sqs:eu-west-1:123456789012:one"],
    });
    queue.desired["tags"] = json!({ "tier": "gold" });
    queue.desired["redrivePolicy"] =
        json!({ "deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:dead", "maxReceiveCount": 3 });
    let dead = fixture.object("sqs", "Queue", "", json!({ "name": "dead" }));
    completed(&dead.create().await);
    let drift = queue.drift().await;
    for path in ["/delaySeconds", "/redrivePolicy", "/tags"] {
        assert!(
            drift.iter().any(|one| one.starts_with(path)),
            "{path} in {drift:?}"
        );
    }
    completed(&queue.update().await);
    assert_eq!(queue.drift().await, [""; 0]);

    assert!(!completed(&queue.delete().await).already_done);
    assert_eq!(queue.absent().await, url);
    assert!(completed(&queue.delete().await).already_done);
}

#[tokio::test]
async fn a_fifo_queue_is_created_and_updated_without_drift() {
    let fixture = fresh().await;
    let mut queue = queue(
        &fixture,
        json!({ "name": "jobs.fifo", "fifoQueue": true, "contentBasedDeduplication": true }),
    );
    let created = queue.create().await;
    completed(&created);
    queue.external_name = created.external_name;
    assert_eq!(queue.drift().await, [""; 0]);
    queue.desired["contentBasedDeduplication"] = json!(false);
    completed(&queue.update().await);
    assert_eq!(queue.drift().await, [""; 0]);
}

#[tokio::test]
async fn an_existing_queue_is_neither_adopted_nor_retagged() {
    let fixture = fresh().await;
    let first = queue(&fixture, json!({ "name": "jobs" }));
    let url = first.create().await.external_name;
    let mut second = first.clone();
    second.marker = "another-object".to_owned();
    for outcome in [
        first.create().await,
        second.create().await,
        second.create_again().await,
    ] {
        assert_eq!(failure(&outcome).code(), FailureCode::AlreadyExists);
        assert_eq!(failure(&outcome).effect(), Effect::None);
        assert_eq!(failure(&outcome).existing_external_name, url);
    }
    assert_eq!(fixture.aws.calls(Service::Sqs, "CreateQueue"), 1);
    assert_eq!(first.observation().await.found_marker, first.marker);
    second.external_name = url;
    for outcome in [second.update().await, second.delete().await] {
        assert_eq!(failure(&outcome).code(), FailureCode::NotFound);
    }
}

#[tokio::test]
async fn a_repeat_resumes_a_creation_whose_response_was_lost() {
    let fixture = fresh().await;
    let queue = queue(&fixture, desired());
    fixture
        .aws
        .inject(Fault::new(Harm::AnswerLost).on(Service::Sqs, "CreateQueue"));
    let lost = queue.create().await;
    assert_eq!(failure(&lost).effect(), Effect::Unknown, "{lost:?}");
    let again = queue.create_again().await;
    completed(&again);
    assert_eq!(fixture.aws.calls(Service::Sqs, "CreateQueue"), 1);
    assert_eq!(
        fixture.aws.queues("eu-west-1").await.unwrap(),
        [again.external_name]
    );
}

#[tokio::test]
async fn a_deleted_queue_frees_its_name_after_a_minute() {
    let fixture = Fixture::new().await;
    let mut queue = queue(&fixture, desired());
    queue.external_name = queue.create().await.external_name;
    completed(&queue.delete().await);
    let outcome = queue.create().await;
    let failure = failure(&outcome);
    assert_eq!(failure.code(), FailureCode::DependencyNotReady);
    assert_eq!(failure.effect(), Effect::None);
    assert_eq!(failure.reason, "QueueDeletedRecently");
    assert_eq!(failure.retry_after.expect("the failure has a delay").seconds, 60);
}

#[tokio::test]
async fn an_invalid_spec_is_rejected_field_by_field() {
    let fixture = fresh().await;
    let wrong = json!({ "name": "jobs", "fifoQueue": true, "sqsManagedSseEnabled": true, "kmsMasterKeyId": "alias/x" });
    let outcome = queue(&fixture, wrong).create().await;
    let failure = failure(&outcome);
    assert_eq!(failure.code(), FailureCode::InvalidSpec);
    let paths: Vec<&str> = failure
        .violations
        .iter()
        .map(|violation| violation.path.as_str())
        .collect();
    assert_eq!(paths, ["/name", "/kmsMasterKeyId"]);
    assert_eq!(fixture.aws.all_calls(), 0, "no request was sent");
}

#[tokio::test]
async fn a_response_without_attributes_is_no_absence() {
    let fixture = fresh().await;
    let mut queue = queue(&fixture, desired());
    queue.external_name = queue.create().await.external_name;
    let harm = Harm::Error {
        status: 200,
        code: String::new(),
        message: String::new(),
    };
    fixture
        .aws
        .inject(Fault::new(harm).on(Service::Sqs, "GetQueueAttributes"));
    assert_eq!(queue.observe_failure().await.code(), FailureCode::Unavailable);
    queue.observation().await;
}

#[tokio::test]
async fn an_update_writes_differences_to_its_own_queue() {
    let fixture = fresh().await;
    let mut queue = queue(&fixture, desired());
    queue.external_name = queue.create().await.external_name;
    let writes = || {
        ["TagQueue", "UntagQueue", "SetQueueAttributes"].map(|action| fixture.aws.calls(Service::Sqs, action))
    };
    completed(&queue.update().await);
    assert_eq!(writes(), [0, 0, 0], "nothing differs");
    queue.desired["delaySeconds"] = json!(5);
    completed(&queue.update().await);
    assert_eq!(writes(), [0, 0, 1]);
    for (field, other) in [("name", "other"), ("region", "us-west-2")] {
        let mut moved = queue.clone();
        moved.desired[field] = json!(other);
        let refused = moved.update().await;
        let code = failure(&refused).code();
        assert!(
            matches!(code, FailureCode::ImmutableField | FailureCode::NotFound),
            "{field}: {refused:?}"
        );
        assert_eq!(failure(&refused).effect(), Effect::None);
    }
    assert_eq!(writes(), [0, 0, 1]);
}

#[tokio::test]
async fn a_missing_dead_letter_queue_is_a_dependency_not_ready() {
    let fixture = fresh().await;
    let mut with_policy = desired();
    with_policy["redrivePolicy"] =
        json!({ "deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:dead", "maxReceiveCount": 3 });
    let assert_waits = |outcome: &wire::Outcome| {
        let failure = failure(outcome);
        assert_eq!(
            (failure.code(), failure.effect()),
            (FailureCode::DependencyNotReady, Effect::None),
            "{failure:?}"
        );
        assert_eq!(failure.reason, "DeadLetterQueueNotFound");
        assert_eq!(failure.violations[0].path, "/redrivePolicy/deadLetterTargetArn");
        assert!(!failure.message.contains(&failure.upstream_code), "{failure:?}");
    };
    let mut jobs = queue(&fixture, with_policy.clone());
    assert_waits(&jobs.create().await);
    jobs.desired = desired();
    jobs.external_name = jobs.create().await.external_name;
    jobs.desired = with_policy;
    assert_waits(&jobs.update().await);
    completed(&queue(&fixture, json!({ "name": "dead" })).create().await);
    completed(&jobs.update().await);
    assert_eq!(jobs.drift().await, [""; 0]);
}
