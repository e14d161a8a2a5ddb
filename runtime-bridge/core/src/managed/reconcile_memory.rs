//! What the bridge knows of one object and may forget: after a restart it is learned anew, and nothing is lost by that.

use jiff::Timestamp;

use crate::external::{Operation, Secrets, Verb, Warning};
use crate::kind::Kind;
use crate::reasons::Reason;
use crate::rule::Rule;

use super::{
    attempt::Attempt,
    decision::Event,
    last_observation::{LastObservation, ObservedState},
    reconcile_inputs::ReconcileInputs,
    retry_state::RetryState,
    snapshot::Snapshot,
    status::{OperationReport, Status},
    status_echo::StatusEcho,
};

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

    /// Whatever stands in the way of calls now.
    pub fn backoff_active(&self, snapshot: &Snapshot) -> Option<&RetryState> {
        self.retry_state.as_ref().filter(|retry_state| {
            retry_state.inputs == ReconcileInputs::of(snapshot)
                && retry_state.until.is_none_or(|until| until > snapshot.now)
        })
    }

    /// This wish was refused for this verb, and waits for the user.
    pub fn refused(&self, snapshot: &Snapshot, verb: Verb) -> Option<&RetryState> {
        self.retry_state.as_ref().filter(|retry_state| {
            retry_state.for_these_inputs
                && retry_state.verb == verb
                && retry_state.inputs == ReconcileInputs::of(snapshot)
        })
    }

    /// So many failures of this verb in a row came before.
    pub(super) fn failures_of(&self, verb: Verb) -> u32 {
        self.retry_state
            .as_ref()
            .filter(|retry_state| retry_state.verb == verb)
            .map_or(0, |retry_state| retry_state.failures)
    }

    /// A call of this verb worked.
    pub fn clear_retry_state(&mut self, verb: Verb) {
        if self
            .retry_state
            .as_ref()
            .is_some_and(|retry_state| retry_state.verb == verb)
        {
            self.retry_state = None;
        }
    }

    /// How many updates this wish has had, and when the last.
    pub fn updates_for(&self, snapshot: &Snapshot) -> Option<(u32, Timestamp)> {
        self.updates
            .as_ref()
            .filter(|(inputs, ..)| *inputs == ReconcileInputs::of(snapshot))
            .map(|(_, count, last)| (*count, *last))
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
    pub(super) fn details_given_once(&self, kind: &Kind) -> PublishState {
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
    pub fn queue_warnings(&mut self, warnings: &[Warning]) {
        self.events.extend(
            warnings
                .iter()
                .map(|warning| Event::warning(Reason::of_plugin(&warning.reason), &warning.message)),
        );
    }
}
