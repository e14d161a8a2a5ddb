use std::time::Duration;

use aws_emulator::{Fault, Harm, Options, Service};
use crossbridge_proto::v1alpha1::{Effect, FailureCode};
use serde_json::{Value, json};

use crate::world::{Object, World, completed, failure, parameters};

const POLICY: &str = r#"{ "Version": "2012-10-17", "Statement":
    [{ "Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*" }] }"#;

fn wish() -> Value {
    json!({
        "name": "jobs",
        "visibilityTimeoutSeconds": 45,
        "messageRetentionPeriodSeconds": 86400,
        "policy": POLICY,
        "tags": { "team": "messaging" },
    })
}

fn queue(world: &World, wish: Value) -> Object<'_> {
    world.object("sqs", "Queue", "", wish)
}

async fn fresh() -> World {
    World::with(Options {
        queue_name_rests: Duration::ZERO,
        ..Options::default()
    })
    .await
}

#[tokio::test]
async fn a_queue_lives_and_dies() {
    let world = fresh().await;
    let mut queue = queue(&world, wish());
    let url = format!("{}/123456789012/jobs", world.aws.endpoint());
    assert_eq!(
        queue.absent().await,
        url,
        "the name is known before there is a queue"
    );

    let created = queue.create().await;
    assert_eq!(created.external_name, url);
    completed(&created);
    queue.external_name.clone_from(&url);
    let found = queue.found().await;
    assert!(found.ready);
    assert_eq!(found.found_marker, queue.marker);
    assert_eq!(found.canonical_id, "arn:aws:sqs:eu-west-1:123456789012:jobs");
    assert_eq!(parameters(&found)["tags"], json!({ "team": "messaging" }));
    assert_eq!(queue.drift().await, [""; 0]);
    assert_eq!(world.aws.queues("eu-west-1").await.unwrap(), [url.as_str()]);

    queue.wish["delaySeconds"] = json!(5);
    queue.wish["redriveAllowPolicy"] = json!({
        "redrivePermission": "byQueue",
        "sourceQueueArns": ["arn:aws:sqs:eu-west-1:123456789012:two", "arn:aws:sqs:eu-west-1:123456789012:one"],
    });
    queue.wish["tags"] = json!({ "tier": "gold" });
    queue.wish["redrivePolicy"] =
        json!({ "deadLetterTargetArn": "arn:aws:sqs:eu-west-1:123456789012:dead", "maxReceiveCount": 3 });
    let dead = world.object("sqs", "Queue", "", json!({ "name": "dead" }));
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
async fn a_fifo_queue_keeps_what_it_is() {
    let world = fresh().await;
    let mut queue = queue(
        &world,
        json!({ "name": "jobs.fifo", "fifoQueue": true, "contentBasedDeduplication": true }),
    );
    let created = queue.create().await;
    completed(&created);
    queue.external_name = created.external_name;
    assert_eq!(queue.drift().await, [""; 0]);
    queue.wish["contentBasedDeduplication"] = json!(false);
    completed(&queue.update().await);
    assert_eq!(queue.drift().await, [""; 0]);
}

#[tokio::test]
async fn what_exists_is_neither_taken_over_nor_retagged() {
    let world = fresh().await;
    let first = queue(&world, json!({ "name": "jobs" }));
    let url = first.create().await.external_name;
    let mut second = first.clone();
    second.marker = "somebody-else".to_owned();
    for outcome in [
        first.create().await,
        second.create().await,
        second.create_again().await,
    ] {
        assert_eq!(failure(&outcome).code(), FailureCode::AlreadyExists);
        assert_eq!(failure(&outcome).effect(), Effect::None);
        assert_eq!(failure(&outcome).existing_external_name, url);
    }
    assert_eq!(world.aws.calls(Service::Sqs, "CreateQueue"), 1);
    assert_eq!(first.found().await.found_marker, first.marker);
    second.external_name = url;
    for outcome in [second.update().await, second.delete().await] {
        assert_eq!(failure(&outcome).code(), FailureCode::NotFound);
    }
}

#[tokio::test]
async fn a_lost_answer_is_made_good_by_a_repeat() {
    let world = fresh().await;
    let queue = queue(&world, wish());
    world
        .aws
        .inject(Fault::new(Harm::AnswerLost).on(Service::Sqs, "CreateQueue"));
    let lost = queue.create().await;
    assert_eq!(failure(&lost).effect(), Effect::Unknown, "{lost:?}");
    let again = queue.create_again().await;
    completed(&again);
    assert_eq!(world.aws.calls(Service::Sqs, "CreateQueue"), 1);
    assert_eq!(
        world.aws.queues("eu-west-1").await.unwrap(),
        [again.external_name]
    );
}

#[tokio::test]
async fn the_name_of_a_deleted_queue_rests() {
    let world = World::new().await;
    let mut queue = queue(&world, wish());
    queue.external_name = queue.create().await.external_name;
    completed(&queue.delete().await);
    let outcome = queue.create().await;
    let failure = failure(&outcome);
    assert_eq!(failure.code(), FailureCode::DependencyNotReady);
    assert_eq!(failure.effect(), Effect::None);
    assert_eq!(failure.reason, "QueueDeletedRecently");
    assert_eq!(failure.retry_after.expect("AWS says how long").seconds, 60);
}

#[tokio::test]
async fn a_wrong_wish_is_refused_field_by_field() {
    let world = fresh().await;
    let wrong = json!({ "name": "jobs", "fifoQueue": true, "sqsManagedSseEnabled": true, "kmsMasterKeyId": "alias/x" });
    let outcome = queue(&world, wrong).create().await;
    let failure = failure(&outcome);
    assert_eq!(failure.code(), FailureCode::InvalidSpec);
    let paths: Vec<&str> = failure
        .violations
        .iter()
        .map(|violation| violation.path.as_str())
        .collect();
    assert_eq!(paths, ["/name", "/kmsMasterKeyId"]);
    assert_eq!(world.aws.all_calls(), 0, "nobody was asked");
}

#[tokio::test]
async fn an_answer_without_attributes_is_no_queue_and_no_absence() {
    let world = fresh().await;
    let mut queue = queue(&world, wish());
    queue.external_name = queue.create().await.external_name;
    let harm = Harm::Error {
        status: 200,
        code: String::new(),
        message: String::new(),
    };
    world
        .aws
        .inject(Fault::new(harm).on(Service::Sqs, "GetQueueAttributes"));
    assert_eq!(queue.look_failure().await.code(), FailureCode::Unavailable);
    queue.found().await;
}

#[tokio::test]
async fn an_update_writes_only_what_differs_and_never_another_queue() {
    let world = fresh().await;
    let mut queue = queue(&world, wish());
    queue.external_name = queue.create().await.external_name;
    let writes = || {
        ["TagQueue", "UntagQueue", "SetQueueAttributes"].map(|action| world.aws.calls(Service::Sqs, action))
    };
    completed(&queue.update().await);
    assert_eq!(writes(), [0, 0, 0], "nothing differs");
    queue.wish["delaySeconds"] = json!(5);
    completed(&queue.update().await);
    assert_eq!(writes(), [0, 0, 1]);
    for (field, other) in [("name", "other"), ("region", "us-west-2")] {
        let mut moved = queue.clone();
        moved.wish[field] = json!(other);
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
