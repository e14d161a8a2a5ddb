//! Indexes, streams, expiry and backups.

use super::*;

#[tokio::test]
async fn indexes_streams_expiry_and_backups_are_set_and_removed() {
    let fixture = Fixture::new().await;
    let mut full = desired();
    let index = |name: &str, projection: Value| {
        json!({
            "indexName": name,
            "keySchema": [{ "attributeName": "placedAt", "keyType": "HASH" }],
            "projection": projection,
        })
    };
    full["globalSecondaryIndexes"] = json!([index(
        "by-time",
        json!({ "projectionType": "INCLUDE", "nonKeyAttributes": ["a", "b"] })
    )]);
    full["streamSpecification"] = json!({ "streamEnabled": true, "streamViewType": "NEW_IMAGE" });
    full["timeToLive"] = json!({ "enabled": true, "attributeName": "expires" });
    full["pointInTimeRecoveryEnabled"] = json!(true);
    full["tableClass"] = json!("STANDARD_INFREQUENT_ACCESS");
    let mut table = table(&fixture, full);
    let created = table.create().await;
    assert!(
        operation(&created).poll_driven,
        "what only a finished table takes is set by the polls"
    );
    let (ended, _) = table.follow(created).await;
    completed(&ended);
    assert_eq!(table.drift().await, [""; 0]);
    assert!(
        table
            .observation()
            .await
            .connection_details
            .contains_key("streamArn")
    );

    table.desired["globalSecondaryIndexes"] = json!([index("by-place", json!({ "projectionType": "ALL" }))]);
    table.desired["streamSpecification"] = json!({ "streamEnabled": false, "streamViewType": "NEW_IMAGE" });
    table.desired["timeToLive"] = json!({ "enabled": false, "attributeName": "expires" });
    table.desired["pointInTimeRecoveryEnabled"] = json!(false);
    let drift = table.drift().await;
    assert!(
        drift
            .iter()
            .any(|path| path.starts_with("/globalSecondaryIndexes")),
        "{drift:?}"
    );
    for path in [
        "/pointInTimeRecoveryEnabled",
        "/streamSpecification/streamEnabled",
        "/timeToLive/enabled",
    ] {
        assert!(drift.contains(&path.to_owned()), "{path} in {drift:?}");
    }
    converge(&mut table).await;
}

fn index(name: &str, key: &str) -> Value {
    json!({
        "indexName": name,
        "keySchema": [{ "attributeName": key, "keyType": "HASH" }],
        "projection": { "projectionType": "ALL" },
    })
}

/// Defines attributes for indexes, beside those of the table.
fn define(desired: &mut Value, names: &[&str]) {
    let definitions = desired["attributeDefinitions"].as_array_mut().expect("a list");
    for name in names {
        definitions.push(json!({ "attributeName": name, "attributeType": "S" }));
    }
}

#[tokio::test]
async fn two_new_indexes_are_built_one_after_the_other() {
    let fixture = Fixture::new().await;
    let mut table = existing(&fixture, desired()).await;
    define(&mut table.desired, &["a", "b"]);
    table.desired["globalSecondaryIndexes"] = json!([index("by-a", "a"), index("by-b", "b")]);
    let first = table.update().await;
    let handle = operation(&first).handle.clone();
    // Two reads until the table is active, two more until its index is.
    for _ in 0..4 {
        let goes_on = table.poll(&handle).await;
        assert_eq!(operation(&goes_on).handle, handle);
    }
    completed(&table.poll(&handle).await);
    let second = table.update().await;
    completed(&table.follow(second).await.0);
    assert_eq!(table.drift().await, [""; 0]);
    assert_eq!(fixture.aws.calls(Service::DynamoDB, "UpdateTable"), 2);
}

#[tokio::test]
async fn a_table_building_an_index_is_busy_not_over_quota() {
    let fixture = Fixture::new().await;
    let mut table = existing(&fixture, desired()).await;
    define(&mut table.desired, &["a"]);
    table.desired["globalSecondaryIndexes"] = json!([index("by-a", "a")]);
    let first = table.update().await;
    for _ in 0..3 {
        operation(&table.poll(&operation(&first).handle).await);
    }
    let busy = table.update().await;
    assert_eq!(
        (failure(&busy).code(), failure(&busy).effect()),
        (FailureCode::Conflict, Effect::None)
    );
    // What a stale read would lead to.
    let harm = Harm::Error {
        status: 400,
        code: "LimitExceededException".to_owned(),
        message: "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table".to_owned(),
    };
    completed(&table.follow(first).await.0);
    table.desired = desired();
    table.desired["globalSecondaryIndexes"] = json!([]);
    fixture
        .aws
        .inject(Fault::new(harm).on(Service::DynamoDB, "UpdateTable"));
    let busy = table.update().await;
    assert_eq!(
        (failure(&busy).code(), failure(&busy).effect()),
        (FailureCode::Conflict, Effect::None)
    );
}

#[tokio::test]
async fn a_foreign_index_is_drift_only_where_indexes_are_desired() {
    let fixture = Fixture::with(Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    })
    .await;
    let mut table = existing(&fixture, desired()).await;
    let mut other = table.clone();
    define(&mut other.desired, &["a"]);
    other.desired["globalSecondaryIndexes"] = json!([index("by-hand", "a")]);
    converge(&mut other).await;
    assert_eq!(table.drift().await, [""; 0]);
    table.desired["globalSecondaryIndexes"] = json!([]);
    assert_eq!(
        table.drift().await,
        ["/attributeDefinitions", "/globalSecondaryIndexes"]
    );
    converge(&mut table).await;
}

#[tokio::test]
async fn the_key_of_an_existing_index_is_immutable() {
    let fixture = Fixture::new().await;
    let mut full = desired();
    define(&mut full, &["a"]);
    full["globalSecondaryIndexes"] = json!([index("by-a", "a")]);
    let mut table = existing(&fixture, full).await;
    table.desired["globalSecondaryIndexes"][0]["keySchema"][0]["attributeName"] = json!("placedAt");
    table.desired["attributeDefinitions"]
        .as_array_mut()
        .expect("a list")
        .pop();
    let refused = table.update().await;
    assert_eq!(
        (failure(&refused).code(), failure(&refused).effect()),
        (FailureCode::InvalidSpec, Effect::None)
    );
    assert_eq!(failure(&refused).violations[0].path, "/globalSecondaryIndexes/0");
    assert_eq!(fixture.aws.calls(Service::DynamoDB, "UpdateTable"), 0);
}
