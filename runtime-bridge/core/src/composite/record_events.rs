//! Events of a composite resource: each once, when the state that it speaks of begins.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    decision::Action,
    live::{ObjectState, Ownership},
    memory::{CompositeMemory, RejectedStatus},
    pipeline::RunOutcome,
    rules,
    snapshot::Snapshot,
    status::names_of,
};
use crate::{
    driver::{ApiFailure, ApiFailureKind},
    managed::Event,
    reasons::CompositeEvent,
};

const RESULT: &str = "result/";
const STATUS: &str = "status/";

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

/// The API server refuses a write of the composite resource until a person changes something.
pub(super) fn write_failed(memory: &mut CompositeMemory, action: &Action, failure: &ApiFailure) {
    if failure.kind != ApiFailureKind::Rejected {
        return;
    }
    if let Action::WriteStatus(write) = action
        && let Some(desired) = &write.desired
    {
        memory.rejected_status = Some(Box::new(RejectedStatus {
            desired: desired.clone(),
            message: failure.message.clone(),
            retry_at: None,
        }));
    }
    let reason = match action {
        Action::RemoveFinalizer => CompositeEvent::DeleteCompositeResource,
        _ => CompositeEvent::ComposeResources,
    };
    let message = format!("cannot {action}: {}", failure.message);
    let state = format!("write/{message}");
    memory.report(&state, Event::warning(reason, &message));
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
