//! Why one object of a composite resource that is being deleted does not go.

use serde_json::Value;

use super::{
    ObjectId,
    context::Context,
    in_use,
    live::LiveObject,
    names,
    status::{DELETION_BLOCKED, SYNCED},
};
use crate::reasons::DeletionReason;

/// Why one object does not go.
#[derive(Debug, PartialEq)]
pub(super) struct Hold {
    pub reason: DeletionReason,
    /// For people; the object is its subject.
    pub what: String,
}

impl Hold {
    fn new(reason: DeletionReason, what: String) -> Self {
        Self { reason, what }
    }

    /// Of an object that cannot be read.
    pub fn unreachable(of: &Context, why: &str) -> Self {
        Self::new(
            DeletionReason::Unreachable,
            format!("cannot be read: {why}{}", waiting_since(of)),
        )
    }

    /// Of several the most telling comes first: what a person has to act on before what takes its time.
    pub fn rank(&self) -> u8 {
        match self.reason {
            DeletionReason::Forbidden => 0,
            DeletionReason::InUse | DeletionReason::Cycle => 1,
            DeletionReason::ExternalError => 2,
            DeletionReason::Finalizers => 3,
            DeletionReason::Unreachable => 4,
            DeletionReason::ExternalDeletion
            | DeletionReason::Moving
            | DeletionReason::DeadlineExceeded
            | DeletionReason::DeadlineExtended => 5,
        }
    }
}

/// Why an object that exists does not go; `None`: nothing holds it.
pub(super) fn of(of: &Context, id: &ObjectId, object: &LiveObject) -> Option<Hold> {
    in_use(of, id, object)
        .or_else(|| refused(of, object))
        .or_else(|| deleting(object))
}

/// Since when one that is not being deleted itself is waited for, for people. The time is stored, so that a restart does not say another one.
pub(super) fn waiting_since(of: &Context) -> String {
    let since = of.snapshot.xr.deletion_time();
    since
        .map(|since| format!(" (the composite resource is being deleted since {since})"))
        .unwrap_or_default()
}

/// By the usage that protects it. What is being deleted all the same waits for a usage only if it says so: else it does not heed usages.
fn in_use(of: &Context, id: &ObjectId, object: &LiveObject) -> Option<Hold> {
    let usage = in_use::usage_of(of, id, object)?;
    let heeds = |report: &str| report.contains(&usage.title);
    if object.is_deleting() && !object.deletion_report().is_some_and(heeds) {
        return None;
    }
    let cycle = in_use::cycle_of(of, usage);
    let since = waiting_since(of);
    Some(if cycle.is_empty() {
        Hold::new(
            DeletionReason::InUse,
            format!("is in use by {}{since}", usage.text()),
        )
    } else {
        Hold::new(
            DeletionReason::Cycle,
            format!("waits for itself, as these usages form a cycle: {cycle}{since}"),
        )
    })
}

/// By the API server, or who stands before it.
fn refused(of: &Context, object: &LiveObject) -> Option<Hold> {
    let failed = of.memory.failed_deletions.get(object.uid());
    let failed = failed.filter(|failed| !failed.is_conflict)?;
    let why = format!("{}{}", failed.message, waiting_since(of));
    Some(if object.label(names::IN_USE) == Some("true") {
        Hold::new(DeletionReason::InUse, format!("is in use: {why}"))
    } else {
        Hold::new(DeletionReason::Forbidden, format!("is not deleted: {why}"))
    })
}

/// By who set its finalizers, and says of it what it may.
fn deleting(object: &LiveObject) -> Option<Hold> {
    let since = object.deletion_time()?;
    if let Some((reason, said)) = said_by(object) {
        return Some(Hold::new(
            reason,
            format!("is being deleted since {since}: {said}"),
        ));
    }
    let finalizers: Vec<&str> = object.finalizers().collect();
    if finalizers.is_empty() {
        return None;
    }
    let finalizers = finalizers.join(", ");
    Some(match object.deletion_report() {
        // Of its cloud, or of what it composed; nothing is wrong with it.
        Some(report) => {
            let report = Some(report).filter(|report| !report.is_empty());
            let report = report.map(|report| format!(": {report}")).unwrap_or_default();
            Hold::new(
                DeletionReason::ExternalDeletion,
                format!(
                    "is being deleted since {since}, and its controller reports that this is under way{report}. Its finalizers: {finalizers}"
                ),
            )
        }
        None => Hold::new(
            DeletionReason::Finalizers,
            format!("is being deleted since {since}, and waits for who set its finalizers: {finalizers}"),
        ),
    })
}

/// What an object says stands in the way: a composite resource of what blocks it, a managed resource of the last answer of its cloud.
fn said_by(object: &LiveObject) -> Option<(DeletionReason, String)> {
    let conditions = object.object()["status"]["conditions"].as_array()?;
    let condition = |type_: &str| conditions.iter().find(|one| one["type"] == type_);
    let message = |one: &Value| {
        let message = one["message"].as_str().filter(|message| !message.is_empty())?;
        Some(message.to_owned())
    };
    let said = |one: &Value| {
        let text = |field: &str| one[field].as_str();
        Some(format!(
            "{}={} {}: {}",
            text("type")?,
            text("status")?,
            text("reason")?,
            message(one)?
        ))
    };
    let blocked = condition(DELETION_BLOCKED).filter(|one| one["status"] == "True");
    if let Some((blocked, said)) = blocked.and_then(|one| Some((one, said(one)?))) {
        // What takes its time below takes its time here.
        let is_under_way = blocked["reason"] == DeletionReason::ExternalDeletion.as_str();
        return Some(if is_under_way {
            (DeletionReason::ExternalDeletion, said)
        } else {
            (DeletionReason::ExternalError, said)
        });
    }
    let synced = condition(SYNCED)?;
    // What passes by itself is no error, and stands in the message alone.
    let answer = if synced["status"] == "False" {
        said(synced)
    } else {
        message(synced)
    };
    Some((DeletionReason::ExternalError, answer?))
}
