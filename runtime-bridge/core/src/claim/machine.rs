//! The machine of claims as the driver runs it.

use jiff::Timestamp;

use super::{
    Claim, ClaimMemory, SecretVersions, Snapshot,
    decide::decide,
    decision::Action,
    results::{Performed, record},
};
use crate::{
    composite::ObjectState,
    driver::{ApiFailure, Authority, Follow, Machine, Moment, Persisting, Requirements},
    managed::Decision,
};

/// Decides for claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimMachine {}

/// No answer of a claim's actions has to be persisted: what must survive is written before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {}

/// What a snapshot needs beyond the caches.
#[derive(Debug, Clone)]
pub struct Additions {
    /// Name of the composite resource, of all [`candidates`](super::candidates) the first that is not [taken](super::is_taken).
    pub name: String,
    /// What is known of it.
    pub xr: ObjectState,
    /// How the two connection Secrets are known, if there are to be two.
    pub secrets: Option<SecretVersions>,
    /// By what the composite resource is in use, for people; `None`: it is not.
    pub in_use: Option<String>,
    /// Why not all usages have been read; `None`: they have.
    pub unknown_usages: Option<String>,
    /// Composite resources are not watched now.
    pub is_unwatched: bool,
    /// Wall clock, when all of it was in.
    pub now: Timestamp,
}

impl Machine for ClaimMachine {
    type Snapshot = Snapshot;
    type Additions = Additions;
    type Memory = ClaimMemory;
    type Action = Action;
    type Performed = Performed;
    type Answer = NoAnswer;
    type View = Claim;
    type Change = NoAnswer;

    fn begin_reconcile(memory: &mut ClaimMemory, term: u64) {
        memory.begin(term);
    }

    fn authorize(snapshot: &mut Snapshot, memory: &ClaimMemory, moment: &Moment) {
        snapshot.may_act = Self::is_granted(memory, moment, Authority::Begin);
    }

    fn is_authorized(snapshot: &Snapshot) -> bool {
        snapshot.may_act
    }

    fn is_granted(memory: &ClaimMemory, moment: &Moment, authority: Authority) -> bool {
        let leads = moment.leadership.leads && moment.leadership.term == memory.term;
        match authority {
            Authority::Anybody => true,
            Authority::Leader => leads,
            Authority::Begin => leads && !moment.leadership.draining,
        }
    }

    fn refresh(_: &mut ClaimMemory, _: &Snapshot) {}

    fn complete(snapshot: &mut Snapshot, additions: Additions) {
        snapshot.name = additions.name;
        snapshot.xr = additions.xr;
        snapshot.secrets = additions.secrets;
        snapshot.in_use = additions.in_use;
        snapshot.unknown_usages = additions.unknown_usages;
        snapshot.is_unwatched = additions.is_unwatched;
        snapshot.now = additions.now;
    }

    fn completed(memory: &mut ClaimMemory, snapshot: &Snapshot) {
        memory.completed(snapshot);
    }

    fn decide_cached(_: &Snapshot, _: &ClaimMemory) -> Option<Decision<Action>> {
        None
    }

    fn decide(snapshot: &Snapshot, memory: &ClaimMemory) -> Decision<Action> {
        decide(snapshot, memory)
    }

    fn requirements(_: &ClaimMemory, action: &Action) -> Requirements {
        let authority = match action {
            Action::Observe(_) | Action::VerifyResourceVersion => Authority::Anybody,
            Action::RemoveFinalizer => Authority::Leader,
            Action::Write(_)
            | Action::Create(..)
            | Action::Apply(_)
            | Action::Propagate(..)
            | Action::Delete(_)
            | Action::DeleteSecret(_)
            | Action::WriteStatus(_) => Authority::Begin,
        };
        Requirements {
            permit: false,
            authority,
        }
    }

    fn ends_permit(_: &Action) -> bool {
        false
    }

    fn before(memory: &mut ClaimMemory, _: &Snapshot, action: &Action) {
        memory.before(action);
    }

    fn performed(
        memory: &mut ClaimMemory,
        snapshot: &mut Snapshot,
        action: &Action,
        performed: Performed,
        began: Timestamp,
        moment: &Moment,
    ) -> Follow<NoAnswer> {
        record(memory, snapshot, action, performed, began, moment)
    }

    fn persisting(_: &Snapshot, _: &Claim, _: &Action, answer: &NoAnswer) -> Persisting<NoAnswer> {
        match *answer {}
    }

    fn record_answer(
        _: &mut ClaimMemory,
        _: &mut Snapshot,
        _: &Action,
        answer: &NoAnswer,
        _: Option<Claim>,
        _: &Moment,
    ) {
        match *answer {}
    }

    fn report_not_persisted(_: &mut ClaimMemory, _: &Action, answer: &NoAnswer, _: &ApiFailure) {
        match *answer {}
    }

    fn report_failure(memory: &mut ClaimMemory, action: &Action, failure: &ApiFailure) {
        memory.refused(action, failure);
    }

    fn count_failed_write(memory: &mut ClaimMemory) -> u32 {
        memory.failed_writes += 1;
        memory.failed_writes
    }
}
