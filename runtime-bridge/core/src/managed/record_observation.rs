//! What the memory takes in of an observation.

use std::sync::Arc;

use jiff::Timestamp;

use crate::external::{CallError, Observation, ObserveResult, Secrets, Verb};

use super::{
    attempt::Attempt,
    decision::ObserveCall,
    diff,
    intervals::{next_observation, poll_interval},
    last_observation::{LastObservation, ObservedState},
    observation_size::{KEPT, weight},
    reconcile_inputs::ReconcileInputs,
    reconcile_memory::ReconcileMemory,
    record::Stored,
    rules,
    snapshot::Snapshot,
    status::OperationReport,
};

impl ReconcileMemory {
    /// Takes in what each decision may need to know of the ones before it.
    pub fn refresh(&mut self, snapshot: &Snapshot) {
        let leaves = rules::may_be_orphaned(snapshot);
        self.leaving_since = self.leaving_since.or(Some(snapshot.now)).filter(|_| leaves);
    }

    /// Takes in what a look brought.
    pub fn record_observation(
        &mut self,
        snapshot: &Snapshot,
        asked: &ObserveCall,
        began: Timestamp,
        look: Result<ObserveResult, CallError>,
    ) {
        let name = &asked.target.external_name;
        let inputs = ReconcileInputs::of(snapshot);
        let found = match look {
            Ok(ObserveResult::Found(mut observation)) => {
                self.observed.end_absence();
                self.connection
                    .hold(std::mem::take(&mut observation.connection_details));
                self.queue_warnings(&std::mem::take(&mut observation.warnings));
                ObservedState::Exists(Arc::from(observation))
            }
            Ok(ObserveResult::Absent(absent)) => {
                // What may only not be seen yet is no first absence.
                let visible = match &*snapshot.managed.record() {
                    Stored::Owned(record) => rules::visible_at(snapshot, record),
                    Stored::None | Stored::Unreadable(_) => None,
                };
                let counts = visible.is_none_or(|visible| began > visible);
                // A row: the look before said so too, by this name, of this resource.
                let row = self.observed.last().is_some_and(|last_observation| {
                    matches!(last_observation.found, ObservedState::Absent(_))
                        && last_observation.name == *name
                        && last_observation.recorded == recorded(snapshot)
                });
                if counts {
                    self.observed.record_absence(began, row);
                } else {
                    self.observed.end_absence();
                }
                self.connection.hold(Secrets::default());
                ObservedState::Absent(absent)
            }
            Ok(ObserveResult::Failed(failure)) => {
                return self.record_failure(snapshot, Verb::Observe, &failure);
            }
            Err(error) => return self.record_call_error(snapshot, Verb::Observe, &error),
        };
        if self
            .retry_state
            .as_ref()
            .is_some_and(|retry_state| retry_state.verb == Verb::Observe)
        {
            self.retry_state = None;
        }
        if let ObservedState::Exists(observation) = &found {
            self.clear_resolved(snapshot, observation);
            self.note_in_sync(snapshot, observation);
            self.adopt_operation(snapshot, observation);
        }
        let next = match &found {
            ObservedState::Exists(observation) => next_observation(snapshot, observation),
            ObservedState::Absent(_) => snapshot.now + poll_interval(snapshot),
        };
        self.observed.record(LastObservation {
            began,
            name: name.clone(),
            recorded: recorded(snapshot),
            as_recorded: asked.as_recorded,
            former_marker: asked.target.former_marker.clone(),
            inputs,
            found,
            next,
            beside: asked.beside.clone(),
        });
    }

    /// Takes in the connection details of what was observed, once a complete snapshot shows that it is this object's: those of somebody else's resource
    /// are not for whoever names it.
    pub(super) fn judge_details(&mut self, snapshot: &Snapshot) {
        if !self.connection.holds_any() {
            return;
        }
        // Of other inputs it is observed again before anything is decided: by another config, or none, it is not known whose it is.
        let inputs = ReconcileInputs::of(snapshot);
        let last = self.observed.last().filter(|last| last.inputs == inputs);
        let is_own = last.is_some_and(|last| match &last.found {
            ObservedState::Exists(observation) => rules::is_own(snapshot, observation),
            ObservedState::Absent(_) => false,
        });
        if is_own {
            self.connection.keep_held();
        }
    }

    /// Takes out of an observation what it is told for once: it would be kept a second time for as long as the observation.
    pub(super) fn take_once(&mut self, observation: &mut Observation) {
        self.connection
            .keep(&std::mem::take(&mut observation.connection_details));
        // What was observed before is not what this is of.
        self.connection.hold(Secrets::default());
        self.queue_warnings(&std::mem::take(&mut observation.warnings));
    }

    /// A large observation is kept neither beyond the reconcile, as there is one for each object, nor beyond the call that was decided from it, whose
    /// answer may be long in being persisted: whoever needs it observes again.
    pub fn shed(&mut self) {
        self.shed_unless(|_| true);
    }

    /// Likewise, and one that is not large is kept only where there is room for so many bytes.
    pub fn shed_unless(&mut self, may_keep: impl FnOnce(usize) -> bool) {
        let bytes = match self.observed.last_state() {
            Some(ObservedState::Exists(observation)) => weight(observation, KEPT),
            Some(ObservedState::Absent(_)) | None => Some(0),
        };
        // Asked also where none is kept: what one before it took is given back.
        let may_keep = may_keep(bytes.unwrap_or_default());
        if bytes.is_none() || !may_keep {
            self.observed.forget_last();
        }
    }

    /// A look may find an operation that nobody here knows of: it is followed like one of ours.
    fn adopt_operation(&mut self, snapshot: &Snapshot, observation: &Observation) {
        let Some(operation) = &observation.operation else {
            return;
        };
        let stored = || snapshot.managed.status.progress.operation.clone();
        let known = self.operation.known_or(stored);
        if known.is_some() || !rules::may_adopt_operation(snapshot, observation, operation) {
            return;
        }
        self.operation.follow(operation, snapshot.now);
        self.operation.learn(OperationReport {
            handle: operation.handle.clone(),
            verb: operation.verb,
            phase: operation.phase.clone(),
            progress: operation.progress_percent,
            since: snapshot.now,
            generation: snapshot.managed.generation,
            poll_driven: operation.poll_driven,
            expire_time: operation.expire_time,
            external_name: observation.external_name.clone(),
            incarnation: incarnation(snapshot),
            sensitive_digest: None,
        });
    }

    /// What exists need not be created any more, and what is in sync needs no Update that failed.
    fn clear_resolved(&mut self, snapshot: &Snapshot, observation: &Observation) {
        let as_wished = || {
            snapshot.desired.as_ref().is_ok_and(|desired| {
                diff::differences(&snapshot.kind, &desired.parameters, observation).is_empty()
            })
        };
        self.retry_state.take_if(|retry_state| match retry_state.verb {
            Verb::Create => true,
            Verb::Update => retry_state.rejected_until.is_none() && as_wished(),
            Verb::Observe | Verb::Delete | Verb::Poll => false,
        });
    }
}

/// The call that the object's record holds.
pub(super) fn recorded(snapshot: &Snapshot) -> Option<Attempt> {
    match &*snapshot.managed.record() {
        Stored::Owned(record) => record.intent.as_ref().map(Attempt::recorded),
        Stored::None | Stored::Unreadable(_) => None,
    }
}

/// Which of its external resources the object has, by its record.
pub(super) fn incarnation(snapshot: &Snapshot) -> u32 {
    match &*snapshot.managed.record() {
        Stored::Owned(record) => record.incarnation,
        Stored::None | Stored::Unreadable(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What an object that has been observed asks for at the end of a reconcile, and whether its observation is kept where that is granted.
    fn kept(parameters: &serde_json::Value, is_granted: bool) -> (usize, bool) {
        let mut memory = ReconcileMemory::default();
        let observation = Observation {
            parameters: parameters.as_object().cloned().unwrap_or_default(),
            ..Observation::default()
        };
        memory.observed.record(LastObservation {
            began: Timestamp::UNIX_EPOCH,
            name: String::new(),
            recorded: None,
            as_recorded: false,
            former_marker: String::new(),
            inputs: ReconcileInputs::default(),
            found: ObservedState::Exists(Arc::new(observation)),
            next: Timestamp::UNIX_EPOCH,
            beside: None,
        });
        let mut asked = None;
        memory.shed_unless(|bytes| {
            asked = Some(bytes);
            is_granted
        });
        let asked = asked.expect("what is kept so far is to be given back, whatever was observed");
        (asked, memory.last_observation().is_some())
    }

    #[test]
    fn room_is_asked_for_or_given_back_after_each_reconcile() {
        let (small, large) = (json!({"a": "b"}), json!({"a": "x".repeat(KEPT)}));
        assert_eq!(kept(&small, true), (50, true));
        assert_eq!(kept(&small, false), (50, false));
        assert_eq!(kept(&large, true), (0, false));
    }
}
