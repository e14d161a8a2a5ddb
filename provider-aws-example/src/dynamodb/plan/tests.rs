use serde_json::{Value, json};

use super::*;

fn table(more: &Value) -> TableParameters {
    let mut table = json!({
        "attributeDefinitions": [{ "attributeName": "id", "attributeType": "S" }],
        "keySchema": [{ "attributeName": "id", "keyType": "HASH" }],
    });
    for (key, value) in more.as_object().unwrap() {
        table[key] = value.clone();
    }
    serde_json::from_value(table).unwrap()
}

fn index(name: &str, projection: &str) -> Value {
    json!({
        "indexName": name,
        "keySchema": [{ "attributeName": "id", "keyType": "HASH" }],
        "projection": { "projectionType": projection },
    })
}

fn next_of(wish: &Value, found: &Value) -> Option<Change> {
    next(&table(wish), &table(found))
}

#[test]
fn what_nobody_wishes_for_is_left_alone() {
    let found = json!({
        "billingMode": "PROVISIONED",
        "provisionedThroughput": { "readCapacityUnits": 5, "writeCapacityUnits": 5 },
        "globalSecondaryIndexes": [index("one", "ALL")],
        "deletionProtectionEnabled": true,
    });
    assert_eq!(next_of(&json!({}), &found), None);
}

#[test]
fn a_change_to_provisioned_capacity_names_every_index_that_is_there() {
    let units = Throughput {
        read_capacity_units: 2,
        write_capacity_units: 3,
    };
    let wish = json!({
        "billingMode": "PROVISIONED",
        "provisionedThroughput": { "readCapacityUnits": 2, "writeCapacityUnits": 3 },
    });
    let found = json!({ "billingMode": "PAY_PER_REQUEST", "globalSecondaryIndexes": [index("one", "ALL")] });
    let expected = Change::Capacity {
        billing_mode: "PROVISIONED".to_owned(),
        table: Some(units),
        indexes: vec![("one".to_owned(), units)],
    };
    assert_eq!(next_of(&wish, &found), Some(expected));
}

#[test]
fn an_index_is_dropped_before_another_is_added() {
    let wish = json!({ "globalSecondaryIndexes": [index("one", "KEYS_ONLY"), index("two", "ALL")] });
    let before = json!({ "globalSecondaryIndexes": [index("one", "ALL")] });
    assert_eq!(next_of(&wish, &before), Some(Change::DropIndex("one".to_owned())));
    let Some(Change::AddIndex(added)) = next_of(&wish, &json!({ "globalSecondaryIndexes": [] })) else {
        panic!("an index is missing");
    };
    assert_eq!(added.index_name, "one");
    assert_eq!(next_of(&wish, &wish), None);
}

#[test]
fn a_stream_of_another_kind_begins_after_the_old_one_has_ended() {
    let stream =
        |view: &str| json!({ "streamSpecification": { "streamEnabled": true, "streamViewType": view } });
    let off = Stream {
        stream_enabled: false,
        stream_view_type: None,
    };
    assert_eq!(
        next_of(&stream("NEW_IMAGE"), &stream("KEYS_ONLY")),
        Some(Change::Stream(off))
    );
    assert_eq!(next_of(&stream("NEW_IMAGE"), &stream("NEW_IMAGE")), None);
    assert!(matches!(
        next_of(&stream("NEW_IMAGE"), &json!({})),
        Some(Change::Stream(_))
    ));
}

#[test]
fn keys_do_not_change_and_their_order_does_not_count() {
    let keys = |order: [&str; 2]| {
        let of = |name: &str| json!({ "attributeName": name, "keyType": if name == "id" { "HASH" } else { "RANGE" } });
        json!({ "keySchema": order.map(of) })
    };
    assert_eq!(
        immutable(&table(&keys(["id", "at"])), &table(&keys(["at", "id"]))),
        None
    );
    let (path, _) = immutable(&table(&keys(["id", "at"])), &table(&json!({}))).unwrap();
    assert_eq!(path, "/keySchema");
    let number = json!({ "attributeDefinitions": [{ "attributeName": "id", "attributeType": "N" }] });
    let (path, _) = immutable(&table(&number), &table(&json!({}))).unwrap();
    assert_eq!(path, "/attributeDefinitions/0/attributeType");
}
