//! What the status is to say, worked out whole and written only where it differs.

use jiff::Timestamp;

use crate::external::{Document, OperationVerb};

use super::{
    decision::{Action, Decision, Event, Rest, StatusWrite},
    memory::{Memory, Trouble},
    names,
    status::{ASYNC_OPERATION, OperationReport, Question, READY, SYNCED, Says, Status},
    world::World,
};

/// Progress alone is written no more often than this.
const PROGRESS_EVERY: std::time::Duration = std::time::Duration::from_secs(10);

/// What the status is to say. What is not said stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    pub ready: Option<Says>,
    pub synced: Option<Says>,
    pub operation: Option<OperationReport>,
    pub overdue: String,
    pub at_provider: Option<Document>,
    pub create_token: Option<String>,
    pub question: Option<Question>,
    pub event: Option<Event>,
}

impl Report {
    pub fn synced() -> Self {
        Self {
            synced: Some(Says::yes("ReconcileSuccess")),
            ..Self::default()
        }
    }

    pub fn failed(reason: &str, message: impl Into<String>) -> Self {
        Self {
            synced: Some(Says::no(reason, message)),
            ..Self::default()
        }
    }

    /// Success, or the trouble that there is.
    pub fn of_trouble(trouble: Option<&Trouble>) -> Self {
        match trouble {
            None => Self::synced(),
            Some(trouble) if trouble.waiting => Self {
                synced: Some(Says {
                    message: trouble.message.clone(),
                    ..Says::yes("ReconcileSuccess")
                }),
                ..Self::default()
            },
            Some(trouble) => Self::failed("ReconcileError", trouble.message.clone()),
        }
    }

    pub fn ready(self, says: Says) -> Self {
        Self {
            ready: Some(says),
            ..self
        }
    }

    pub fn creating(self) -> Self {
        self.ready(Says::no("Creating", ""))
    }

    pub fn deleting(self) -> Self {
        let ready = self
            .ready
            .clone()
            .filter(|says| says.reason == "Deleting")
            .unwrap_or_else(|| Says::no("Deleting", ""));
        self.ready(ready)
    }

    /// What stands in the way of the deletion.
    pub fn blocked(self, message: impl Into<String>) -> Self {
        self.ready(Says::no("Deleting", message))
    }

    pub fn operation(self, operation: OperationReport) -> Self {
        Self {
            operation: Some(operation),
            ..self
        }
    }

    /// First what is to be published, then the status where it differs, then rest.
    pub fn conclude(self, world: &World, memory: &Memory, rest: Rest) -> Decision {
        let publishable = world.managed.wants_connection_secret && !memory.unpublished.0.is_empty();
        if publishable
            && memory
                .publish_problem
                .as_ref()
                .is_none_or(|(_, retry)| *retry <= world.now)
        {
            return Decision::Act(Action::Publish);
        }
        let mut rest = rest;
        let mut report = self;
        if let Some((message, retry)) = memory.publish_problem.as_ref().filter(|_| publishable) {
            report.synced = Some(Says::no("ReconcileError", message.clone()));
            rest.wake = Some(rest.wake.map_or(*retry, |wake| wake.min(*retry)));
        }
        let old = &world.managed.status;
        let event = report.event.take();
        let mut new = report.apply(world, old);
        if memory
            .progress_written
            .is_some_and(|written| world.now < written + PROGRESS_EVERY)
        {
            keep_progress(old, &mut new);
        }
        if new == *old {
            return Decision::Rest(rest);
        }
        Decision::Act(Action::WriteStatus(Box::new(StatusWrite { status: new, event })))
    }

    fn apply(self, world: &World, old: &Status) -> Status {
        let mut status = old.clone();
        let generation = world.managed.generation;
        let mut set = |kind: &str, says: &Says| status.set(kind, says, generation, world.now);
        if let Some(says) = &self.ready {
            set(READY, says);
        }
        if let Some(says) = &self.synced {
            set(SYNCED, says);
        }
        match &self.operation {
            Some(operation) => set(
                ASYNC_OPERATION,
                &Says::no("Ongoing", message(operation, &self.overdue)),
            ),
            None => status.clear(ASYNC_OPERATION),
        }
        status.progress.operation = self.operation;
        status.progress.question = self.question;
        if let Some(token) = self.create_token {
            status.progress.create_token = token;
        }
        if let Some(at_provider) = self.at_provider {
            status.at_provider = Some(at_provider);
        }
        let requested = world.managed.annotation(names::RECONCILE_REQUESTED);
        if !requested.is_empty() {
            requested.clone_into(&mut status.last_handled);
        }
        status
    }
}

fn message(operation: &OperationReport, overdue: &str) -> String {
    let doing = match operation.verb {
        OperationVerb::Create => "creating",
        OperationVerb::Update => "updating",
        OperationVerb::Delete => "deleting",
    };
    let mut text = doing.to_owned();
    if !operation.phase.is_empty() {
        text.push_str(": ");
        text.push_str(&operation.phase);
    }
    if let Some(percent) = operation.progress {
        text.push_str(&format!(" ({percent} %)"));
    }
    text.push_str(overdue);
    text
}

/// Puts the old progress back where only progress differs.
fn keep_progress(old: &Status, new: &mut Status) {
    let (Some(was), Some(is)) = (&old.progress.operation, &mut new.progress.operation) else {
        return;
    };
    let same = OperationReport {
        phase: was.phase.clone(),
        progress: was.progress,
        ..is.clone()
    };
    if same != *was {
        return;
    }
    *is = same;
    let find = |status: &Status| {
        status
            .conditions
            .iter()
            .position(|one| one.kind == ASYNC_OPERATION)
    };
    if let (Some(from), Some(to)) = (find(old), find(new)) {
        new.conditions[to] = old.conditions[from].clone();
    }
}

/// When `since` plus the limit has passed: a sentence for people.
pub(super) fn overdue(now: Timestamp, since: Timestamp, limit: Option<std::time::Duration>) -> String {
    match limit.filter(|limit| now > since + *limit) {
        Some(limit) => format!(
            "; overdue: begun at {since}, it should have ended within {} s",
            limit.as_secs()
        ),
        None => String::new(),
    }
}
