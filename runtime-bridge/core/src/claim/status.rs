//! The status of a claim: computed whole, written where it differs.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::facts::Facts;
use crate::composite::{
    ConditionReport, ConditionStamp, DELETION_BLOCKED, DELETION_OVERDUE, READY, SYNCED, in_order,
    status_differs, stored_conditions,
};

/// Fields of a status that do not cross: each of the two objects has its own.
const OWN_FIELDS: [&str; 3] = ["claimConditionTypes", "conditions", "connectionDetails"];

/// Conditions of a composite resource that is being deleted which say what holds it up: the claim has them too.
const OF_DELETION: [&str; 2] = [DELETION_BLOCKED, DELETION_OVERDUE];

/// What of the composite resource a status shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Shown {
    /// What it showed before.
    #[default]
    AsBefore,
    /// Fields, and the conditions that are for claims too.
    Whole,
    /// What it showed before, and what holds up the deletion.
    Deletion,
}

/// What the status is to say; `None`: as it was.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    pub synced: Option<ConditionReport>,
    pub ready: Option<ConditionReport>,
    /// What holds the deletion up, as far as it is not the composite resource's to say.
    pub blocked: Option<ConditionReport>,
    /// That its deletion takes too long, likewise.
    pub overdue: Option<ConditionReport>,
    /// What of the composite resource.
    pub shown: Shown,
}

/// A whole status.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Whole {
    pub status: Value,
    /// Types of the conditions in it that are the composite resource's.
    pub copied: BTreeSet<String>,
}

impl Report {
    fn whole(&self, of: &Facts) -> Whole {
        let claim = &of.snapshot.claim;
        let mut status = claim.status().as_object().cloned().unwrap_or_default();
        let mut conditions = stored_conditions(claim.status());
        status.remove("conditions");
        let mut copied = of.memory.copied.clone();
        match (self.shown, of.ours()) {
            (Shown::Whole, Some(xr)) => {
                take_fields(&mut status, &xr.object()["status"]);
                for former in std::mem::take(&mut copied) {
                    conditions.remove(&former);
                }
                let theirs = shown_conditions(&xr.object()["status"]);
                copied = theirs.keys().cloned().collect();
                conditions.extend(theirs);
            }
            (Shown::Deletion, Some(xr)) => {
                let mut theirs = stored_conditions(&xr.object()["status"]);
                theirs.retain(|type_, _| OF_DELETION.contains(&type_.as_str()));
                conditions.extend(theirs);
            }
            (Shown::AsBefore, _) | (_, None) => {}
        }
        if let Some(at) = of.memory.published {
            let time = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
            status.insert("connectionDetails".to_owned(), json!({"lastPublishedTime": time}));
        }
        let stamp = ConditionStamp {
            generation: claim.generation(),
            now: of.snapshot.now,
        };
        for (type_, report) in [
            (SYNCED, &self.synced),
            (READY, &self.ready),
            (DELETION_BLOCKED, &self.blocked),
            (DELETION_OVERDUE, &self.overdue),
        ] {
            if let Some(report) = report {
                let value = if report.value { "True" } else { "False" };
                let reason = report.reason.as_str();
                stamp.set(&mut conditions, type_, value, reason, &report.message, true);
            }
        }
        status.insert("conditions".to_owned(), Value::Array(in_order(conditions)));
        Whole {
            status: status.into(),
            copied,
        }
    }

    /// The whole status; `None`: it is stored already, as far as the API server takes it.
    pub fn to_write(&self, of: &Facts) -> Option<Whole> {
        let whole = self.whole(of);
        let stored = of.snapshot.claim.status();
        let is_echoed = of
            .memory
            .status_echo
            .as_ref()
            .is_some_and(|echo| !status_differs(&whole.status, &echo.0) && echo.1 == *stored);
        (status_differs(&whole.status, stored) && !is_echoed).then_some(whole)
    }
}

/// The composite resource's replace the claim's.
fn take_fields(status: &mut Map<String, Value>, of_xr: &Value) {
    status.retain(|name, _| OWN_FIELDS.contains(&name.as_str()));
    for (name, value) in of_xr.as_object().into_iter().flatten() {
        if !OWN_FIELDS.contains(&name.as_str()) {
            status.insert(name.clone(), value.clone());
        }
    }
}

/// The conditions that the composite resource has for its claim too.
fn shown_conditions(of_xr: &Value) -> BTreeMap<String, Value> {
    let types = of_xr["claimConditionTypes"].as_array().into_iter().flatten();
    let types: BTreeSet<&str> = types.filter_map(Value::as_str).collect();
    let mut conditions = stored_conditions(of_xr);
    conditions
        .retain(|type_, _| types.contains(type_.as_str()) && ![SYNCED, READY].contains(&type_.as_str()));
    conditions
}
