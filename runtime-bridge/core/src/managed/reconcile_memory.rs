//! What the bridge knows of one object and may forget: after a restart it is learned anew, and nothing is lost by that.

use std::sync::Arc;

use jiff::Timestamp;

use crate::external::{Absent, CallError, Observation, ObserveResult, Operation, Secrets, Verb};
use crate::reasons::Reason;
use crate::rule::Rule;

use super::{
    decision::{Event, ObserveCall},
    names,
    record::Stored,
    retry_state::RetryState,
    snapshot::{Managed, Settings, Snapshot},
    status::{OperationReport, Status},
    status_echo::StatusEcho,
};

/// What the user controls. While it stays as it was, a wait goes on and a look is not repeated before its time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReconcileInputs {
    generation: i64,
    deleting: bool,
    config_revision: String,
    sensitive_digest: String,
    words: Vec<String>,
}

impl ReconcileInputs {
    /// Of the world as it is.
    pub fn of(snapshot: &Snapshot) -> Self {
        let words = [
            names::EXTERNAL_NAME,
            names::RECONCILE_REQUESTED,
            names::CREATE_OUTCOME,
            names::ADOPT,
            names::APPROVE_REPLACEMENT,
            names::ORPHAN,
        ];
        // Names that we wrote ourselves are no wish of the user: only one that differs from the record's counts.
        let named_by_us = |managed: &Managed| match &*managed.record() {
            Stored::Owned(record) => record.external_name == managed.annotation(names::EXTERNAL_NAME),
            Stored::None | Stored::Unreadable(_) => false,
        };
        Self {
            generation: snapshot.managed.generation,
            deleting: snapshot.managed.deletion.is_some(),
            config_revision: snapshot
                .config
                .as_ref()
                .map(|config| config.revision.clone())
                .unwrap_or_default(),
            sensitive_digest: snapshot
                .desired
                .as_ref()
                .map(|desired| desired.sensitive_digest.clone())
                .unwrap_or_default(),
            words: words
                .into_iter()
                .map(|word| match word {
                    names::EXTERNAL_NAME if named_by_us(&snapshot.managed) => String::new(),
                    word => snapshot.managed.annotation(word).to_owned(),
                })
                .collect(),
        }
    }
}

/// A look that was made.
#[derive(Debug, Clone, PartialEq)]
pub struct LastObservation {
    /// When it began: only that counts for absence.
    pub began: Timestamp,
    /// By which name; empty: by derived name or marker.
    pub name: String,
    /// The call that was recorded then: a look from before it says nothing of it.
    pub recorded: Option<Attempt>,
    /// It went by the recorded parameters of a create, not by the wish.
    pub as_recorded: bool,
    /// The other marker that it took for ours too; empty: none.
    pub former_marker: String,
    /// What the user wanted then.
    pub inputs: ReconcileInputs,
    /// What it brought.
    pub found: ObservedState,
    /// Not to be repeated before.
    pub next: Timestamp,
}

/// What a look brought, failures left out: they are [`RetryState`].
#[derive(Debug, Clone, PartialEq)]
pub enum ObservedState {
    /// It is there.
    Exists(Arc<Observation>),
    /// It is not.
    Absent(Absent),
}

/// What this process knows of connection details that are given once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PublishState {
    /// They stand in the Secret.
    Published,
    /// They came, and are to be published.
    Unpublished,
    /// They never came here.
    Not,
}

/// The recorded call, by token and attempt.
pub type Attempt = (String, u32);

/// What may be forgotten.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReconcileMemory {
    /// The newest look.
    pub last_observation: Option<LastObservation>,
    /// When the first of an unbroken row of looks began that found a known resource absent.
    pub absent_since: Option<Timestamp>,
    /// During which time of leading this was learned: another leader may have done anything in between.
    pub term: u64,
    /// The intent that this process has just written, and may send.
    pub may_send: Option<Attempt>,
    /// Tokens of the newest intents that this process began to write, and whose call it has not begun. Nobody else begins attempt 0, and a write
    /// that was given up may land yet.
    pub unsent: Vec<String>,
    /// Since when an object whose deletion was begun is to be let go without its resource.
    pub leaving_since: Option<Timestamp>,
    /// The recorded call whose answer has come to this process, by attempt and deadline: a poll that drives it on moves the deadline.
    pub answered: Option<(Attempt, Timestamp)>,
    /// The attempt of a Create that was answered with success, and when.
    pub created: Option<(Attempt, Timestamp)>,
    /// When a Delete was last answered with success.
    pub delete_answered: Option<Timestamp>,
    /// The resourceVersion that a write or a live read of this pass proved, and when that began.
    pub verified: Option<(String, Timestamp)>,
    /// How often this pass has proven one; 2: or more often.
    pub verifications: u32,
    /// An Update or Delete operation that runs; `Some(None)`: the one in the status has ended.
    pub operation: Option<Option<OperationReport>>,
    /// A create handle that is of no more use.
    pub spent_handle: String,
    /// Earliest next poll.
    pub next_poll: Option<Timestamp>,
    /// Phase, progress and message of the running operation, as last told.
    pub reported: Option<Operation>,
    /// When progress was last written.
    pub progress_written: Option<Timestamp>,
    /// What the API server made of the newest status, where it did not store it as it was sent.
    pub status_echo: StatusEcho,
    /// The last step of this pass was a status write that left the object at its resourceVersion: the next one would too.
    pub status_unchanged: bool,
    /// What is in the way.
    pub retry_state: Option<RetryState>,
    /// Updates that the present wish has had: how many, and when the last.
    pub updates: Option<(ReconcileInputs, u32, Timestamp)>,
    /// Connection details as last known.
    pub details: Secrets,
    /// Some of them came with an answer, may never come again, and are not in the connection Secret yet.
    pub unpublished: bool,
    /// This pass has brought them all into the connection Secret.
    pub offered: bool,
    /// Why they could not be published, and when to try again.
    pub publish_problem: Option<(String, Timestamp)>,
    /// Writes in a row that the API server did not carry out.
    pub failed_writes: u32,
    /// Events that nobody has emitted yet.
    pub events: Vec<Event>,
}

impl ReconcileMemory {
    /// Forgets what holds for one pass only; and, having not led all the time since the last one, all but what came once and what is untold.
    pub fn begin_reconcile(&mut self, term: u64) {
        if Rule::TermEndsMemory.is_off() {
            self.term = term;
        }
        if self.term != term {
            let former = std::mem::take(self);
            *self = Self {
                term,
                unsent: former.unsent,
                details: former.details,
                unpublished: former.unpublished,
                publish_problem: former.publish_problem,
                events: former.events,
                ..Self::default()
            };
        }
        self.may_send = None;
        self.verified = None;
        self.verifications = 0;
        self.offered = false;
        self.status_unchanged = false;
    }

    /// A step other than a status write begins: what it brings may be worth another one.
    pub fn begin_step(&mut self) {
        self.status_unchanged = false;
    }

    /// Takes in what became of a status that was sent. `changed`: the object's resourceVersion did.
    pub fn learn_status(&mut self, sent: &Status, stored: &Status, changed: bool) {
        self.status_echo.learn(sent, stored);
        self.status_unchanged = !changed && sent != stored;
    }

    /// Takes in what each decision may need to know of the ones before it.
    pub fn refresh(&mut self, snapshot: &Snapshot) {
        let leaves = super::rules::may_be_orphaned(snapshot);
        self.leaving_since = self.leaving_since.or(Some(snapshot.now)).filter(|_| leaves);
    }

    /// The look, if it still tells the truth: nothing was changed since, the user wants the same, and its time is not over.
    pub fn fresh_observation(&self, snapshot: &Snapshot, name: &str) -> Option<&LastObservation> {
        self.observation_by(snapshot, name, false, snapshot.former_marker())
    }

    /// Likewise, for what an unanswered create may have made; `as_recorded`: by its recorded parameters.
    pub fn fresh_observation_for_create(
        &self,
        snapshot: &Snapshot,
        name: &str,
        as_recorded: bool,
    ) -> Option<&LastObservation> {
        self.observation_by(snapshot, name, as_recorded, "")
    }

    fn observation_by(
        &self,
        snapshot: &Snapshot,
        name: &str,
        as_recorded: bool,
        former_marker: &str,
    ) -> Option<&LastObservation> {
        self.last_observation.as_ref().filter(|last_observation| {
            last_observation.next > snapshot.now
                && last_observation.as_recorded == as_recorded
                && last_observation.former_marker == former_marker
                && last_observation.inputs == ReconcileInputs::of(snapshot)
                && (last_observation.name == name
                    || matches!(&last_observation.found, ObservedState::Exists(found) if found.external_name == name))
        })
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
            Ok(ObserveResult::Found(observation)) => {
                self.absent_since = None;
                ObservedState::Exists(Arc::from(observation))
            }
            Ok(ObserveResult::Absent(absent)) => {
                // What may only not be seen yet is no first absence.
                let visible = match &*snapshot.managed.record() {
                    Stored::Owned(record) => super::rules::visible_at(snapshot, record),
                    Stored::None | Stored::Unreadable(_) => None,
                };
                let counts = visible.is_none_or(|visible| began > visible);
                // A row: the look before said so too, by this name, of this resource.
                let row = self.last_observation.as_ref().is_some_and(|last_observation| {
                    matches!(last_observation.found, ObservedState::Absent(_))
                        && last_observation.name == *name
                        && last_observation.recorded == recorded(snapshot)
                });
                self.absent_since = self
                    .absent_since
                    .filter(|_| row)
                    .or(Some(began))
                    .filter(|_| counts);
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
            self.keep_details(&observation.connection_details);
            self.queue_warnings(&observation.warnings);
            self.clear_resolved(snapshot, observation);
            self.adopt_operation(snapshot, observation);
        }
        let next = match &found {
            ObservedState::Exists(observation) => next_observation(snapshot, observation),
            ObservedState::Absent(_) => snapshot.now + poll_interval(snapshot),
        };
        self.last_observation = Some(LastObservation {
            began,
            name: name.clone(),
            recorded: recorded(snapshot),
            as_recorded: asked.as_recorded,
            former_marker: asked.target.former_marker.clone(),
            inputs,
            found,
            next,
        });
    }

    /// A look may find an operation that nobody here knows of: it is followed like one of ours.
    fn adopt_operation(&mut self, snapshot: &Snapshot, observation: &Observation) {
        let Some(operation) = &observation.operation else {
            return;
        };
        let stored = || snapshot.managed.status.progress.operation.clone();
        let known = self.operation.clone().unwrap_or_else(stored);
        if known.is_some() || !super::rules::may_adopt_operation(snapshot, operation) {
            return;
        }
        self.next_poll = Some(snapshot.now + operation.poll_after.unwrap_or(super::operation::POLL_AFTER));
        self.reported = Some(operation.clone());
        self.operation = Some(Some(OperationReport {
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
        }));
    }

    /// What is there need not be made any more, and what is as wished needs no Update that failed.
    fn clear_resolved(&mut self, snapshot: &Snapshot, observation: &Observation) {
        let as_wished = snapshot.desired.as_ref().is_ok_and(|desired| {
            super::diff::differences(&snapshot.kind, &desired.parameters, observation).is_empty()
        });
        self.retry_state.take_if(|retry_state| match retry_state.verb {
            Verb::Create => true,
            Verb::Update => as_wished && !retry_state.for_these_inputs,
            Verb::Observe | Verb::Delete | Verb::Poll => false,
        });
    }

    /// Takes in details to publish: a key that is missing stays as it was. True: something is new.
    pub fn keep_details(&mut self, details: &Secrets) -> bool {
        let mut new = false;
        for (key, value) in &details.0 {
            if self.details.0.get(key) != Some(value) {
                self.details.0.insert(key.clone(), value.clone());
                new = true;
            }
        }
        self.offered &= !new;
        new
    }

    /// Those of the keys that are given once.
    pub(super) fn details_given_once(&self, kind: &crate::kind::Kind) -> PublishState {
        let mut keys = kind.connection_keys.iter().filter(|key| key.one_time);
        match keys.all(|key| self.details.0.contains_key(&key.name)) {
            true if self.unpublished => PublishState::Unpublished,
            true => PublishState::Published,
            false => PublishState::Not,
        }
    }

    /// The connection Secret holds what is known.
    pub fn record_published(&mut self) {
        self.unpublished = false;
        self.offered = true;
        self.publish_problem = None;
    }

    /// Takes in warnings as events.
    pub fn queue_warnings(&mut self, warnings: &[crate::external::Warning]) {
        self.events.extend(
            warnings
                .iter()
                .map(|warning| Event::warning(Reason::of_plugin(&warning.reason), &warning.message)),
        );
    }
}

/// The call that the object's record holds.
pub(super) fn recorded(snapshot: &Snapshot) -> Option<Attempt> {
    match &*snapshot.managed.record() {
        Stored::Owned(record) => record
            .intent
            .as_ref()
            .map(|intent| (intent.token.clone(), intent.attempt)),
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

/// What is not ready yet is looked at again after this.
pub(super) const UNREADY: std::time::Duration = std::time::Duration::from_secs(10);

/// When to look again at what was found: sooner while others wait for it to become ready. The plugin's advice counts in both cases.
pub(super) fn next_observation(snapshot: &Snapshot, observation: &Observation) -> Timestamp {
    let interval = poll_interval(snapshot);
    let wait = match observation.observe_after {
        _ if observation.ready => interval.max(observation.observe_after.unwrap_or_default()),
        Some(advice) => advice.max(std::time::Duration::from_secs(1)),
        None => interval.min(UNREADY),
    };
    snapshot.now + wait
}

/// Between drift polls of this object: the annotation, else the operator's setting, jittered.
pub(super) fn poll_interval(snapshot: &Snapshot) -> std::time::Duration {
    poll_interval_of(&snapshot.managed, &snapshot.settings, snapshot.fresh.jitter)
}

pub(super) fn poll_interval_of(managed: &Managed, settings: &Settings, jitter: f64) -> std::time::Duration {
    let annotated = super::duration::parse_go(managed.annotation(names::POLL_INTERVAL));
    let interval = annotated
        .filter(|interval| !interval.is_zero())
        .unwrap_or(settings.poll);
    let interval = interval.max(std::time::Duration::from_secs(1));
    let spread = settings.poll_jitter.min(interval / 2);
    interval.saturating_sub(spread) + spread.mul_f64(2.0 * jitter.clamp(0.0, 1.0))
}
