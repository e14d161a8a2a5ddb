use aws_emulator::{Fault, Harm, Options, Service, Settle};
use crossbridge_proto::v1alpha1::{Effect, FailureCode, OperationVerb};
use serde_json::{Value, json};

use crate::fixture::{Fixture, Object, ObserveResult, completed, failure, operation, parameters};

mod indexes;
mod recovery;

fn desired() -> Value {
    json!({
        "attributeDefinitions": [
            { "attributeName": "customer", "attributeType": "S" },
            { "attributeName": "placedAt", "attributeType": "N" },
        ],
        "keySchema": [
            { "attributeName": "placedAt", "keyType": "RANGE" },
            { "attributeName": "customer", "keyType": "HASH" },
        ],
        "billingMode": "PAY_PER_REQUEST",
        "tags": { "team": "orders" },
    })
}

fn table(fixture: &Fixture, desired: Value) -> Object<'_> {
    fixture.object("dynamodb", "Table", "orders", desired)
}

/// A table that is created and active.
async fn existing(fixture: &Fixture, desired: Value) -> Object<'_> {
    let mut table = table(fixture, desired);
    let created = table.create().await;
    completed(&table.follow(created).await.0);
    table
}

/// An SDK client for changes by hand, past the plugin.
fn aws_client(fixture: &Fixture) -> aws_sdk_dynamodb::Client {
    let keys = &fixture.keys;
    let keys = aws_credential_types::Credentials::new(
        &keys.access_key_id,
        &keys.secret_access_key,
        None,
        None,
        "tests",
    );
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version_latest()
        .region(aws_sdk_dynamodb::config::Region::new("eu-west-1"))
        .endpoint_url(fixture.aws.endpoint())
        .credentials_provider(keys);
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

/// Updates until nothing differs; returns how many updates that took.
async fn converge(table: &mut Object<'_>) -> usize {
    for updates in 0..10 {
        if table.drift().await.is_empty() {
            return updates;
        }
        let updated = table.update().await;
        completed(&table.follow(updated).await.0);
    }
    panic!("it does not converge: {:?}", table.drift().await);
}

#[tokio::test]
async fn a_table_is_created_updated_and_deleted() {
    let fixture = Fixture::new().await;
    let mut table = table(&fixture, desired());
    assert_eq!(table.absent().await, "");

    let created = table.create().await;
    assert_eq!(created.external_name, "orders");
    assert_eq!(
        created.canonical_id,
        "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"
    );
    let running = operation(&created);
    assert_eq!(running.verb(), OperationVerb::Create);
    assert!(!running.poll_driven);
    assert!(running.poll_after.is_some());
    let handle = running.handle.clone();
    let found = table.observation().await;
    assert!(!found.ready);
    assert_eq!(found.found_marker, table.marker);
    assert_eq!(
        found.operation.expect("AWS is at work").handle,
        handle,
        "an observation reports the same operation"
    );
    let (ended, polls) = table.follow(created).await;
    assert!(
        completed(&ended)
            .observation
            .as_ref()
            .is_some_and(|found| found.ready)
    );
    assert!(polls >= 1);
    assert_eq!(table.drift().await, [""; 0]);
    assert_eq!(
        parameters(&table.observation().await)["tags"],
        json!({ "team": "orders" })
    );

    table.desired["billingMode"] = json!("PROVISIONED");
    table.desired["provisionedThroughput"] = json!({ "readCapacityUnits": 2, "writeCapacityUnits": 1 });
    table.desired["tags"] = json!({ "tier": "gold" });
    table.desired["deletionProtectionEnabled"] = json!(true);
    assert_eq!(
        converge(&mut table).await,
        2,
        "AWS takes one kind of change at a time"
    );

    let found = table.observation().await;
    let status: Value = serde_json::from_str(&found.status.as_ref().expect("a status").json).expect("JSON");
    assert_eq!(status["status"], "ACTIVE");
    assert!(
        status["creationTime"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z')),
        "{status}"
    );
    assert_eq!(
        found.connection_details["endpoint"],
        fixture.aws.endpoint().as_bytes()
    );
    for action in ["DescribeTimeToLive", "DescribeContinuousBackups"] {
        assert_eq!(
            fixture.aws.calls(Service::DynamoDB, action),
            0,
            "{action}: it is not desired"
        );
    }

    let refused = table.delete().await;
    assert_eq!(
        failure(&refused).code(),
        FailureCode::DependencyNotReady,
        "it can be turned off in AWS, too"
    );
    assert_eq!(failure(&refused).effect(), Effect::None);
    assert_eq!(failure(&refused).reason, "DeletionProtected");
    table.desired["deletionProtectionEnabled"] = json!(false);
    converge(&mut table).await;
    let deleted = table.delete().await;
    assert_eq!(operation(&deleted).verb(), OperationVerb::Delete);
    completed(&table.follow(deleted).await.0);
    table.absent().await;
    assert!(completed(&table.delete().await).already_done);
}

#[tokio::test]
async fn a_table_is_not_changed_while_aws_changes_it() {
    let fixture = Fixture::with(Options {
        table_settles: Settle::Reads(50),
        ..Options::default()
    })
    .await;
    let table = table(&fixture, desired());
    operation(&table.create().await);
    for outcome in [table.update().await, table.delete().await] {
        assert_eq!(failure(&outcome).code(), FailureCode::Conflict);
        assert_eq!(failure(&outcome).effect(), Effect::None);
    }
    assert_eq!(fixture.aws.calls(Service::DynamoDB, "DeleteTable"), 0);
}

#[tokio::test]
async fn an_existing_resource_is_not_adopted_by_a_creation() {
    let fixture = Fixture::new().await;
    let ours = existing(&fixture, desired()).await;
    let mut theirs = ours.clone();
    theirs.marker = "another-object".to_owned();
    for outcome in [
        ours.create().await,
        theirs.create().await,
        theirs.create_again().await,
    ] {
        assert_eq!(
            failure(&outcome).code(),
            FailureCode::AlreadyExists,
            "{outcome:?}"
        );
        assert_eq!(failure(&outcome).effect(), Effect::None);
        assert_eq!(failure(&outcome).existing_external_name, "orders");
    }
    for outcome in [theirs.update().await, theirs.delete().await] {
        assert_eq!(failure(&outcome).code(), FailureCode::NotFound);
        assert_eq!(failure(&outcome).effect(), Effect::None);
    }
    theirs.former_marker.clone_from(&ours.marker);
    completed(&theirs.update().await);
    assert_eq!(
        theirs.observation().await.found_marker,
        "another-object",
        "the former marker is replaced"
    );
}

#[tokio::test]
async fn an_unmarked_table_is_not_deleted() {
    let fixture = Fixture::with(Options {
        table_tags_settle: Settle::Reads(100),
        ..Options::default()
    })
    .await;
    let mut table = table(&fixture, desired());
    operation(&table.create().await);
    for _ in 0..2 {
        table.observe().await;
    }
    let deleted = table.delete().await;
    assert_eq!(failure(&deleted).code(), FailureCode::NotFound);
    assert_eq!(fixture.aws.calls(Service::DynamoDB, "DeleteTable"), 0);
    table.external_name = "another".to_owned();
    table.absent().await;
}

#[tokio::test]
async fn the_key_of_a_table_is_immutable() {
    let fixture = Fixture::new().await;
    let mut table = existing(&fixture, desired()).await;
    table.desired["keySchema"] = json!([{ "attributeName": "customer", "keyType": "HASH" }]);
    table.desired["attributeDefinitions"] = json!([{ "attributeName": "customer", "attributeType": "S" }]);
    let updated = table.update().await;
    assert_eq!(failure(&updated).code(), FailureCode::ImmutableField);
    assert_eq!(failure(&updated).effect(), Effect::None);
    assert_eq!(failure(&updated).violations[0].path, "/keySchema");
}

#[tokio::test]
async fn an_invalid_spec_is_rejected_field_by_field() {
    let fixture = Fixture::new().await;
    let wrong = json!({
        "attributeDefinitions": [{ "attributeName": "customer", "attributeType": "S" }],
        "keySchema": [{ "attributeName": "order", "keyType": "HASH" }],
        "billingMode": "PROVISIONED",
    });
    let outcome = table(&fixture, wrong).create().await;
    let failure = failure(&outcome);
    assert_eq!(failure.code(), FailureCode::InvalidSpec);
    let paths: Vec<&str> = failure
        .violations
        .iter()
        .map(|violation| violation.path.as_str())
        .collect();
    assert_eq!(
        paths,
        ["/keySchema", "/attributeDefinitions/0", "/provisionedThroughput"]
    );
    assert_eq!(fixture.aws.all_calls(), 0, "no request was sent");
}
