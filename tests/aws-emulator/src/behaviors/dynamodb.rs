//! A table takes its time to be created, changed and deleted, is not to be touched meanwhile, and its tags come later. So do its indexes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Interception, Request};
use crate::Options;
use crate::reply::{AwsError, Reply};
use crate::settle::{Pending, Settle};

mod indexes;
mod tags;

/// Region and name of a table.
type Key = (String, String);

#[derive(Debug)]
pub(super) struct Tables {
    settles: Settle,
    /// Only those with something going on.
    busy: BTreeMap<Key, Busy>,
    /// Which moto does not keep.
    classes: BTreeMap<Key, String>,
    /// Which moto does not give: every table has another.
    ids: BTreeMap<Key, String>,
    made: u64,
    indexes: indexes::Indexes,
    tags: tags::Tags,
}

#[derive(Debug)]
struct Busy {
    phase: Phase,
    pending: Pending,
    /// The description of a table that moto has already forgotten.
    deleted_description: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Creating,
    Updating,
    Deleting,
}

impl Phase {
    fn status(self) -> &'static str {
        match self {
            Self::Creating => "CREATING",
            Self::Updating => "UPDATING",
            Self::Deleting => "DELETING",
        }
    }

    fn participle(self) -> &'static str {
        match self {
            Self::Creating => "created",
            Self::Updating => "updated",
            Self::Deleting => "deleted",
        }
    }
}

impl Tables {
    pub(super) fn new(options: &Options) -> Self {
        Self {
            settles: options.table_settles,
            busy: BTreeMap::new(),
            classes: BTreeMap::new(),
            ids: BTreeMap::new(),
            made: 0,
            indexes: indexes::Indexes::new(options.table_settles),
            tags: tags::Tags::new(options.table_tags_settle),
        }
    }

    pub(super) fn before(&mut self, request: &Request<'_>) -> Option<Interception> {
        self.tags.before(request);
        let key = key(request)?;
        if request.action() == "DescribeTable" {
            return self.describe_deleted(request, &key);
        }
        let refusal = self.indexes.before(request, &key);
        let busy = self.busy.get(&key).filter(|busy| busy.pending.peek(request.now));
        let Some(busy) = busy else {
            return refusal.map(Interception::Refuse);
        };
        let in_use = || {
            AwsError::bad_request(
                "ResourceInUseException",
                format!(
                    "Attempt to change a resource which is still in use: Table is being {}: {}",
                    busy.phase.participle(),
                    key.1
                ),
            )
        };
        match (request.action(), busy.phase) {
            ("UpdateTable" | "DeleteTable", _)
            | ("CreateTable", Phase::Deleting)
            | ("UpdateTimeToLive" | "TagResource" | "UntagResource", Phase::Creating | Phase::Deleting) => {
                Some(Interception::Refuse(in_use()))
            }
            ("UpdateContinuousBackups", _) => Some(Interception::Refuse(AwsError::bad_request(
                "ContinuousBackupsUnavailableException",
                format!(
                    "Backups are being enabled for the table: {}. Please retry later",
                    key.1
                ),
            ))),
            _ => None,
        }
    }

    fn describe_deleted(&mut self, request: &Request<'_>, key: &Key) -> Option<Interception> {
        let busy = self.busy.get_mut(key)?;
        let deleted_description = busy.deleted_description.clone()?;
        if busy.pending.read(request.now) {
            return Some(Interception::Answer(Reply::json(
                http::StatusCode::OK,
                &json!({ "Table": deleted_description }),
            )));
        }
        self.busy.remove(key);
        None
    }

    pub(super) fn after(&mut self, request: &Request<'_>, reply: &mut Reply) {
        self.tags.after(request, reply);
        let Some(key) = key(request) else { return };
        let (field, begun) = match request.action() {
            "CreateTable" => ("TableDescription", Some(Phase::Creating)),
            "UpdateTable" => ("TableDescription", Some(Phase::Updating)),
            "DeleteTable" => ("TableDescription", Some(Phase::Deleting)),
            "DescribeTable" => ("Table", None),
            _ => return,
        };
        if let Some(class) = request.json()["TableClass"].as_str() {
            self.classes.insert(key.clone(), class.to_owned());
        }
        self.indexes.after(request, &key);
        if request.action() == "CreateTable" {
            self.made += 1;
            let id = format!("00000000-0000-4000-8000-{:012}", self.made);
            self.ids.insert(key.clone(), id);
        }
        let mut body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
        let description = &mut body[field];
        if let Some(class) = self.classes.get(&key) {
            description["TableClassSummary"] = json!({ "TableClass": class });
        }
        if let Some(id) = self.ids.get(&key) {
            description["TableId"] = json!(id);
        }
        match begun {
            Some(phase) => self.begin(request, key, phase, description),
            None => self.refresh(request, &key, description),
        }
        // Moto's check sum would not match any more.
        *reply = Reply::json(reply.status, &body);
    }

    fn begin(&mut self, request: &Request<'_>, key: Key, phase: Phase, description: &mut Value) {
        if phase == Phase::Deleting {
            self.classes.remove(&key);
            self.ids.remove(&key);
        }
        let pending = Pending::new(self.settles, request.now);
        if !pending.peek(request.now) {
            self.busy.remove(&key);
            return;
        }
        describe(phase, description);
        let deleted_description = (phase == Phase::Deleting).then(|| description.clone());
        self.busy.insert(
            key,
            Busy {
                phase,
                pending,
                deleted_description,
            },
        );
    }

    fn refresh(&mut self, request: &Request<'_>, key: &Key, description: &mut Value) {
        if let Some(busy) = self.busy.get_mut(key) {
            if busy.pending.read(request.now) {
                describe(busy.phase, description);
                return;
            }
            self.busy.remove(key);
        }
        self.indexes.describe(request, key, description);
    }
}

/// Region and table, whether named or by ARN (`arn:aws:dynamodb:REGION:ACCOUNT:table/NAME`).
fn key(request: &Request<'_>) -> Option<Key> {
    let body = request.json();
    let named = body["TableName"]
        .as_str()
        .or_else(|| body["ResourceArn"].as_str())?;
    let name = named.rsplit('/').next()?;
    Some((request.call.region.clone(), name.to_owned()))
}

/// Puts the phase into a description.
fn describe(phase: Phase, description: &mut Value) {
    description["TableStatus"] = phase.status().into();
    if phase == Phase::Creating
        && let Some(indexes) = description["GlobalSecondaryIndexes"].as_array_mut()
    {
        for index in indexes {
            index["IndexStatus"] = phase.status().into();
        }
    }
}

#[cfg(test)]
mod tests;
