use std::time::Instant;

use http::{HeaderMap, StatusCode};

use super::*;
use crate::call::Call;
use crate::service::Service;

struct Fixture {
    tables: Tables,
    now: Instant,
}

impl Fixture {
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
            Some(Interception::Refuse(error)) => return Err(error.code),
            Some(Interception::Answer(reply)) => return Ok(serde_json::from_slice(&reply.body).unwrap()),
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
fn a_creating_table_rejects_changes() {
    let mut fixture = Fixture::new(&Options {
        table_settles: Settle::Reads(2),
        ..Options::default()
    });
    let name = json!({ "TableName": "t" });
    let table = json!({ "Table": { "TableStatus": "ACTIVE" } });
    let created = fixture.call("CreateTable", &name, &described()).unwrap();
    assert_eq!(created["TableDescription"]["TableStatus"], "CREATING");
    for action in ["UpdateTable", "DeleteTable", "UpdateTimeToLive"] {
        assert_eq!(
            fixture.call(action, &name, &described()),
            Err("ResourceInUseException".to_owned()),
            "{action}"
        );
    }
    for status in ["CREATING", "CREATING", "ACTIVE"] {
        assert_eq!(
            fixture.call("DescribeTable", &name, &table).unwrap()["Table"]["TableStatus"],
            status
        );
    }
    let updated = fixture.call("UpdateTable", &name, &described()).unwrap();
    assert_eq!(updated["TableDescription"]["TableStatus"], "UPDATING");
}

#[test]
fn a_deleted_table_reads_as_deleting_first() {
    let mut fixture = Fixture::new(&Options {
        table_settles: Settle::Reads(1),
        ..Options::default()
    });
    let name = json!({ "TableName": "t" });
    let deleted = fixture.call("DeleteTable", &name, &described()).unwrap();
    assert_eq!(deleted["TableDescription"]["TableStatus"], "DELETING");
    assert_eq!(
        fixture.call("CreateTable", &name, &described()),
        Err("ResourceInUseException".to_owned())
    );
    let gone = json!({ "Table": { "TableStatus": "as moto says" } });
    let seen = fixture.call("DescribeTable", &name, &gone).unwrap();
    assert_eq!(seen["Table"]["TableStatus"], "DELETING");
    assert_eq!(fixture.call("DescribeTable", &name, &gone).unwrap(), gone);
}

#[test]
fn tag_lists_lag_behind() {
    let mut fixture = Fixture::new(&Options {
        table_settles: Settle::AtOnce,
        table_tags_settle: Settle::Reads(1),
        ..Options::default()
    });
    let tags = json!([{ "Key": "a", "Value": "1" }]);
    fixture
        .call(
            "CreateTable",
            &json!({ "TableName": "t", "Tags": tags }),
            &described(),
        )
        .unwrap();
    // Moto never forgets a value.
    let all = json!([{ "Key": "a", "Value": "1" }, { "Key": "a", "Value": "2" }]);
    let list = |fixture: &mut Fixture| {
        let asked = json!({ "ResourceArn": ARN });
        fixture
            .call("ListTagsOfResource", &asked, &json!({ "Tags": all }))
            .unwrap()
    };
    assert_eq!(list(&mut fixture)["Tags"], json!([]));
    assert_eq!(list(&mut fixture)["Tags"], tags);
    let other = json!([{ "Key": "a", "Value": "2" }]);
    fixture
        .call(
            "TagResource",
            &json!({ "ResourceArn": ARN, "Tags": other }),
            &json!({}),
        )
        .unwrap();
    assert_eq!(list(&mut fixture)["Tags"], tags);
    assert_eq!(list(&mut fixture)["Tags"], other, "replaced");
    fixture
        .call(
            "UntagResource",
            &json!({ "ResourceArn": ARN, "TagKeys": ["a"] }),
            &json!({}),
        )
        .unwrap();
    assert_eq!(list(&mut fixture)["Tags"], other);
    assert_eq!(list(&mut fixture)["Tags"], json!([]));
}

#[test]
fn every_table_has_a_unique_id() {
    let mut fixture = Fixture::new(&Options {
        table_settles: Settle::AtOnce,
        ..Options::default()
    });
    let name = json!({ "TableName": "t" });
    let mut ids = Vec::new();
    for _ in 0..2 {
        fixture.call("CreateTable", &name, &described()).unwrap();
        let table = json!({ "Table": { "TableStatus": "ACTIVE" } });
        let seen = fixture.call("DescribeTable", &name, &table).unwrap();
        ids.push(seen["Table"]["TableId"].as_str().unwrap().to_owned());
        let deleted = fixture.call("DeleteTable", &name, &described()).unwrap();
        assert_eq!(
            deleted["TableDescription"]["TableId"],
            ids[ids.len() - 1].as_str()
        );
    }
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn one_index_is_created_at_a_time() {
    let mut fixture = Fixture::new(&Options {
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
    fixture.call("CreateTable", &create, &described()).unwrap();
    let index = json!({ "IndexName": "one", "IndexStatus": "ACTIVE" });
    let table = json!({ "Table": { "TableStatus": "ACTIVE", "GlobalSecondaryIndexes": [index] } });
    let refresh = |fixture: &mut Fixture| {
        let seen = fixture
            .call("DescribeTable", &json!({ "TableName": "t" }), &table)
            .unwrap();
        let index = seen["Table"]["GlobalSecondaryIndexes"][0]["IndexStatus"].clone();
        [seen["Table"]["TableStatus"].clone(), index]
    };
    refresh(&mut fixture);
    let add = |name: &str, key: &str, names: &[&str]| {
        json!({
            "TableName": "t",
            "AttributeDefinitions": defined(names),
            "GlobalSecondaryIndexUpdates": [{ "Create": { "IndexName": name, "KeySchema": keys(key) } }],
        })
    };
    let unused = add("one", "a", &["id", "a", "b"]);
    let refused = fixture.call("UpdateTable", &unused, &described());
    assert_eq!(refused, Err("ValidationException".to_owned()));
    fixture
        .call("UpdateTable", &add("one", "a", &["id", "a"]), &described())
        .unwrap();
    assert_eq!(refresh(&mut fixture), ["UPDATING", "ACTIVE"]);
    let second = add("two", "b", &["id", "a", "b"]);
    let refused = fixture.call("UpdateTable", &second, &described());
    assert_eq!(refused, Err("LimitExceededException".to_owned()));
    assert_eq!(refresh(&mut fixture), ["ACTIVE", "CREATING"]);
    assert_eq!(refresh(&mut fixture), ["ACTIVE", "ACTIVE"]);
    fixture.call("UpdateTable", &second, &described()).unwrap();
}
