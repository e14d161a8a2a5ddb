//! The status of a composite resource: computed whole, written where it differs.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    circuit::Changing,
    facts::Facts,
    memory::CompositeMemory,
    snapshot::{RunState, Snapshot},
};
use crate::{
    function::{Condition, ConditionStatus, DesiredState, ResultTarget},
    reasons::{ConditionReason, Reason},
};

/// `Ready`.
pub const READY: &str = "Ready";
/// `Synced`.
pub const SYNCED: &str = "Synced";
/// Whether changes of what it composed come too fast.
pub const RESPONSIVE: &str = "Responsive";

/// What holds a deletion up, once nothing has moved for a while.
pub const DELETION_BLOCKED: &str = "DeletionBlocked";
/// A deletion takes longer than its deadline.
pub const DELETION_OVERDUE: &str = "DeletionOverdue";

/// Conditions that the bridge sets by itself, in the order of the status.
pub(super) const OURS: [&str; 5] = [RESPONSIVE, SYNCED, READY, DELETION_BLOCKED, DELETION_OVERDUE];

/// Types that functions may not set.
const SYSTEM: [&str; 7] = [
    READY,
    SYNCED,
    RESPONSIVE,
    DELETION_BLOCKED,
    DELETION_OVERDUE,
    "Healthy",
    "UpToDate",
];

/// Whether a composite resource or a claim says, for its generation, that it is being deleted.
pub fn reports_deletion(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    let ready = conditions.into_iter().flatten().find(|c| c["type"] == READY);
    ready.is_some_and(|ready| {
        ready["reason"] == ConditionReason::Deleting.as_str()
            && ready["observedGeneration"] == object["metadata"]["generation"]
    })
}

/// Value of one of our conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConditionReport {
    /// `True` or `False`.
    pub value: bool,
    /// PascalCase.
    pub reason: Reason,
    /// For people; empty: nothing to add.
    pub message: String,
}

impl ConditionReport {
    /// True, with nothing to add.
    pub fn yes(reason: impl Into<Reason>) -> Self {
        Self {
            value: true,
            reason: reason.into(),
            message: String::new(),
        }
    }

    /// False.
    pub fn no(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self {
            value: false,
            reason: reason.into(),
            message: message.into(),
        }
    }
}

/// What the status is to say; `None`: as it was.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    pub synced: Option<ConditionReport>,
    pub ready: Option<ConditionReport>,
    /// What holds the deletion up.
    pub blocked: Option<ConditionReport>,
    /// The deletion takes too long.
    pub overdue: Option<ConditionReport>,
    /// What functions set, if the pipeline ran.
    pub conditions: Option<Vec<Condition>>,
    /// The run ended early: what functions set before, and not in this run, is not known any more.
    pub fatal: bool,
    /// What functions desire of the status, if the pipeline ran to its end.
    pub desired: Option<Value>,
}

/// `Order/a (team)`.
fn itself(snapshot: &Snapshot) -> String {
    let xr = &snapshot.xr;
    let namespace = xr.namespace().map(|namespace| format!(" ({namespace})"));
    format!("{}/{}{}", xr.kind(), xr.name(), namespace.unwrap_or_default())
}

/// Whether its changes come no faster than it can follow (reference 11.3).
fn responsive(snapshot: &Snapshot, memory: &CompositeMemory) -> ConditionReport {
    let Some((changing, _)) = memory.circuit.open(snapshot.now) else {
        return ConditionReport::yes(ConditionReason::WatchCircuitClosed);
    };
    let source = match changing {
        Changing::Desired => itself(snapshot),
        Changing::Observed => "its metadata or status, composed or required resources, or Secrets".to_owned(),
    };
    ConditionReport::no(
        ConditionReason::WatchCircuitOpen,
        format!("Too many watch events from {source}. Allowing events periodically."),
    )
}

impl Report {
    /// Types of the conditions that functions have set, once this is written; after a fatal end those of before count on.
    pub fn function_conditions(&self, memory: &CompositeMemory) -> Option<BTreeSet<String>> {
        let mut types = function_types(self.conditions.as_deref()?);
        let former: Vec<String> = self
            .kept_of_former(&types, memory)
            .map(ToOwned::to_owned)
            .collect();
        types.extend(former);
        Some(types)
    }

    /// Of the types of before those that are not set now and stay, as a fatal end says nothing of them: each run may set others.
    fn kept_of_former<'m>(
        &self,
        set: &BTreeSet<String>,
        memory: &'m CompositeMemory,
    ) -> impl Iterator<Item = &'m str> {
        let room = if self.fatal {
            MOST_FUNCTION_CONDITIONS.saturating_sub(set.len())
        } else {
            0
        };
        let former: Vec<&str> = memory
            .function_conditions
            .iter()
            .filter(|former| !set.contains(*former))
            .map(String::as_str)
            .collect();
        former.into_iter().take(room)
    }

    /// The whole status.
    pub fn status(&self, snapshot: &Snapshot, memory: &CompositeMemory) -> Value {
        let xr = &snapshot.xr;
        let mut status = match xr.status() {
            Value::Object(status) => Value::Object(status.clone()),
            _ => json!({}),
        };
        let mut conditions = stored_conditions(&status);
        if let Some(fields) = status.as_object_mut() {
            fields.remove("conditions");
        }
        if let Some(desired) = &self.desired {
            if let Some(former) = &memory.desired_status {
                take_off(&mut status, former, desired);
            }
            merge(&mut status, desired);
            if let Some(fields) = status.as_object_mut() {
                fields.remove("conditions");
            }
        }
        if let Some(at) = memory.published_at {
            status["connectionDetails"] = json!({"lastPublishedTime": second(at)});
        }
        let stamp = Stamp {
            generation: xr.generation(),
            now: snapshot.now,
        };
        let ours = [
            (RESPONSIVE, Some(responsive(snapshot, memory))),
            (SYNCED, self.synced.clone()),
            (READY, self.ready.clone()),
            (DELETION_BLOCKED, self.blocked.clone()),
            (DELETION_OVERDUE, self.overdue.clone()),
        ];
        for (type_, report) in ours {
            if let Some(report) = report {
                let value = if report.value { "True" } else { "False" };
                let reason = report.reason.as_str();
                stamp.set(&mut conditions, type_, value, reason, &report.message, true);
            }
        }
        if let Some(functions) = &self.conditions {
            self.set_functions(&mut conditions, functions, memory, &stamp);
        }
        if self.conditions.is_some() {
            claim_condition_types(
                &mut status,
                snapshot,
                self.conditions.as_deref().unwrap_or_default(),
                &conditions,
            );
        }
        status["conditions"] = Value::Array(in_order(conditions));
        status
    }

    fn set_functions(
        &self,
        conditions: &mut BTreeMap<String, Value>,
        functions: &[Condition],
        memory: &CompositeMemory,
        stamp: &Stamp,
    ) {
        for one in functions {
            if SYSTEM.contains(&one.type_.as_str()) {
                continue;
            }
            let value = condition_value(one.status);
            let message = one.message.as_deref().unwrap_or_default();
            stamp.set(conditions, &one.type_, value, &one.reason, message, false);
        }
        let set = function_types(functions);
        let kept: BTreeSet<&str> = self.kept_of_former(&set, memory).collect();
        for former in memory
            .function_conditions
            .iter()
            .filter(|former| !set.contains(*former))
        {
            if kept.contains(former.as_str()) {
                stamp.set(conditions, former, "Unknown", FATAL_REASON, FATAL_MESSAGE, false);
            } else {
                conditions.remove(former);
            }
        }
    }
}

/// Of all functions together, once each run has set others and failed.
const MOST_FUNCTION_CONDITIONS: usize = 100;

const FATAL_REASON: &str = "FatalError";
const FATAL_MESSAGE: &str = "A fatal error occurred before the status of this condition could be determined.";

/// Types of conditions that functions set and that are not the bridge's.
fn function_types(conditions: &[Condition]) -> BTreeSet<String> {
    let types = conditions.iter().map(|one| one.type_.as_str());
    types
        .filter(|type_| !SYSTEM.contains(type_))
        .map(ToOwned::to_owned)
        .collect()
}

fn condition_value(status: ConditionStatus) -> &'static str {
    match status {
        ConditionStatus::True => "True",
        ConditionStatus::False => "False",
        ConditionStatus::Unknown => "Unknown",
    }
}

/// What functions desire of the status.
pub(super) fn desired_status(desired: &DesiredState) -> Value {
    let composite = desired.composite.as_ref();
    let status = composite.map(|one| one.object["status"].clone());
    status.filter(Value::is_object).unwrap_or_else(|| json!({}))
}

impl CompositeMemory {
    /// Takes what the last run sets, and the status says, for what functions have set: after a restart no write tells it, where nothing is to be written.
    pub(super) fn learn_status(&mut self, snapshot: &Snapshot) {
        let RunState::Ended { outcome, .. } = &snapshot.run else {
            return;
        };
        let stored = snapshot.xr.status();
        let set = function_types(&outcome.conditions);
        if !set.is_subset(&self.function_conditions) {
            // One that says something else may be another's still.
            let stored = stored_conditions(stored);
            let says = |one: &&Condition| {
                stored.get(&one.type_).is_some_and(|stored| {
                    stored["status"] == condition_value(one.status)
                        && stored["reason"] == one.reason
                        && stored["message"].as_str().unwrap_or_default()
                            == one.message.as_deref().unwrap_or_default()
                })
            };
            let said = outcome.conditions.iter().filter(says);
            let said = said.map(|one| one.type_.clone());
            self.function_conditions
                .extend(said.filter(|type_| set.contains(type_)));
        }
        if self.desired_status.is_none()
            && let Ok(desired) = &outcome.result
        {
            let mut desired = desired_status(desired);
            if let Some(fields) = desired.as_object_mut() {
                fields.remove("conditions");
            }
            let mut merged = stored.clone();
            merge(&mut merged, &desired);
            if merged == *stored && desired != json!({}) {
                self.desired_status = Some(desired);
            }
        }
    }

    /// Takes each condition of a status that functions may set for one that a function set. For `render`, which runs once and remembers nothing.
    pub fn recall_conditions(&mut self, status: &Value) {
        let types = stored_conditions(status).into_keys();
        let foreign = types.filter(|type_| !SYSTEM.contains(&type_.as_str()));
        self.function_conditions = foreign.collect();
    }
}

/// Generation and time of the conditions that are set.
pub(crate) struct Stamp {
    pub(crate) generation: i64,
    pub(crate) now: Timestamp,
}

impl Stamp {
    /// Sets a condition, which keeps its time as long as it keeps its value.
    pub(crate) fn set(
        &self,
        conditions: &mut BTreeMap<String, Value>,
        type_: &str,
        value: &str,
        reason: &str,
        message: &str,
        observed: bool,
    ) {
        let former = conditions.get(type_);
        let since = former
            .filter(|former| former["status"] == value)
            .and_then(|former| former["lastTransitionTime"].as_str())
            .map_or_else(|| second(self.now), ToOwned::to_owned);
        let mut condition = json!({
            "type": type_,
            "status": value,
            "reason": reason,
            "message": message,
            "lastTransitionTime": since,
        });
        if observed {
            condition["observedGeneration"] = self.generation.into();
        }
        conditions.insert(type_.to_owned(), condition);
    }
}

/// A status of a composite resource, a claim or a usage with one condition that is False; `None`: it says so already.
pub fn with_condition(
    status: &Value,
    type_: &str,
    reason: impl Into<Reason>,
    message: &str,
    generation: i64,
    now: Timestamp,
) -> Option<Value> {
    let reason: Reason = reason.into();
    let mut conditions = stored_conditions(status);
    let stamp = Stamp { generation, now };
    stamp.set(&mut conditions, type_, "False", reason.as_str(), message, true);
    let mut new: Map<String, Value> = status.as_object().cloned().unwrap_or_default();
    new.insert("conditions".to_owned(), Value::Array(in_order(conditions)));
    let new = Value::Object(new);
    differs(&new, status).then_some(new)
}

/// As Kubernetes prints times.
fn second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The conditions of a status, by type.
pub(crate) fn stored_conditions(status: &Value) -> BTreeMap<String, Value> {
    let stored = status["conditions"].as_array().into_iter().flatten();
    stored
        .filter_map(|one| Some((one["type"].as_str()?.to_owned(), one.clone())))
        .collect()
}

/// Ours first, then all others by type.
pub(crate) fn in_order(mut conditions: BTreeMap<String, Value>) -> Vec<Value> {
    let ours: Vec<Value> = OURS
        .iter()
        .filter_map(|type_| conditions.remove(*type_))
        .collect();
    ours.into_iter().chain(conditions.into_values()).collect()
}

/// Takes off what was desired and is no more, where it is as it was desired.
fn take_off(status: &mut Value, former: &Value, desired: &Value) {
    let (Value::Object(status), Value::Object(former)) = (status, former) else {
        return;
    };
    for (name, was) in former {
        let Some(below) = status.get_mut(name) else {
            continue;
        };
        if let Some(is) = desired.get(name) {
            take_off(below, was, is);
            continue;
        }
        if below.is_object() && was.is_object() {
            take_off(below, was, &Value::Null);
        }
        if below.as_object().is_none_or(Map::is_empty) {
            status.remove(name);
        }
    }
}

/// Sets all leaves; lists are whole.
fn merge(status: &mut Value, desired: &Value) {
    match (status, desired) {
        (Value::Object(status), Value::Object(desired)) => {
            for (name, value) in desired {
                merge(status.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (status, desired) => *status = desired.clone(),
    }
}

/// The most types that the claim is to copy: a function that draws a new one in each run would else enlarge the status without end.
const CLAIM_CONDITION_TYPES: usize = 100;

/// Types that the claim is to copy, of legacy composite resources alone: what was added stays, until there are too many.
fn claim_condition_types(
    status: &mut Value,
    snapshot: &Snapshot,
    functions: &[Condition],
    conditions: &BTreeMap<String, Value>,
) {
    if snapshot.xr.scope != crate::definition::Scope::LegacyCluster {
        return;
    }
    let stored = status["claimConditionTypes"].as_array().into_iter().flatten();
    let mut types: Vec<String> = stored
        .filter_map(|one| one.as_str().map(ToOwned::to_owned))
        .collect();
    for one in functions {
        let counts = one.target == ResultTarget::CompositeAndClaim && !SYSTEM.contains(&one.type_.as_str());
        if counts && !types.contains(&one.type_) {
            types.push(one.type_.clone());
        }
    }
    // Of those without a condition now, the oldest go.
    let mut excess = types.len().saturating_sub(CLAIM_CONDITION_TYPES);
    types.retain(|type_| {
        let goes = excess > 0 && !conditions.contains_key(type_);
        excess -= usize::from(goes);
        !goes
    });
    // Where all have one, the first stay: else each write would add again what the one before left out.
    types.truncate(CLAIM_CONDITION_TYPES);
    if !types.is_empty() {
        status["claimConditionTypes"] = json!(types);
    }
}

/// The status says something else than what is stored, and not only in the order of conditions.
pub(crate) fn differs(new: &Value, old: &Value) -> bool {
    let fields = |status: &Value| {
        let mut status = status.as_object().cloned().unwrap_or_default();
        status.remove("conditions");
        status
    };
    let plain = |status: &Value| {
        let mut conditions = stored_conditions(status);
        for condition in conditions.values_mut() {
            // An absent message is an empty one.
            if let Some(fields) = condition.as_object_mut()
                && fields.get("message").is_some_and(|message| message == "")
            {
                fields.remove("message");
            }
        }
        conditions
    };
    fields(new) != fields(old) || plain(new) != plain(old)
}

/// What `Ready` says while something is being deleted: what it waits for, and since when. That stays the same, so that it costs no writes.
pub(crate) fn deleting_since(waits_for: String, since: Option<Timestamp>) -> String {
    match since {
        Some(since) if waits_for.is_empty() => format!("being deleted since {since}"),
        Some(since) => format!("{waits_for} (being deleted since {since})"),
        None => waits_for,
    }
}

/// The status that a report makes; `None`: it is stored already, as far as the API server takes it.
pub(super) fn to_write(of: &Facts, report: &Report) -> Option<Value> {
    let (snapshot, memory) = (of.snapshot, of.memory);
    let new = report.status(snapshot, memory);
    let old = snapshot.xr.status();
    let echoed = memory
        .status_echo
        .as_ref()
        .is_some_and(|echo| !differs(&new, &echo.0) && echo.1 == *old);
    (differs(&new, old) && !echoed).then_some(new)
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
