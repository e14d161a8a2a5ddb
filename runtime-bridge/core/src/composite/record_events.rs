//! Events of a composite resource: each once, when the state that it speaks of begins.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    decision::Action,
    live::{ObjectState, Ownership},
    memory::{CompositeMemory, RefusedWrite, RejectedStatus},
    pipeline::RunOutcome,
    rules,
    sentence::names_of,
    snapshot::Snapshot,
    write,
};
use crate::{
    driver::{ApiFailure, ApiFailureKind},
    managed::Event,
    reasons::CompositeEvent,
};

const RESULT: &str = "result/";
const STATUS: &str = "status/";
const DELETE: &str = "delete/";
const SECRET: &str = "secret/";
const WRITE: &str = "write/composite/";
const WRITE_STATUS: &str = "write/status/";

/// Records the results of a run, once for each run, and each result once as long as runs repeat it.
pub(super) fn record(memory: &mut CompositeMemory, outcome: &RunOutcome, at: Timestamp) {
    if memory.reported_run == Some(at) {
        return;
    }
    memory.reported_run = Some(at);
    memory.failed_runs = if outcome.result.is_err() {
        memory.failed_runs.saturating_add(1)
    } else {
        0
    };
    if let Ok(desired) = &outcome.result {
        let is_desired = |name: &String| desired.resources.contains_key(name);
        memory.failures.retain(|name, _| is_desired(name));
    }
    let mut standing = BTreeSet::new();
    for one in &outcome.results {
        // It stands in the message of the condition and its event.
        let Some(event) = one.event() else { continue };
        let state = format!("{RESULT}{}/{}", event.reason, event.message);
        memory.report(&state, event);
        standing.insert(state);
    }
    memory.keep_reported(RESULT, &standing);
}

/// Records what came with a write of the composite resource beside its status, which may repeat its warnings.
pub(super) fn composite_written(memory: &mut CompositeMemory, events: &[Event]) {
    for event in events {
        if event.warning {
            memory.report(&status_state(event), event.clone());
        } else {
            memory.events.push(event.clone());
        }
    }
}

fn status_state(event: &Event) -> String {
    format!("{STATUS}{}/{}", event.reason, event.message)
}

/// Records what came with a status.
pub(super) fn status_written(memory: &mut CompositeMemory, events: &[Event]) {
    let mut standing = BTreeSet::new();
    for event in events {
        let state = status_state(event);
        memory.report(&state, event.clone());
        standing.insert(state);
    }
    memory.keep_reported(STATUS, &standing);
}

/// A composed resource is not as it is desired, and why.
pub(super) fn not_applied(resource_name: &str, why: &str) -> String {
    format!("cannot apply composed resource {resource_name:?}: {why}")
}

/// Why a composed resource was not written is told at once: of what is not new about its condition no status is written that would tell it.
pub(super) fn apply_failed(
    memory: &mut CompositeMemory,
    resource_name: &str,
    former: Option<&str>,
    why: &str,
) {
    let event = |why| Event::warning(CompositeEvent::ComposeResources, &not_applied(resource_name, why));
    if let Some(former) = former.filter(|former| *former != why) {
        memory.reported.remove(&status_state(&event(former)));
    }
    let event = event(why);
    memory.report(&status_state(&event), event);
}

/// Each deletion that failed, as it fails now.
pub(super) fn deletions_fail(memory: &mut CompositeMemory) {
    let failed = memory
        .failed_deletions
        .values()
        .filter(|failed| !failed.is_conflict);
    let failed: Vec<String> = failed.map(|failed| failed.message.clone()).collect();
    let mut standing = BTreeSet::new();
    for message in failed {
        let state = format!("{DELETE}{message}");
        memory.report(&state, Event::warning(CompositeEvent::ComposeResources, &message));
        standing.insert(state);
    }
    memory.keep_reported(DELETE, &standing);
}

/// The deletion of its connection Secret failed, and why; `None`: it did not.
pub(super) fn secret_deletion(memory: &mut CompositeMemory, failed: Option<&str>) {
    let state = failed.map(|message| format!("{SECRET}{message}"));
    if let (Some(state), Some(message)) = (&state, failed) {
        memory.report(
            state,
            Event::warning(CompositeEvent::PublishConnectionSecret, message),
        );
    }
    memory.keep_reported(SECRET, &state.into_iter().collect());
}

/// The API server has carried out a write of the composite resource, or of its status: that it refuses to would be news.
pub(super) fn write_succeeded(memory: &mut CompositeMemory, is_status: bool) {
    let prefix = if is_status { WRITE_STATUS } else { WRITE };
    memory.keep_reported(prefix, &BTreeSet::new());
}

/// The API server refuses a write of the composite resource until a person changes something, or the bridge has not the right to it.
pub(super) fn write_failed(memory: &mut CompositeMemory, action: &Action, failure: &ApiFailure) {
    memory.refused_write = None;
    if !matches!(failure.kind, ApiFailureKind::Rejected | ApiFailureKind::Forbidden) {
        return;
    }
    if let Action::Write(write) = action {
        memory.refused_write = Some(RefusedWrite {
            write: write::digest(write),
            message: failure.message.clone(),
        });
    }
    if let Action::WriteStatus(write) = action
        && failure.kind == ApiFailureKind::Rejected
    {
        match &write.desired {
            None => {
                memory.refused_report.refuse();
                if memory.refused_report.is_given_up() {
                    memory.failed_writes = 0;
                }
            }
            Some(desired) => {
                memory.rejected_status = Some(Box::new(RejectedStatus {
                    desired: desired.clone(),
                    message: failure.message.clone(),
                    retry_at: None,
                }));
            }
        }
    }
    let reason = match action {
        Action::RemoveFinalizer => CompositeEvent::DeleteCompositeResource,
        _ => CompositeEvent::ComposeResources,
    };
    let message = format!("cannot {action}: {}", failure.message);
    let prefix = match action {
        Action::WriteStatus(_) => WRITE_STATUS,
        _ => WRITE,
    };
    let state = format!("{prefix}{message}");
    memory.report(&state, Event::warning(reason, &message));
    memory.keep_reported(prefix, &BTreeSet::from([state]));
}

/// Names what a composite resource leaves that it refers to and does not control: nobody else knows of it afterwards. What was released was named
/// then.
pub(super) fn ended(memory: &mut CompositeMemory, snapshot: &Snapshot) {
    let xr = &snapshot.xr;
    let left = xr.refs.iter().filter_map(|reference| {
        let id = reference.id(xr.namespace());
        let Some(ObjectState::Exists(object)) = snapshot.seen.get(&id) else {
            return None;
        };
        let owner = match object.ownership(xr.uid()) {
            Ownership::Ours => return None,
            Ownership::Uncontrolled => "nobody".to_owned(),
            Ownership::Foreign => object.controller_name(),
        };
        (!rules::is_released(xr, object.uid())).then(|| format!("{id}, which {owner} controls"))
    });
    let left: Vec<String> = left.collect();
    if left.is_empty() {
        return;
    }
    let left: Vec<&str> = left.iter().map(String::as_str).collect();
    let message = format!(
        "Left {} of {} objects that it referred to: {}",
        left.len(),
        xr.refs.len(),
        names_of(&left)
    );
    memory
        .events
        .push(Event::warning(CompositeEvent::LeftComposed, &message));
}

#[cfg(test)]
#[path = "record_events_tests.rs"]
mod tests;
