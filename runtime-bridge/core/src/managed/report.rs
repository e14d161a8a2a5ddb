//! What the status is to say, worked out whole and written only where it differs.

use jiff::Timestamp;

use crate::external::{Document, OperationVerb};
use crate::reasons::{ConditionReason, NormalEvent, Reason};

use super::{
    attempt::Attempt,
    decision::{Action, Decision, Event, Rest, StatusWrite},
    names,
    reconcile_memory::ReconcileMemory,
    record::{Details, Stored},
    retry_state::RetryState,
    rules,
    snapshot::{Managed, Snapshot},
    status::{
        ASYNC_OPERATION, CONNECTION_DETAILS, ConditionValue, OperationReport, PendingDelete, Question, READY,
        SYNCED, Status,
    },
    status_pace::differs_in_texts_alone,
    stored_form::as_stored,
};

/// Progress alone is written no more often than this.
const PROGRESS_EVERY: std::time::Duration = std::time::Duration::from_secs(10);

/// What the status is to say. What is not said stays.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Report {
    pub ready: Option<ConditionValue>,
    pub synced: Option<ConditionValue>,
    pub operation: Option<OperationReport>,
    pub overdue: String,
    /// As the API server stores it, once it is compared.
    pub at_provider: Option<Document>,
    pub create_token: Option<String>,
    pub question: Option<Question>,
    pub deletion: Option<PendingDelete>,
    pub event: Option<Event>,
}

impl Report {
    pub fn synced() -> Self {
        Self {
            synced: Some(ConditionValue::yes(ConditionReason::ReconcileSuccess)),
            ..Self::default()
        }
    }

    pub fn failed(reason: impl Into<Reason>, message: impl Into<String>) -> Self {
        Self {
            synced: Some(ConditionValue::no(reason, message)),
            ..Self::default()
        }
    }

    /// Success, or the trouble that there is.
    pub fn of_retry_state(retry_state: Option<&RetryState>) -> Self {
        match retry_state {
            None => Self::synced(),
            Some(retry_state) if retry_state.waiting => Self {
                synced: Some(ConditionValue {
                    message: retry_state.message.clone(),
                    ..ConditionValue::yes(ConditionReason::ReconcileSuccess)
                }),
                ..Self::default()
            },
            Some(retry_state) => Self::failed(ConditionReason::ReconcileError, retry_state.message.clone()),
        }
    }

    pub fn ready(self, value: ConditionValue) -> Self {
        Self {
            ready: Some(value),
            ..self
        }
    }

    pub fn creating(self) -> Self {
        self.ready(ConditionValue::no(ConditionReason::Creating, ""))
    }

    pub fn deleting(self) -> Self {
        let ready = self
            .ready
            .clone()
            .filter(|value| value.reason == ConditionReason::Deleting.as_str())
            .unwrap_or_else(|| ConditionValue::no(ConditionReason::Deleting, ""));
        self.ready(ready)
    }

    /// Where nothing is known of the resource, `Ready` tells at least what is wanted of it.
    pub fn with_default_ready(self, snapshot: &Snapshot) -> Self {
        if snapshot.managed.deletion.is_some() {
            self.deleting()
        } else if self.ready.is_none() && snapshot.managed.condition(READY).is_none() {
            self.creating()
        } else {
            self
        }
    }

    /// What stands in the way of the deletion.
    pub fn blocked(self, message: impl Into<String>) -> Self {
        self.ready(ConditionValue::no(ConditionReason::Deleting, message))
    }

    pub fn event(self, event: Event) -> Self {
        Self {
            event: Some(event),
            ..self
        }
    }

    pub fn operation(self, operation: OperationReport) -> Self {
        Self {
            operation: Some(operation),
            ..self
        }
    }

    /// Where nothing new is known of an operation or a question, those in the status stay.
    pub fn with_stored(self, managed: &Managed) -> Self {
        Self {
            operation: managed.status.progress.operation.clone(),
            question: managed.status.progress.question.clone(),
            ..self
        }
    }

    /// First what is to be published, then the status where it differs, then rest.
    pub fn into_decision(self, snapshot: &Snapshot, memory: &ReconcileMemory, rest: Rest) -> Decision {
        let publishable = is_to_be_published(snapshot, memory);
        if publishable && may_publish(snapshot, memory) {
            return Decision::Act(Action::Publish);
        }
        let mut rest = rest;
        let mut report = self;
        let allows = report.deletion.as_ref().map(Attempt::pending);
        if let Some((message, retry)) = memory.connection.problem().filter(|_| publishable) {
            report.synced = Some(ConditionValue::no(ConditionReason::ReconcileError, message));
            rest = rest.or_retry_at(retry);
        }
        // Whatever the deletion waits for, they who wrote it wait for an answer.
        if let (Some(synced), Some(answer)) = (&mut report.synced, rules::wrong_orphan(snapshot)) {
            let gap = if synced.message.is_empty() { "" } else { "; " };
            synced.message.push_str(gap);
            synced.message.push_str(&answer);
        }
        let old = &snapshot.managed.status;
        report.at_provider = report
            .at_provider
            .map(|at_provider| as_stored(&snapshot.kind.status_schema, &at_provider));
        let refusal = &memory.at_provider_refusal;
        if let Some((until, message)) = refusal.leave_out(old, &mut report.at_provider, snapshot.now) {
            // What is wrong already is said first.
            if report.synced.as_ref().is_none_or(|synced| synced.status) {
                report.synced = Some(ConditionValue::no(ConditionReason::ReconcileError, message));
            }
            rest = rest.or_retry_at(until);
        }
        let mut events: Vec<Event> = report.event.take().into_iter().collect();
        let mut new = report.apply(snapshot, old);
        memory.status_echo.put_back(old, &mut new);
        if new.last_handled != old.last_handled {
            let message = format!("Handled the reconcile request {:?}", new.last_handled);
            events.push(Event::normal(NormalEvent::ReconcileRequestHandled, &message));
        }
        if memory.operation.is_progress_recent(snapshot.now, PROGRESS_EVERY) {
            keep_progress(old, &mut new);
        }
        if new == *old || memory.would_not_change(&new, old) {
            return Decision::Rest(rest);
        }
        // What an event goes with, or a call, is written at once.
        let may_wait = events.is_empty() && allows.is_none() && differs_in_texts_alone(old, &new);
        if may_wait && let Some(at) = memory.status_pace.not_before(snapshot.now) {
            return Decision::Rest(rest.or_retry_at(at));
        }
        Decision::Act(Action::WriteStatus(Box::new(StatusWrite {
            status: new,
            allows,
            events,
        })))
    }

    fn apply(self, snapshot: &Snapshot, old: &Status) -> Status {
        let mut status = old.clone();
        let generation = snapshot.managed.generation;
        let mut set = |kind: &str, value: &ConditionValue| status.set(kind, value, generation, snapshot.now);
        if let Some(value) = &self.ready {
            set(READY, value);
        }
        if let Some(value) = &self.synced {
            set(SYNCED, value);
        }
        match &*snapshot.managed.record() {
            Stored::Owned(record) if record.details == Details::Lost => set(
                CONNECTION_DETAILS,
                &ConditionValue::no(
                    ConditionReason::Lost,
                    rules::lost_connection_details(&snapshot.kind),
                ),
            ),
            Stored::Owned(_) | Stored::None | Stored::Unreadable(_) => status.clear(CONNECTION_DETAILS),
        }
        let mut set = |kind: &str, value: &ConditionValue| status.set(kind, value, generation, snapshot.now);
        match &self.operation {
            Some(operation) => set(
                ASYNC_OPERATION,
                &ConditionValue::no(ConditionReason::Ongoing, message(operation, &self.overdue)),
            ),
            None => status.clear(ASYNC_OPERATION),
        }
        status.progress.operation = self.operation;
        status.progress.question = self.question;
        if self.deletion.is_some() {
            status.progress.deletion = self.deletion;
        }
        if let Some(token) = self.create_token {
            status.progress.create_token = token;
        }
        if let Some(at_provider) = self.at_provider {
            status.at_provider = Some(at_provider);
        }
        let requested = snapshot.managed.annotation(names::RECONCILE_REQUESTED);
        if !requested.is_empty() {
            requested.clone_into(&mut status.last_handled);
        }
        status
    }
}

/// Are there details for a connection Secret that this pass has not brought there? A Secret that somebody took away or spoiled is put right,
/// but not while paused, and not for an object with which it goes.
fn is_to_be_published(snapshot: &Snapshot, memory: &ReconcileMemory) -> bool {
    let managed = &snapshot.managed;
    managed.wants_connection_secret
        && managed.deletion.is_none()
        && memory.connection.is_due(managed.paused())
}

fn may_publish(snapshot: &Snapshot, memory: &ReconcileMemory) -> bool {
    let problem = memory.connection.problem();
    problem.is_none_or(|(_, retry)| retry <= snapshot.now)
}

/// They are to be published, and no failed try to do so keeps that waiting.
pub(super) fn is_publishable_now(snapshot: &Snapshot, memory: &ReconcileMemory) -> bool {
    is_to_be_published(snapshot, memory) && may_publish(snapshot, memory)
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
    let lasted = std::time::Duration::try_from(now.duration_since(since)).unwrap_or_default();
    match limit.filter(|limit| lasted > *limit) {
        Some(limit) => format!(
            "; overdue: begun at {since}, it should have ended within {} s",
            limit.as_secs()
        ),
        None => String::new(),
    }
}
