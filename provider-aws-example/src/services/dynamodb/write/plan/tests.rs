use serde_json::{Value, json};

use super::fixed::{immutable_difference, index_rebuild};
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

fn next_of(desired: &Value, observed: &Value) -> Option<TableChange> {
    next_change(&table(desired), &table(observed))
}

#[test]
fn settings_without_desired_value_are_kept() {
    let observed = json!({
        "billingMode": "PROVISIONED",
        "provisionedThroughput": { "readCapacityUnits": 5, "writeCapacityUnits": 5 },
        "globalSecondaryIndexes": [index("one", "ALL")],
        "deletionProtectionEnabled": true,
    });
    assert_eq!(next_of(&json!({}), &observed), None);
}

#[test]
fn a_change_to_provisioned_capacity_names_every_existing_index() {
    let units = Throughput {
        read_capacity_units: 2,
        write_capacity_units: 3,
    };
    let desired = json!({
        "billingMode": "PROVISIONED",
        "provisionedThroughput": { "readCapacityUnits": 2, "writeCapacityUnits": 3 },
    });
    let observed =
        json!({ "billingMode": "PAY_PER_REQUEST", "globalSecondaryIndexes": [index("one", "ALL")] });
    let expected = TableChange::Capacity {
        billing_mode: "PROVISIONED".to_owned(),
        table: Some(units),
        indexes: vec![("one".to_owned(), units)],
    };
    assert_eq!(next_of(&desired, &observed), Some(expected));
}

#[test]
fn an_index_is_removed_before_others_are_added() {
    let keyed = |name: &str, key: &str| {
        let mut index = index(name, "ALL");
        index["keySchema"][0]["attributeName"] = json!(key);
        index
    };
    let defined = |names: &[&str]| -> Vec<AttributeDefinition> {
        let of = |name: &&str| AttributeDefinition {
            attribute_name: (*name).to_owned(),
            attribute_type: "S".to_owned(),
        };
        names.iter().map(of).collect()
    };
    let with = |names: &[&str], indexes: &[Value]| {
        let mut table = table(&json!({ "globalSecondaryIndexes": indexes }));
        table.attribute_definitions = defined(names);
        table
    };
    let desired = with(&["id", "a", "b"], &[keyed("one", "a"), keyed("two", "b")]);
    let former = with(&["id", "c"], &[keyed("former", "c")]);
    assert_eq!(
        next_change(&desired, &former),
        Some(TableChange::DropIndex("former".to_owned()))
    );
    let added = |name: &str, key: &str, names: &[&str]| TableChange::AddIndex {
        index: serde_json::from_value(keyed(name, key)).unwrap(),
        definitions: defined(names),
        throughput: None,
    };
    let none = with(&["id"], &[]);
    assert_eq!(
        next_change(&desired, &none),
        Some(added("one", "a", &["id", "a"]))
    );
    let one = with(&["id", "a"], &[keyed("one", "a")]);
    assert_eq!(
        next_change(&desired, &one),
        Some(added("two", "b", &["id", "a", "b"]))
    );
    assert_eq!(next_change(&desired, &desired), None);
}

#[test]
fn a_kept_index_is_not_rebuilt() {
    let observed = table(&json!({ "globalSecondaryIndexes": [index("one", "ALL")] }));
    let path = |desired: &Value| index_rebuild(&table(desired), &observed).map(|(path, _)| path);
    assert_eq!(path(&json!({})), None);
    assert_eq!(
        path(&json!({ "globalSecondaryIndexes": [index("two", "KEYS_ONLY")] })),
        None
    );
    let other = json!({ "globalSecondaryIndexes": [index("two", "ALL"), index("one", "KEYS_ONLY")] });
    assert_eq!(path(&other).as_deref(), Some("/globalSecondaryIndexes/1"));
    let number = json!([{ "attributeName": "id", "attributeType": "N" }]);
    for (stays, at) in [
        (
            json!([index("one", "ALL")]),
            Some("/attributeDefinitions/0/attributeType"),
        ),
        (json!([]), None),
    ] {
        let desired = json!({ "attributeDefinitions": number, "globalSecondaryIndexes": stays });
        assert_eq!(path(&desired).as_deref(), at);
    }
}

#[test]
fn a_stream_with_another_view_begins_after_the_former() {
    let stream =
        |view: &str| json!({ "streamSpecification": { "streamEnabled": true, "streamViewType": view } });
    let off = Stream {
        stream_enabled: false,
        stream_view_type: None,
    };
    assert_eq!(
        next_of(&stream("NEW_IMAGE"), &stream("KEYS_ONLY")),
        Some(TableChange::Stream(off))
    );
    assert_eq!(next_of(&stream("NEW_IMAGE"), &stream("NEW_IMAGE")), None);
    assert!(matches!(
        next_of(&stream("NEW_IMAGE"), &json!({})),
        Some(TableChange::Stream(_))
    ));
}

#[test]
fn keys_are_immutable_and_their_order_does_not_count() {
    let keys = |order: [&str; 2]| {
        let of = |name: &str| json!({ "attributeName": name, "keyType": if name == "id" { "HASH" } else { "RANGE" } });
        json!({ "keySchema": order.map(of) })
    };
    assert_eq!(
        immutable_difference(&table(&keys(["id", "at"])), &table(&keys(["at", "id"]))),
        None
    );
    let (path, _) = immutable_difference(&table(&keys(["id", "at"])), &table(&json!({}))).unwrap();
    assert_eq!(path, "/keySchema");
    let number = json!({ "attributeDefinitions": [{ "attributeName": "id", "attributeType": "N" }] });
    let (path, _) = immutable_difference(&table(&number), &table(&json!({}))).unwrap();
    assert_eq!(path, "/attributeDefinitions/0/attributeType");
}

#[test]
fn the_order_within_local_indexes_does_not_count() {
    let local = |keys: [&str; 2], names: [&str; 2]| {
        let of = |name: &str| json!({ "attributeName": name, "keyType": if name == "id" { "HASH" } else { "RANGE" } });
        let keys = keys.map(of);
        table(&json!({ "localSecondaryIndexes": [{
            "indexName": "local",
            "keySchema": keys,
            "projection": { "projectionType": "INCLUDE", "nonKeyAttributes": names },
        }] }))
    };
    let observed = local(["id", "at"], ["a", "b"]);
    assert_eq!(
        immutable_difference(&local(["at", "id"], ["b", "a"]), &observed),
        None
    );
    let (path, _) = immutable_difference(&local(["id", "at"], ["a", "c"]), &observed).unwrap();
    assert_eq!(path, "/localSecondaryIndexes");
}
