//! What the memory takes in after a call, or after a write.

use std::sync::Arc;

use jiff::Timestamp;

use crate::reasons::{NormalEvent, WarningEvent};
use crate::{
    external::{
        Answer, CallError, Completed, FailureCode, Operation, OperationVerb, Outcome, OutcomeResult, Verb,
    },
    rule::Rule,
};

use super::{
    attempt::Attempt,
    decision::{Call, Event, MetadataChange, StatusWrite},
    intervals::next_observation,
    last_observation::{LastObservation, ObservedState},
    reconcile_inputs::ReconcileInputs,
    reconcile_memory::ReconcileMemory,
    record::Stored,
    record_observation::{incarnation, recorded},
    rules,
    snapshot::{Managed, Snapshot},
    status::{OperationReport, Status},
};

/// What the create that is recorded has made is observed as it was desired then, not as it is now.
fn is_of_a_former_wish(snapshot: &Snapshot) -> bool {
    match (&*snapshot.managed.record(), &snapshot.desired) {
        (Stored::Owned(record), Ok(desired)) => record
            .create()
            .is_some_and(|intent| rules::observed_as_recorded(intent, desired).is_some()),
        _ => false,
    }
}

impl ReconcileMemory {
    /// Takes in the answer of a call, after what must be persisted of it was. `world` is as of now.
    pub fn record_response(&mut self, snapshot: &Snapshot, call: &Call, answer: &Answer) {
        self.calls.allow_none();
        self.proof.spend();
        if !Rule::AnswerEndsObservation.is_off() {
            self.observed.forget_last();
        }
        if let Some((outcome, failure)) = rules::contradicts_itself(call, answer) {
            let message = format!(
                "the creation is said to have had no effect ({}), and yet to have made {:?}: it counts as unknown what it did; this is a fault of the plugin",
                failure.reason, outcome.external_name
            );
            self.events
                .push(Event::warning(WarningEvent::ContradictoryAnswer, &message));
        }
        match &*rules::believed(call, answer) {
            Ok(outcome) => self.record_outcome(snapshot, call, outcome),
            Err(error) => {
                if !matches!(error, CallError::Unknown { .. }) {
                    self.calls.record_answered(call);
                }
                if let CallError::Rejected { code, .. } = error {
                    // A handle that the plugin cannot read is of no more use; what it stood for is found by looking. The other codes speak of the
                    // plugin (it does not serve the type now, the call came late), and another answer may come.
                    if call.verb == Verb::Poll && code == "INVALID_ARGUMENT" {
                        self.operation.end(call);
                    }
                }
                self.record_call_error(snapshot, call.verb, error);
                let until = self
                    .retry_state
                    .as_ref()
                    .and_then(|retry_state| retry_state.until);
                self.operation.poll_at(until.filter(|_| call.verb == Verb::Poll));
            }
        }
    }

    /// This write is about to be sent: whether or not it lands, the call of an intent that is new with it has not begun.
    pub fn begin_write(&mut self, managed: &Managed, change: &MetadataChange) {
        let Some(token) = change.allows.as_ref().map(Attempt::token) else {
            return;
        };
        let is_recorded = matches!(&*managed.record(), Stored::Owned(record)
            if record.intent.as_ref().is_some_and(|intent| intent.token == token));
        let is_new = !is_recorded || Rule::NewIntentAloneIsUnsent.is_off();
        if is_new {
            self.calls.begin_intent(token);
        }
    }

    /// Likewise of a Delete that a status records. It is always a new one.
    pub fn begin_status(&mut self, snapshot: &Snapshot, write: &StatusWrite) {
        let old = &snapshot.managed.status;
        self.status_pace.begin(old, &write.status, snapshot.now);
        self.at_provider_refusal.begin(old, &write.status, snapshot.now);
        if let Some(attempt) = &write.allows {
            self.calls.begin_intent(attempt.token());
        }
    }

    /// A status landed that records a Delete: it may go, if the API server has stored it so.
    pub fn record_pending(&mut self, write: &StatusWrite, stored: &Status) {
        if write.allows.is_some() && stored.progress.deletion == write.status.progress.deletion {
            self.allow(write.allows.as_ref());
        }
    }

    /// A call is about to be sent: from here on nobody knows, until the answer is in.
    pub fn begin_call(&mut self, call: &Call) {
        if call.verb == Verb::Create && call.attempt == 0 && !Rule::FormerDetailsAreForgotten.is_off() {
            self.connection.begin_resource();
        }
        self.calls.begin(call);
        self.proof.spend();
    }

    fn record_outcome(&mut self, snapshot: &Snapshot, call: &Call, outcome: &Outcome) {
        if rules::is_terminal(&outcome.result) {
            self.calls.record_answered(call);
        }
        self.connection.keep_of_answer(&outcome.connection_details);
        self.queue_warnings(&outcome.warnings);
        match &outcome.result {
            OutcomeResult::Completed(completed) => self.record_completed(snapshot, call, outcome, completed),
            OutcomeResult::Operation(operation) => self.record_operation(snapshot, call, operation),
            OutcomeResult::Failure(failure) => {
                // Of what is not found there is nothing to follow; a look tells what became of it.
                if call.verb == Verb::Poll
                    && matches!(
                        failure.code,
                        FailureCode::OperationFailed | FailureCode::OperationExpired | FailureCode::NotFound
                    )
                {
                    self.operation.end(call);
                }
                if call.verb == Verb::Delete && failure.code == FailureCode::NotFound {
                    // Another's, or none: the look that follows tells which.
                    self.calls.record_delete_answered(snapshot.now);
                    self.clear_retry_state(Verb::Delete);
                    return;
                }
                self.record_failure(snapshot, call.verb, failure);
                self.bind_failure_to_inputs(snapshot, call);
                if call.verb == Verb::Poll {
                    let until = self
                        .retry_state
                        .as_ref()
                        .and_then(|retry_state| retry_state.until);
                    self.operation.poll_at(until);
                }
            }
        }
    }

    /// A repeat carries the recorded desired state: its refusal says nothing of one that was corrected since (trace 25).
    fn bind_failure_to_inputs(&mut self, snapshot: &Snapshot, call: &Call) {
        let same = snapshot
            .desired
            .as_ref()
            .is_ok_and(|desired| desired.parameters == call.desired.parameters);
        if let Some(retry_state) = self.retry_state.as_mut().filter(|_| call.verb == Verb::Create) {
            retry_state.rejected_until = retry_state.rejected_until.filter(|_| same);
        }
    }

    fn record_completed(
        &mut self,
        snapshot: &Snapshot,
        call: &Call,
        outcome: &Outcome,
        completed: &Completed,
    ) {
        self.clear_retry_state(call.verb);
        let does = match call.verb {
            Verb::Create => OperationVerb::Create,
            Verb::Update => OperationVerb::Update,
            Verb::Delete => OperationVerb::Delete,
            Verb::Poll => call.operation.unwrap_or(OperationVerb::Update),
            Verb::Observe => return,
        };
        if call.verb == Verb::Poll {
            self.operation.end(call);
        }
        match does {
            OperationVerb::Delete => {
                self.calls.record_delete_answered(snapshot.now);
                self.events.push(Event::normal(
                    NormalEvent::DeletedExternalResource,
                    "Successfully requested deletion of external resource",
                ));
            }
            OperationVerb::Create => {
                self.calls.record_created(call, snapshot.now);
                self.observed.end_absence();
                self.events.push(Event::normal(
                    NormalEvent::CreatedExternalResource,
                    "Successfully requested creation of external resource",
                ));
            }
            OperationVerb::Update => {
                self.count_update(snapshot);
                self.events.push(Event::normal(
                    NormalEvent::UpdatedExternalResource,
                    "Successfully requested update of external resource",
                ));
                self.report_drift();
            }
        }
        let Some(observation) = completed
            .observation
            .as_ref()
            .filter(|_| does != OperationVerb::Delete)
        else {
            return;
        };
        let mut observation = observation.clone();
        if observation.external_name.is_empty() {
            let name = if outcome.external_name.is_empty() {
                &call.target.external_name
            } else {
                &outcome.external_name
            };
            observation.external_name.clone_from(name);
        }
        if observation.canonical_id.is_empty() {
            observation.canonical_id.clone_from(&outcome.canonical_id);
        }
        self.take_once(&mut observation);
        self.note_in_sync(snapshot, &observation);
        let next = next_observation(snapshot, &observation);
        self.observed.record(LastObservation {
            // It was seen when the call ran, however long the answer lay (trace 3).
            began: if Rule::AnswerIsAsOldAsItsCall.is_off() {
                snapshot.now
            } else {
                call.deadline - snapshot.kind.timeouts.call
            },
            name: observation.external_name.clone(),
            recorded: recorded(snapshot),
            as_recorded: does == OperationVerb::Create && is_of_a_former_wish(snapshot),
            former_marker: call.target.former_marker.clone(),
            inputs: ReconcileInputs::of(snapshot),
            found: ObservedState::Exists(Arc::new(observation)),
            next,
            beside: None,
        });
    }

    fn record_operation(&mut self, snapshot: &Snapshot, call: &Call, operation: &Operation) {
        self.clear_retry_state(call.verb);
        self.operation.follow(operation, snapshot.now);
        let begun = call.verb != Verb::Poll;
        match operation.verb {
            OperationVerb::Create if begun => {
                self.operation.revive_creation();
                self.events.push(Event::normal(
                    NormalEvent::CreatedExternalResource,
                    "Successfully requested creation of external resource",
                ));
            }
            OperationVerb::Create => {}
            OperationVerb::Update | OperationVerb::Delete => {
                let earlier = self
                    .operation
                    .learned()
                    .or_else(|| snapshot.managed.status.progress.operation.clone());
                let goes_on = earlier.filter(|earlier| !begun && earlier.verb == operation.verb);
                self.operation.learn(OperationReport {
                    handle: operation.handle.clone(),
                    verb: operation.verb,
                    phase: operation.phase.clone(),
                    progress: operation.progress_percent,
                    since: goes_on.as_ref().map_or(snapshot.now, |earlier| earlier.since),
                    generation: goes_on.map_or(snapshot.managed.generation, |earlier| earlier.generation),
                    poll_driven: operation.poll_driven,
                    expire_time: operation.expire_time,
                    external_name: call.target.external_name.clone(),
                    incarnation: incarnation(snapshot),
                    sensitive_digest: call.sensitive_digest.clone(),
                });
                if begun && operation.verb == OperationVerb::Update {
                    self.count_update(snapshot);
                    self.events.push(Event::normal(
                        NormalEvent::UpdatedExternalResource,
                        "Successfully requested update of external resource",
                    ));
                    self.report_drift();
                } else if begun {
                    self.events.push(Event::normal(
                        NormalEvent::DeletedExternalResource,
                        "Successfully requested deletion of external resource",
                    ));
                }
            }
        }
    }

    /// A metadata write of this pass landed: its call may go, and it proves the version.
    pub fn record_metadata(&mut self, change: &MetadataChange, resource_version: &str, began: Timestamp) {
        self.allow(change.allows.as_ref());
        self.record_resource_version(resource_version, began);
        self.events.extend(change.event.clone());
    }

    fn allow(&mut self, attempt: Option<&Attempt>) {
        self.calls.allow(attempt);
        if attempt.is_some() {
            // A new call: what was known of former ones counts no more.
            if !Rule::AnsweredDeleteOfOwnResource.is_off() {
                self.calls.forget_answered_delete();
            }
            self.observed.end_absence();
        }
    }

    /// A status write or a live read of this pass proved the version.
    pub fn record_resource_version(&mut self, resource_version: &str, began: Timestamp) {
        self.proof.prove(resource_version, began);
    }

    /// The connection Secret could not be written: for people, and when to try again.
    pub fn record_publish_problem(&mut self, message: String, retry: Timestamp) {
        self.events.push(Event::warning(
            WarningEvent::CannotPublishConnectionDetails,
            &message,
        ));
        self.connection.record_problem(message, retry);
    }
}
