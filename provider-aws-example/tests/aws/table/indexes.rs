//! Indexes, streams, expiry and backups.

use super::*;

#[tokio::test]
async fn indexes_streams_expiry_and_backups_come_and_go() {
    let world = World::new().await;
    let mut full = wish();
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
    let mut table = table(&world, full);
    let created = table.create().await;
    assert!(
        operation(&created).poll_driven,
        "what only a finished table takes is set by the polls"
    );
    let (ended, _) = table.follow(created).await;
    completed(&ended);
    assert_eq!(table.drift().await, [""; 0]);
    assert!(table.found().await.connection_details.contains_key("streamArn"));

    table.wish["globalSecondaryIndexes"] = json!([index("by-place", json!({ "projectionType": "ALL" }))]);
    table.wish["streamSpecification"] = json!({ "streamEnabled": false, "streamViewType": "NEW_IMAGE" });
    table.wish["timeToLive"] = json!({ "enabled": false, "attributeName": "expires" });
    table.wish["pointInTimeRecoveryEnabled"] = json!(false);
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
fn define(wish: &mut Value, names: &[&str]) {
    let definitions = wish["attributeDefinitions"].as_array_mut().expect("a list");
    for name in names {
        definitions.push(json!({ "attributeName": name, "attributeType": "S" }));
    }
}

#[tokio::test]
async fn two_new_indexes_are_built_one_after_the_other() {
    let world = World::new().await;
    let mut table = made(&world, wish()).await;
    define(&mut table.wish, &["a", "b"]);
    table.wish["globalSecondaryIndexes"] = json!([index("by-a", "a"), index("by-b", "b")]);
    let first = table.update().await;
    let handle = operation(&first).handle.clone();
    // Two looks until the table is done, two more until its index is.
    for _ in 0..4 {
        let goes_on = table.poll(&handle).await;
        assert_eq!(operation(&goes_on).handle, handle);
    }
    completed(&table.poll(&handle).await);
    let second = table.update().await;
    completed(&table.follow(second).await.0);
    assert_eq!(table.drift().await, [""; 0]);
    assert_eq!(world.aws.calls(Service::DynamoDB, "UpdateTable"), 2);
}

#[tokio::test]
async fn a_table_whose_index_is_built_is_busy_and_no_quota_is_to_blame() {
    let world = World::new().await;
    let mut table = made(&world, wish()).await;
    define(&mut table.wish, &["a"]);
    table.wish["globalSecondaryIndexes"] = json!([index("by-a", "a")]);
    let first = table.update().await;
    for _ in 0..3 {
        operation(&table.poll(&operation(&first).handle).await);
    }
    let busy = table.update().await;
    assert_eq!(
        (failure(&busy).code(), failure(&busy).effect()),
        (FailureCode::Conflict, Effect::None)
    );
    // What a look that comes late would lead to.
    let harm = Harm::Error {
        status: 400,
        code: "LimitExceededException".to_owned(),
        message: "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table".to_owned(),
    };
    completed(&table.follow(first).await.0);
    table.wish = wish();
    table.wish["globalSecondaryIndexes"] = json!([]);
    world
        .aws
        .inject(Fault::new(harm).on(Service::DynamoDB, "UpdateTable"));
    let busy = table.update().await;
    assert_eq!(
        (failure(&busy).code(), failure(&busy).effect()),
        (FailureCode::Conflict, Effect::None)
    );
}

#[tokio::test]
async fn an_index_made_by_hand_is_no_drift_where_nobody_wishes_for_indexes() {
    let world = World::with(Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    })
    .await;
    let mut table = made(&world, wish()).await;
    let mut other = table.clone();
    define(&mut other.wish, &["a"]);
    other.wish["globalSecondaryIndexes"] = json!([index("by-hand", "a")]);
    converge(&mut other).await;
    assert_eq!(table.drift().await, [""; 0]);
    table.wish["globalSecondaryIndexes"] = json!([]);
    assert_eq!(
        table.drift().await,
        ["/attributeDefinitions", "/globalSecondaryIndexes"]
    );
    converge(&mut table).await;
}

#[tokio::test]
async fn an_index_that_stays_keeps_its_key() {
    let world = World::new().await;
    let mut full = wish();
    define(&mut full, &["a"]);
    full["globalSecondaryIndexes"] = json!([index("by-a", "a")]);
    let mut table = made(&world, full).await;
    table.wish["globalSecondaryIndexes"][0]["keySchema"][0]["attributeName"] = json!("placedAt");
    table.wish["attributeDefinitions"]
        .as_array_mut()
        .expect("a list")
        .pop();
    let refused = table.update().await;
    assert_eq!(
        (failure(&refused).code(), failure(&refused).effect()),
        (FailureCode::InvalidSpec, Effect::None)
    );
    assert_eq!(failure(&refused).violations[0].path, "/globalSecondaryIndexes/0");
    assert_eq!(world.aws.calls(Service::DynamoDB, "UpdateTable"), 0);
}
