use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Key;
use crate::behaviors::Request;
use crate::reply::AwsError;
use crate::settle::{Pending, Settle};

type Names = BTreeSet<String>;

/// A new index of a table that is there is filled after the table itself is done; AWS works on one at a time, and takes definitions of keys
/// only.
#[derive(Debug)]
pub(super) struct Indexes {
    settles: Settle,
    by_table: BTreeMap<Key, Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// Attributes that are keys of the table and of its local indexes.
    own: Names,
    /// Those of each global index.
    global: BTreeMap<String, Names>,
    filling: Option<(String, Pending)>,
}

impl Indexes {
    pub(super) fn new(settles: Settle) -> Self {
        Self {
            // The table itself comes first.
            settles: match settles {
                Settle::After(time) => Settle::After(time * 2),
                reads => reads,
            },
            by_table: BTreeMap::new(),
        }
    }

    pub(super) fn before(&self, request: &Request<'_>, key: &Key) -> Option<AwsError> {
        let known = self
            .by_table
            .get(key)
            .filter(|_| request.action() == "UpdateTable")?;
        let sent = request.json();
        let updates = sent["GlobalSecondaryIndexUpdates"].as_array();
        let filling = known
            .filling
            .as_ref()
            .is_some_and(|(_, pending)| pending.peek(request.now));
        if filling && updates.is_some() {
            return Some(AwsError::bad_request(
                "LimitExceededException",
                "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
            ));
        }
        let created = updates.into_iter().flatten().map(|update| &update["Create"]);
        let used: Names = known
            .own
            .iter()
            .chain(known.global.values().flatten())
            .cloned()
            .chain(created.flat_map(|index| names(&index["KeySchema"])))
            .collect();
        let unused = names(&sent["AttributeDefinitions"]).any(|name| !used.contains(&name));
        unused.then(|| {
            let message =
                "One or more parameter values were invalid: Some AttributeDefinitions are not used.";
            AwsError::bad_request("ValidationException", message)
        })
    }

    pub(super) fn after(&mut self, request: &Request<'_>, key: &Key) {
        let sent = request.json();
        match request.action() {
            "CreateTable" => {
                let mut known = Known {
                    own: names(&sent["KeySchema"]).collect(),
                    ..Known::default()
                };
                for index in sent["LocalSecondaryIndexes"].as_array().into_iter().flatten() {
                    known.own.extend(names(&index["KeySchema"]));
                }
                for index in sent["GlobalSecondaryIndexes"].as_array().into_iter().flatten() {
                    known.add(index);
                }
                self.by_table.insert(key.clone(), known);
            }
            "UpdateTable" => {
                let known = self.by_table.entry(key.clone()).or_default();
                let updates = sent["GlobalSecondaryIndexUpdates"].as_array();
                for update in updates.into_iter().flatten() {
                    if let Some(gone) = update["Delete"]["IndexName"].as_str() {
                        known.global.remove(gone);
                    }
                    if let Some(name) = known.add(&update["Create"]) {
                        known.filling = Some((name, Pending::new(self.settles, request.now)));
                    }
                }
            }
            "DeleteTable" => {
                self.by_table.remove(key);
            }
            _ => {}
        }
    }

    /// Adds the index that is filled to the description of a table that is done itself.
    pub(super) fn describe(&mut self, request: &Request<'_>, key: &Key, description: &mut Value) {
        let Some((name, pending)) = self
            .by_table
            .get_mut(key)
            .and_then(|known| known.filling.as_mut())
        else {
            return;
        };
        if !pending.read(request.now) {
            return;
        }
        let indexes = description["GlobalSecondaryIndexes"].as_array_mut();
        for index in indexes.into_iter().flatten() {
            if index["IndexName"] == name.as_str() {
                index["IndexStatus"] = "CREATING".into();
            }
        }
    }
}

impl Known {
    fn add(&mut self, index: &Value) -> Option<String> {
        let name = index["IndexName"].as_str()?.to_owned();
        self.global
            .insert(name.clone(), names(&index["KeySchema"]).collect());
        Some(name)
    }
}

/// Attributes that a key schema, or a list of definitions, names.
fn names(list: &Value) -> impl Iterator<Item = String> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(|one| one["AttributeName"].as_str().map(ToOwned::to_owned))
}
