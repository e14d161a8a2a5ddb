//! What the bridge knows of one object and may forget: after a restart it is learned anew, and nothing is lost by that.

mod calls;
mod connection;
mod drift;
mod observed;
mod operation;
mod version_proof;

use jiff::Timestamp;

use crate::external::{Secrets, Verb, Warning};
use crate::reasons::Reason;
use crate::rule::Rule;

use super::{
    at_provider_refusal::AtProviderRefusal,
    decision::Event,
    last_observation::{LastObservation, ObservedState},
    reconcile_inputs::ReconcileInputs,
    retry_state::RetryState,
    snapshot::Snapshot,
    status::Status,
    status_echo::StatusEcho,
    status_pace::StatusPace,
};
use calls::CallMemory;
use connection::ConnectionMemory;
pub(super) use connection::PublishState;
use drift::DriftMemory;
use observed::ObservationMemory;
use operation::OperationMemory;
use version_proof::VersionProof;

/// What may be forgotten.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReconcileMemory {
    /// During which time of leading this was learned: another leader may have done anything in between.
    term: u64,
    pub(super) observed: ObservationMemory,
    pub(super) calls: CallMemory,
    pub(super) proof: VersionProof,
    pub(super) operation: OperationMemory,
    pub(super) connection: ConnectionMemory,
    /// What is in the way.
    pub(super) retry_state: Option<RetryState>,
    /// Updates that the present desired state has had: how many, and when the last.
    updates: Option<(ReconcileInputs, u32, Timestamp)>,
    pub(super) drift: DriftMemory,
    /// Since when an object whose deletion was begun is to be let go without its resource.
    pub(super) leaving_since: Option<Timestamp>,
    /// What the API server made of the newest status, where it did not store it as it was sent.
    pub(super) status_echo: StatusEcho,
    /// Until when `atProvider` is left out of the status, as it was refused.
    pub(super) at_provider_refusal: AtProviderRefusal,
    /// How many status writes came lately for texts and data alone.
    pub(super) status_pace: StatusPace,
    /// The last step of this pass was a status write that left the object at its resourceVersion: the next one would too.
    status_unchanged: bool,
    /// Writes in a row that the API server did not carry out, or rejected.
    failed_writes: u32,
    /// They were rejected.
    are_rejected: bool,
    /// Events that nobody has emitted yet.
    pub(super) events: Vec<Event>,
}

/// For who carries out what is decided.
impl ReconcileMemory {
    /// Was it learned during this time of leading?
    pub fn is_of_term(&self, term: u64) -> bool {
        self.term == term
    }

    /// The same, learned at no time in particular: for who compares memories.
    #[must_use]
    pub fn without_term(&self) -> Self {
        Self {
            term: 0,
            ..self.clone()
        }
    }

    /// The newest observation.
    pub fn last_observation(&self) -> Option<&LastObservation> {
        self.observed.last()
    }

    /// Connection details as last known.
    pub fn connection_details(&self) -> &Secrets {
        self.connection.details()
    }

    /// Some connection details may never come again, and are not in their Secret yet.
    pub fn has_unpublished_details(&self) -> bool {
        self.connection.is_unpublished()
    }

    /// The connection Secret holds what is known.
    pub fn record_published(&mut self) {
        self.connection.record_published();
    }

    /// Events that nobody has emitted yet; they are emitted now.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The next poll need not be waited for.
    pub fn poll_now(&mut self) {
        self.operation.poll_at(None);
    }

    /// The next call need not wait for what failed before.
    pub fn forget_failures(&mut self) {
        self.retry_state = None;
    }
}

impl ReconcileMemory {
    /// Forgets what holds for one pass only; and, having not led all the time since the last one, all but what came once and what is not reported yet.
    pub fn begin_reconcile(&mut self, term: u64) {
        if Rule::TermEndsMemory.is_off() {
            self.term = term;
        }
        if self.term != term {
            let former = std::mem::take(self);
            *self = Self {
                term,
                calls: former.calls.after_another_term(),
                connection: former.connection,
                events: former.events,
                ..Self::default()
            };
        }
        self.calls.allow_none();
        self.proof = VersionProof::default();
        self.connection.begin_pass();
        self.status_unchanged = false;
    }

    /// A step other than a status write begins: what it brings may be worth another one.
    pub fn begin_step(&mut self) {
        self.status_unchanged = false;
    }

    /// Takes in what became of a status that was sent. `changed`: the object's resourceVersion did.
    pub fn learn_status(&mut self, sent: &Status, stored: &Status, changed: bool) {
        self.status_echo.learn(sent, stored);
        self.at_provider_refusal.end(true);
        self.status_unchanged = !changed && sent != stored;
    }

    /// Written once more it would come back as it did.
    pub(super) fn would_not_change(&self, new: &Status, old: &Status) -> bool {
        self.status_echo.came_of(new, old) || self.status_unchanged
    }

    /// A write came through.
    pub(super) fn record_write(&mut self) {
        self.failed_writes = 0;
    }

    /// A write did not: an outage makes no pause of a rejection longer, which a person may end at any time.
    pub(super) fn begin_failure(&mut self, is_rejected: bool) {
        if self.are_rejected != is_rejected {
            self.are_rejected = is_rejected;
            self.failed_writes = 0;
        }
    }

    /// So many of one sort in a row by now.
    pub(super) fn count_failed_write(&mut self) -> u32 {
        self.failed_writes = self.failed_writes.saturating_add(1);
        self.failed_writes
    }

    /// Whatever stands in the way of calls now.
    pub fn backoff_active(&self, snapshot: &Snapshot) -> Option<&RetryState> {
        self.retry_state.as_ref().filter(|retry_state| {
            retry_state.inputs == ReconcileInputs::of(snapshot)
                && retry_state.until.is_none_or(|until| until > snapshot.now)
        })
    }

    /// This desired state was rejected for this verb, and waits for the user, or for the next of a few tries.
    pub fn rejected(&self, snapshot: &Snapshot, verb: Verb) -> Option<&RetryState> {
        self.retry_state.as_ref().filter(|retry_state| {
            retry_state
                .rejected_until
                .is_some_and(|until| until > snapshot.now)
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

    /// How many updates this desired state has had, and when the last.
    pub fn updates_for(&self, snapshot: &Snapshot) -> Option<(u32, Timestamp)> {
        self.updates
            .as_ref()
            .filter(|(inputs, ..)| *inputs == ReconcileInputs::of(snapshot))
            .map(|(_, count, last)| (*count, *last))
    }

    /// This process has sent Updates for the object.
    pub(super) fn has_updated(&self) -> bool {
        self.updates.is_some()
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
        self.observed.last().filter(|last_observation| {
            last_observation.next > snapshot.now
                && last_observation.as_recorded == as_recorded
                && last_observation.former_marker == former_marker
                && last_observation.inputs == ReconcileInputs::of(snapshot)
                && (last_observation.name == name
                    || matches!(&last_observation.found, ObservedState::Exists(found) if found.external_name == name))
        })
    }

    pub(super) fn count_update(&mut self, snapshot: &Snapshot) {
        let count = self.updates_for(snapshot).map_or(0, |(count, _)| count) + 1;
        self.updates = Some((ReconcileInputs::of(snapshot), count, snapshot.now));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejection_after_an_outage_is_the_first_of_its_sort() {
        let mut memory = ReconcileMemory::default();
        let counts = [false, false, false, true, true, false].map(|is_rejected| {
            memory.begin_failure(is_rejected);
            memory.count_failed_write()
        });
        assert_eq!(counts, [1, 2, 3, 1, 2, 1]);
    }

    /// They came with the answer to a Create, and nothing tells them again: the bridge that leads once more still has them.
    #[test]
    fn unpublished_connection_details_outlive_a_term() {
        let mut memory = ReconcileMemory::default();
        memory.begin_reconcile(1);
        let details = Secrets([("password".to_owned(), b"s3cret".to_vec())].into());
        memory.connection.keep_of_answer(&details);
        memory.begin_reconcile(2);
        assert!(memory.connection.is_unpublished());
        assert_eq!(memory.connection_details(), &details);
    }
}
