use aws_emulator::{Fault, Harm, Options, Service, Settle};
use crossbridge_proto::v1alpha1::{Effect, FailureCode, OperationVerb};
use serde_json::{Value, json};

use crate::world::{Look, Object, World, completed, failure, operation, parameters};

mod indexes;
mod recovery;

fn wish() -> Value {
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

fn table(world: &World, wish: Value) -> Object<'_> {
    world.object("dynamodb", "Table", "orders", wish)
}

/// Of a table that is there and settled.
async fn made(world: &World, wish: Value) -> Object<'_> {
    let mut table = table(world, wish);
    let created = table.create().await;
    completed(&table.follow(created).await.0);
    table
}

/// AWS without the plugin: a person's hands.
fn by_hand(world: &World) -> aws_sdk_dynamodb::Client {
    let keys = &world.keys;
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
        .endpoint_url(world.aws.endpoint())
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
async fn a_table_lives_and_dies() {
    let world = World::new().await;
    let mut table = table(&world, wish());
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
    let found = table.found().await;
    assert!(!found.ready);
    assert_eq!(found.found_marker, table.marker);
    assert_eq!(
        found.operation.expect("AWS is at work").handle,
        handle,
        "a look knows of the same operation"
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
        parameters(&table.found().await)["tags"],
        json!({ "team": "orders" })
    );

    table.wish["billingMode"] = json!("PROVISIONED");
    table.wish["provisionedThroughput"] = json!({ "readCapacityUnits": 2, "writeCapacityUnits": 1 });
    table.wish["tags"] = json!({ "tier": "gold" });
    table.wish["deletionProtectionEnabled"] = json!(true);
    assert_eq!(
        converge(&mut table).await,
        2,
        "AWS takes one kind of change at a time"
    );

    let found = table.found().await;
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
        world.aws.endpoint().as_bytes()
    );
    for action in ["DescribeTimeToLive", "DescribeContinuousBackups"] {
        assert_eq!(
            world.aws.calls(Service::DynamoDB, action),
            0,
            "{action}: nobody wished for it"
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
    table.wish["deletionProtectionEnabled"] = json!(false);
    converge(&mut table).await;
    let deleted = table.delete().await;
    assert_eq!(operation(&deleted).verb(), OperationVerb::Delete);
    completed(&table.follow(deleted).await.0);
    table.absent().await;
    assert!(completed(&table.delete().await).already_done);
}

#[tokio::test]
async fn a_table_is_left_alone_while_aws_works_on_it() {
    let world = World::with(Options {
        table_settles: Settle::Reads(50),
        ..Options::default()
    })
    .await;
    let table = table(&world, wish());
    operation(&table.create().await);
    for outcome in [table.update().await, table.delete().await] {
        assert_eq!(failure(&outcome).code(), FailureCode::Conflict);
        assert_eq!(failure(&outcome).effect(), Effect::None);
    }
    assert_eq!(world.aws.calls(Service::DynamoDB, "DeleteTable"), 0);
}

#[tokio::test]
async fn what_exists_is_not_taken_over() {
    let world = World::new().await;
    let ours = made(&world, wish()).await;
    let mut theirs = ours.clone();
    theirs.marker = "somebody-else".to_owned();
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
        theirs.found().await.found_marker,
        "somebody-else",
        "the former marker is replaced"
    );
}

#[tokio::test]
async fn an_unmarked_table_is_not_deleted() {
    let world = World::with(Options {
        table_tags_settle: Settle::Reads(100),
        ..Options::default()
    })
    .await;
    let mut table = table(&world, wish());
    operation(&table.create().await);
    for _ in 0..2 {
        table.look().await;
    }
    let deleted = table.delete().await;
    assert_eq!(failure(&deleted).code(), FailureCode::NotFound);
    assert_eq!(world.aws.calls(Service::DynamoDB, "DeleteTable"), 0);
    table.external_name = "another".to_owned();
    table.absent().await;
}

#[tokio::test]
async fn a_change_of_the_key_is_no_change_in_place() {
    let world = World::new().await;
    let mut table = made(&world, wish()).await;
    table.wish["keySchema"] = json!([{ "attributeName": "customer", "keyType": "HASH" }]);
    table.wish["attributeDefinitions"] = json!([{ "attributeName": "customer", "attributeType": "S" }]);
    let updated = table.update().await;
    assert_eq!(failure(&updated).code(), FailureCode::ImmutableField);
    assert_eq!(failure(&updated).effect(), Effect::None);
    assert_eq!(failure(&updated).violations[0].path, "/keySchema");
}

#[tokio::test]
async fn a_wrong_wish_is_refused_field_by_field() {
    let world = World::new().await;
    let wrong = json!({
        "attributeDefinitions": [{ "attributeName": "customer", "attributeType": "S" }],
        "keySchema": [{ "attributeName": "order", "keyType": "HASH" }],
        "billingMode": "PROVISIONED",
    });
    let outcome = table(&world, wrong).create().await;
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
    assert_eq!(world.aws.all_calls(), 0, "nobody was asked");
}
