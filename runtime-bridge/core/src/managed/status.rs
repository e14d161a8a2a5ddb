//! `status` as the machine reads and writes it: conditions to the letter Crossplane's.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::external::{Document, OperationVerb};
use crate::reasons::Reason;

use super::duration::within_reach;

/// `Ready`.
pub const READY: &str = "Ready";
/// `Synced`.
pub const SYNCED: &str = "Synced";
/// Present while an operation runs.
pub const ASYNC_OPERATION: &str = "AsyncOperation";

/// Present, and false, once connection details that are given once were lost.
pub const CONNECTION_DETAILS: &str = "ConnectionDetails";

/// One condition. `observedGeneration` 0 means none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// `Ready`, `Synced`, …
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False`, `Unknown`.
    pub status: String,
    /// PascalCase.
    pub reason: String,
    /// For people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// When it last changed.
    pub last_transition_time: Timestamp,
    /// The generation that it speaks of.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub observed_generation: i64,
}

/// A condition as desired: time and generation are put on when it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionValue {
    /// True or false.
    pub status: bool,
    /// PascalCase.
    pub reason: String,
    /// For people; empty: nothing to add.
    pub message: String,
}

impl ConditionValue {
    /// True for a reason.
    pub fn yes(reason: impl Into<Reason>) -> Self {
        Self {
            status: true,
            reason: reason.into().into(),
            message: String::new(),
        }
    }

    /// False for a reason.
    pub fn no(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self {
            status: false,
            reason: reason.into().into(),
            message: message.into(),
        }
    }
}

/// What may be lost: `status.crossbridge`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The create that is confirmed, by its token.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub create_token: String,
    /// What is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationReport>,
    /// What a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    /// The Delete that was begun with this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion: Option<PendingDelete>,
    /// What a newer bridge notes beside it: kept as it is.
    #[serde(flatten)]
    pub others: Document,
}

impl Progress {
    /// What cannot be read, as a newer bridge may have written it, counts as lost, but not the Delete beside it. A time that cannot be reckoned with
    /// is none of ours.
    fn of(value: Value) -> Self {
        let deletion = value.get("deletion").cloned();
        let deletion = deletion.and_then(|deletion| serde_json::from_value::<PendingDelete>(deletion).ok());
        Self {
            deletion: deletion.filter(|deletion| within_reach(deletion.deadline)),
            ..serde_json::from_value(value).unwrap_or_default()
        }
    }
}

/// A Delete that may be sent once the status that says `Deleting` is written: what an intent is in the record, without a write of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PendingDelete {
    /// Token of this Delete.
    pub token: String,
    /// Nothing is sent after it.
    pub deadline: Timestamp,
    /// Token of the intent that the record held when this was written, and of which nothing could execute any more; empty: it held none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub after: String,
}

/// An operation, for people, and for Update and Delete its handle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationReport {
    /// Empty for Create: the record holds it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub handle: String,
    /// What it does.
    pub verb: OperationVerb,
    /// PascalCase step.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<u8>,
    /// When it began.
    pub since: Timestamp,
    /// The generation that it was begun for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub generation: i64,
    /// Moves only when polled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub poll_driven: bool,
    /// When it may be forgotten upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expire_time: Option<Timestamp>,
    /// The external resource that it is about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub external_name: String,
    /// [`super::record::Record::incarnation`] of that resource.
    #[serde(default, skip_serializing_if = "is_first")]
    pub incarnation: u32,
    /// Of an Update: keyed digest of the sensitive values that it applies, which count as applied when it completes. `None`: not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive_digest: Option<String>,
}

/// Drawn for one attempt of one token; an answer to another question does nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The random word that an answer repeats.
    pub id: String,
    /// The token of the create that is asked about.
    pub token: String,
    /// Its last attempt: what was true before a repeat may be no longer.
    #[serde(default, skip_serializing_if = "is_first")]
    pub attempt: u32,
}

/// `status`, as far as the machine knows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Status {
    /// All of them, others' included.
    pub conditions: Vec<Condition>,
    /// `atProvider`.
    pub at_provider: Option<Document>,
    /// `crossbridge`.
    pub progress: Progress,
    /// `lastHandledReconcileAt`; empty: none.
    pub last_handled: String,
    /// Fields that a newer bridge, or somebody else, wrote: kept as they are.
    pub others: Document,
}

const CONDITIONS: &str = "conditions";
const AT_PROVIDER: &str = "atProvider";
const CROSSBRIDGE: &str = "crossbridge";
const LAST_HANDLED: &str = "lastHandledReconcileAt";

impl Status {
    /// Reads `status`. What cannot be read counts as lost: it is written anew.
    pub fn read(value: Value) -> Self {
        let Value::Object(mut others) = value else {
            return Self::default();
        };
        let conditions = match others.remove(CONDITIONS) {
            Some(Value::Array(conditions)) => conditions,
            _ => Vec::new(),
        };
        let at_provider = match others.remove(AT_PROVIDER) {
            Some(Value::Object(at_provider)) => Some(at_provider),
            _ => None,
        };
        let last_handled = match others.remove(LAST_HANDLED) {
            Some(Value::String(token)) => token,
            _ => String::new(),
        };
        Self {
            conditions: conditions
                .into_iter()
                .filter_map(|one| serde_json::from_value(one).ok())
                .collect(),
            at_provider,
            progress: others.remove(CROSSBRIDGE).map(Progress::of).unwrap_or_default(),
            last_handled,
            others,
        }
    }

    /// As JSON, whole.
    pub fn write(&self) -> Value {
        let mut status = self.others.clone();
        if !self.conditions.is_empty() {
            status.insert(CONDITIONS.to_owned(), json!(self.conditions));
        }
        if let Some(at_provider) = &self.at_provider {
            status.insert(AT_PROVIDER.to_owned(), Value::Object(at_provider.clone()));
        }
        if self.progress != Progress::default() {
            status.insert(CROSSBRIDGE.to_owned(), json!(self.progress));
        }
        if !self.last_handled.is_empty() {
            status.insert(LAST_HANDLED.to_owned(), json!(self.last_handled));
        }
        Value::Object(status)
    }

    /// Sets one condition. An equal one keeps its time, and takes the generation.
    pub fn set(&mut self, kind: &str, value: &ConditionValue, generation: i64, now: Timestamp) {
        let status = if value.status { "True" } else { "False" };
        let new = Condition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: value.reason.clone(),
            message: value.message.clone(),
            last_transition_time: now.round(jiff::Unit::Second).unwrap_or(now),
            observed_generation: generation,
        };
        match self
            .conditions
            .iter_mut()
            .find(|condition| condition.kind == kind)
        {
            Some(old)
                if old.status == new.status && old.reason == new.reason && old.message == new.message =>
            {
                old.observed_generation = generation;
            }
            Some(old) => *old = new,
            None => self.conditions.push(new),
        }
    }

    /// Takes one condition away.
    pub fn clear(&mut self, kind: &str) {
        self.conditions.retain(|condition| condition.kind != kind);
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature.
fn is_first(number: &u32) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's signature.
fn is_zero(number: &i64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_newer_bridge_are_kept() {
        let status = json!({
            "atProvider": {"arn": "a"},
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "Available", "lastTransitionTime": "2026-11-21T12:00:00Z"
            }],
            "crossbridge": {"createToken": "token", "quota": {"left": 3}},
            "lastHandledReconcileAt": "now",
            "observedGeneration": 3,
        });
        let mut read = Status::read(status.clone());
        assert_eq!(read.write(), status);
        read.progress.create_token.clear();
        assert_eq!(read.write()["crossbridge"], json!({"quota": {"left": 3}}));
    }

    #[test]
    fn a_delete_is_read_whatever_stands_beside_it() {
        let deletion = json!({"token": "t", "deadline": "2026-11-21T12:00:00Z"});
        let status = json!({"crossbridge": {"deletion": deletion, "operation": {"verb": "MOVE"}}});
        let read = Status::read(status.clone());
        let pending = read.progress.deletion.as_ref();
        assert_eq!(pending.map(|pending| pending.token.as_str()), Some("t"));
        assert_eq!(read.progress.operation, None);
    }
}
