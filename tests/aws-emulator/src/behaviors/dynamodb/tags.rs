use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::behaviors::Request;
use crate::reply::Reply;
use crate::settle::{Pending, Settle};

type TagMap = BTreeMap<String, String>;

/// Tag lists are eventually consistent: for a while a list is the one from before the last change.
#[derive(Debug)]
pub(super) struct Tags {
    settles: Settle,
    by_arn: BTreeMap<String, Tagged>,
}

#[derive(Debug)]
struct Tagged {
    now: TagMap,
    before: TagMap,
    pending: Pending,
}

impl Tags {
    pub(super) fn new(settles: Settle) -> Self {
        Self {
            settles,
            by_arn: BTreeMap::new(),
        }
    }

    pub(super) fn before(&mut self, request: &Request<'_>) {
        // A new table of the same name begins without a past.
        if request.action() == "DeleteTable"
            && let Some(name) = request.json()["TableName"].as_str()
        {
            let suffix = format!("{}:", request.call.region);
            self.by_arn
                .retain(|arn, _| !(arn.contains(&suffix) && arn.ends_with(&format!("/{name}"))));
        }
    }

    pub(super) fn after(&mut self, request: &Request<'_>, reply: &mut Reply) {
        let sent = request.json();
        match request.action() {
            "CreateTable" => {
                let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
                if let Some(arn) = answer["TableDescription"]["TableArn"].as_str() {
                    self.change(request, arn, |tags| tags.extend(read(&sent["Tags"])));
                }
            }
            "TagResource" => {
                let arn = sent["ResourceArn"].as_str().unwrap_or_default();
                self.change(request, arn, |tags| tags.extend(read(&sent["Tags"])));
            }
            "UntagResource" => {
                let arn = sent["ResourceArn"].as_str().unwrap_or_default();
                let gone = sent["TagKeys"].as_array().cloned().unwrap_or_default();
                self.change(request, arn, |tags| {
                    tags.retain(|key, _| !gone.contains(&json!(key)));
                });
            }
            "ListTagsOfResource" => {
                let arn = sent["ResourceArn"].as_str().unwrap_or_default();
                let Some(tagged) = self.by_arn.get_mut(arn) else {
                    return;
                };
                if tagged.pending.read(request.now) {
                    *reply = Reply::json(reply.status, &json!({ "Tags": write(&tagged.before) }));
                } else {
                    tagged.replace(reply);
                }
            }
            _ => {}
        }
    }

    fn change(&mut self, request: &Request<'_>, arn: &str, change: impl FnOnce(&mut TagMap)) {
        let pending = Pending::new(self.settles, request.now);
        let tagged = self.by_arn.entry(arn.to_owned()).or_insert_with(|| Tagged {
            now: TagMap::new(),
            before: TagMap::new(),
            pending,
        });
        tagged.before = tagged.now.clone();
        change(&mut tagged.now);
        tagged.pending = pending;
    }
}

impl Tagged {
    /// AWS replaces a tag that is written again; moto lists it with its former value too.
    fn replace(&self, reply: &mut Reply) {
        let mut page: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        if let Some(tags) = page["Tags"].as_array_mut() {
            let mut error = BTreeSet::new();
            tags.retain(|tag| {
                let key = tag["Key"].as_str().unwrap_or_default();
                let now = self.now.get(key).map(String::as_str);
                now.is_some() && now == tag["Value"].as_str() && error.insert(key.to_owned())
            });
        }
        *reply = Reply::json(reply.status, &page);
    }
}

fn read(tags: &Value) -> TagMap {
    let pair = |tag: &Value| Some((tag["Key"].as_str()?.to_owned(), tag["Value"].as_str()?.to_owned()));
    tags.as_array().into_iter().flatten().filter_map(pair).collect()
}

fn write(tags: &TagMap) -> Value {
    tags.iter()
        .map(|(key, value)| json!({ "Key": key, "Value": value }))
        .collect()
}
