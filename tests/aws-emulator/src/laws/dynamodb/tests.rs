use std::time::Instant;

use http::{HeaderMap, StatusCode};

use super::*;
use crate::call::Call;
use crate::service::Service;

struct World {
    tables: Tables,
    now: Instant,
}

impl World {
    fn new(options: &Options) -> Self {
        Self {
            tables: Tables::new(options),
            now: Instant::now(),
        }
    }

    /// Lets moto answer `answer`, and returns what the client gets.
    fn call(&mut self, action: &str, sent: &Value, answer: &Value) -> Result<Value, String> {
        let call = Call {
            service: Service::DynamoDB,
            action: action.to_owned(),
            region: "eu-west-1".to_owned(),
            resource: None,
        };
        let body = sent.to_string();
        let headers = HeaderMap::new();
        let request = Request {
            call: &call,
            headers: &headers,
            body: body.as_bytes(),
            now: self.now,
        };
        let mut reply = match self.tables.before(&request) {
            Some(Ruling::Refuse(error)) => return Err(error.code),
            Some(Ruling::Answer(reply)) => return Ok(serde_json::from_slice(&reply.body).unwrap()),
            None => Reply::json(StatusCode::OK, answer),
        };
        self.tables.after(&request, &mut reply);
        Ok(serde_json::from_slice(&reply.body).unwrap())
    }
}

const ARN: &str = "arn:aws:dynamodb:eu-west-1:1:table/t";

fn described() -> Value {
    json!({ "TableDescription": { "TableName": "t", "TableArn": ARN, "TableStatus": "ACTIVE" } })
}

#[test]
fn a_table_is_creating_for_so_many_looks_and_not_to_be_touched_meanwhile() {
    let mut world = World::new(&Options {
        table_settles: Settle::Reads(2),
        ..Options::default()
    });
    let name = json!({ "TableName": "t" });
    let table = json!({ "Table": { "TableStatus": "ACTIVE" } });
    let created = world.call("CreateTable", &name, &described()).unwrap();
    assert_eq!(created["TableDescription"]["TableStatus"], "CREATING");
    for action in ["UpdateTable", "DeleteTable", "UpdateTimeToLive"] {
        assert_eq!(
            world.call(action, &name, &described()),
            Err("ResourceInUseException".to_owned()),
            "{action}"
        );
    }
    for status in ["CREATING", "CREATING", "ACTIVE"] {
        assert_eq!(
            world.call("DescribeTable", &name, &table).unwrap()["Table"]["TableStatus"],
            status
        );
    }
    let updated = world.call("UpdateTable", &name, &described()).unwrap();
    assert_eq!(updated["TableDescription"]["TableStatus"], "UPDATING");
}

#[test]
fn a_deleted_table_is_seen_deleting_before_it_is_gone() {
    let mut world = World::new(&Options {
        table_settles: Settle::Reads(1),
        ..Options::default()
    });
    let name = json!({ "TableName": "t" });
    let deleted = world.call("DeleteTable", &name, &described()).unwrap();
    assert_eq!(deleted["TableDescription"]["TableStatus"], "DELETING");
    assert_eq!(
        world.call("CreateTable", &name, &described()),
        Err("ResourceInUseException".to_owned())
    );
    let gone = json!({ "Table": { "TableStatus": "as moto says" } });
    let seen = world.call("DescribeTable", &name, &gone).unwrap();
    assert_eq!(seen["Table"]["TableStatus"], "DELETING");
    assert_eq!(world.call("DescribeTable", &name, &gone).unwrap(), gone);
}

#[test]
fn tag_lists_lag_behind() {
    let mut world = World::new(&Options {
        table_settles: Settle::AtOnce,
        table_tags_settle: Settle::Reads(1),
        ..Options::default()
    });
    let tags = json!([{ "Key": "a", "Value": "1" }]);
    world
        .call(
            "CreateTable",
            &json!({ "TableName": "t", "Tags": tags }),
            &described(),
        )
        .unwrap();
    // Moto never forgets a value.
    let all = json!([{ "Key": "a", "Value": "1" }, { "Key": "a", "Value": "2" }]);
    let list = |world: &mut World| {
        let asked = json!({ "ResourceArn": ARN });
        world
            .call("ListTagsOfResource", &asked, &json!({ "Tags": all }))
            .unwrap()
    };
    assert_eq!(list(&mut world)["Tags"], json!([]));
    assert_eq!(list(&mut world)["Tags"], tags);
    let other = json!([{ "Key": "a", "Value": "2" }]);
    world
        .call(
            "TagResource",
            &json!({ "ResourceArn": ARN, "Tags": other }),
            &json!({}),
        )
        .unwrap();
    assert_eq!(list(&mut world)["Tags"], tags);
    assert_eq!(list(&mut world)["Tags"], other, "replaced");
    world
        .call(
            "UntagResource",
            &json!({ "ResourceArn": ARN, "TagKeys": ["a"] }),
            &json!({}),
        )
        .unwrap();
    assert_eq!(list(&mut world)["Tags"], other);
    assert_eq!(list(&mut world)["Tags"], json!([]));
}

#[test]
fn every_table_has_an_id_of_its_own() {
    let mut world = World::new(&Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    });
    let name = json!({ "TableName": "t" });
    let mut ids = Vec::new();
    for _ in 0..2 {
        world.call("CreateTable", &name, &described()).unwrap();
        let table = json!({ "Table": { "TableStatus": "ACTIVE" } });
        let seen = world.call("DescribeTable", &name, &table).unwrap();
        ids.push(seen["Table"]["TableId"].as_str().unwrap().to_owned());
        let deleted = world.call("DeleteTable", &name, &described()).unwrap();
        assert_eq!(
            deleted["TableDescription"]["TableId"],
            ids[ids.len() - 1].as_str()
        );
    }
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn one_index_is_filled_at_a_time_and_only_keys_are_defined() {
    let mut world = World::new(&Options {
        table_settles: Settle::Reads(1),
        ..Options::default()
    });
    let keys = |name: &str| json!([{ "AttributeName": name, "KeyType": "HASH" }]);
    let defined = |names: &[&str]| -> Value {
        names
            .iter()
            .map(|name| json!({ "AttributeName": name, "AttributeType": "S" }))
            .collect()
    };
    let create =
        json!({ "TableName": "t", "KeySchema": keys("id"), "AttributeDefinitions": defined(&["id"]) });
    world.call("CreateTable", &create, &described()).unwrap();
    let index = json!({ "IndexName": "one", "IndexStatus": "ACTIVE" });
    let table = json!({ "Table": { "TableStatus": "ACTIVE", "GlobalSecondaryIndexes": [index] } });
    let look = |world: &mut World| {
        let seen = world
            .call("DescribeTable", &json!({ "TableName": "t" }), &table)
            .unwrap();
        let index = seen["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"].clone();
        [seen["Table"]["TableStatus"].clone(), index]
    };
    look(&mut world);
    let add = |name: &str, key: &str, names: &[&str]| {
        json!({
            "TableName": "t",
            "AttributeDefinitions": defined(names),
            "GlobalSecondaryIndexUpdates": [{ "Create": { "IndexName": name, "KeySchema": keys(key) } }],
        })
    };
    let unused = add("one", "a", &["id", "a", "b"]);
    let refused = world.call("UpdateTable", &unused, &described());
    assert_eq!(refused, Err("ValidationException".to_owned()));
    world
        .call("UpdateTable", &add("one", "a", &["id", "a"]), &described())
        .unwrap();
    assert_eq!(look(&mut world), ["UPDATING", "ACTIVE"]);
    let second = add("two", "b", &["id", "a", "b"]);
    let refused = world.call("UpdateTable", &second, &described());
    assert_eq!(refused, Err("LimitExceededException".to_owned()));
    assert_eq!(look(&mut world), ["ACTIVE", "CREATING"]);
    assert_eq!(look(&mut world), ["ACTIVE", "ACTIVE"]);
    world.call("UpdateTable", &second, &described()).unwrap();
}
