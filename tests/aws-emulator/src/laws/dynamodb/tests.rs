use std::time::Instant;

use http::{HeaderMap, StatusCode};

use super::*;
use crate::call::{Call, Service};

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
    let list = |world: &mut World| {
        world
            .call(
                "ListTagsOfResource",
                &json!({ "ResourceArn": ARN }),
                &json!({ "Tags": "true" }),
            )
            .unwrap()
    };
    assert_eq!(list(&mut world)["Tags"], json!([]));
    assert_eq!(list(&mut world)["Tags"], "true");
    world
        .call(
            "UntagResource",
            &json!({ "ResourceArn": ARN, "TagKeys": ["a"] }),
            &json!({}),
        )
        .unwrap();
    assert_eq!(list(&mut world)["Tags"], tags);
    assert_eq!(list(&mut world)["Tags"], "true");
}
