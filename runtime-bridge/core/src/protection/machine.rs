//! The machine of usages as the driver runs it.

use jiff::Timestamp;

use super::{
    decide::decide,
    decision::Action,
    memory::UsageMemory,
    results::{Performed, record},
    snapshot::{ControllerState, Known, Resolution, Snapshot},
    usage::Usage,
    view::UsageView,
};
use crate::{
    driver::{ApiFailure, Authority, Follow, Machine, Moment, Persisting, Requirements},
    managed::Decision,
};

/// Decides for usages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UsageMachine {}

/// No answer of a usage's actions has to be persisted: what must survive is written before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {}

/// What a snapshot needs beyond the caches: see [`Snapshot`].
#[derive(Debug, Clone)]
pub struct Additions {
    /// The used resource, as the usage names it now.
    pub of: Resolution,
    /// Likewise the using one.
    pub by: Option<Resolution>,
    /// The used resource, as it was found first.
    pub used: Known,
    /// Likewise the using one.
    pub using: Known,
    /// What controls the usage.
    pub controller: ControllerState,
    /// What owns the used resource.
    pub owner: ControllerState,
    /// What waits until the used resource is gone: uids of what controls it, of what controls that, and so on, and of their claims.
    pub ancestors: std::collections::BTreeSet<String>,
    /// Other usages that protect the used resource.
    pub others: Vec<UsageView>,
    /// Uids of usages that hold it, and that are known to be gone.
    pub gone: std::collections::BTreeSet<String>,
    /// Something that it is about is of a kind that is not watched now.
    pub is_unwatched: bool,
    /// Wall clock, when all of it was in.
    pub now: Timestamp,
}

impl Machine for UsageMachine {
    type Snapshot = Snapshot;
    type Additions = Additions;
    type Memory = UsageMemory;
    type Action = Action;
    type Performed = Performed;
    type Answer = NoAnswer;
    type View = Usage;
    type Change = NoAnswer;

    fn begin_reconcile(memory: &mut UsageMemory, term: u64) {
        memory.begin(term);
    }

    fn authorize(snapshot: &mut Snapshot, memory: &UsageMemory, moment: &Moment) {
        snapshot.may_act = Self::is_granted(memory, moment, Authority::Begin);
    }

    fn is_authorized(snapshot: &Snapshot) -> bool {
        snapshot.may_act
    }

    fn is_granted(memory: &UsageMemory, moment: &Moment, authority: Authority) -> bool {
        let leads = moment.leadership.leads && moment.leadership.term == memory.term;
        match authority {
            Authority::Anybody => true,
            Authority::Leader => leads,
            Authority::Begin => leads && !moment.leadership.draining,
        }
    }

    fn refresh(_: &mut UsageMemory, _: &Snapshot) {}

    fn complete(snapshot: &mut Snapshot, additions: Additions) {
        snapshot.of = additions.of;
        snapshot.by = additions.by;
        snapshot.used = additions.used;
        snapshot.using = additions.using;
        snapshot.controller = additions.controller;
        snapshot.owner = additions.owner;
        snapshot.others = additions.others;
        snapshot.ancestors.extend(additions.ancestors);
        snapshot.gone = additions.gone;
        snapshot.is_unwatched = additions.is_unwatched;
        snapshot.now = additions.now;
    }

    fn completed(memory: &mut UsageMemory, snapshot: &Snapshot) {
        memory.completed(snapshot);
    }

    fn decide_cached(_: &Snapshot, _: &UsageMemory) -> Option<Decision<Action>> {
        None
    }

    fn decide(snapshot: &Snapshot, memory: &UsageMemory) -> Decision<Action> {
        decide(snapshot, memory)
    }

    fn requirements(_: &UsageMemory, action: &Action) -> Requirements {
        let authority = match action {
            Action::Observe(_) | Action::VerifyResourceVersion => Authority::Anybody,
            Action::RemoveFinalizer => Authority::Leader,
            Action::Write(_) | Action::Mark(_) | Action::Replay(_) | Action::WriteStatus(_) => {
                Authority::Begin
            }
        };
        Requirements {
            permit: false,
            authority,
        }
    }

    fn ends_permit(_: &Action) -> bool {
        false
    }

    fn before(_: &mut UsageMemory, _: &Snapshot, _: &Action) {}

    fn performed(
        memory: &mut UsageMemory,
        snapshot: &mut Snapshot,
        action: &Action,
        performed: Performed,
        began: Timestamp,
        moment: &Moment,
    ) -> Follow<NoAnswer> {
        record(memory, snapshot, action, performed, began, moment)
    }

    fn persisting(_: &Snapshot, _: &Usage, _: &Action, answer: &NoAnswer) -> Persisting<NoAnswer> {
        match *answer {}
    }

    fn record_answer(
        _: &mut UsageMemory,
        _: &mut Snapshot,
        _: &Action,
        answer: &NoAnswer,
        _: Option<Usage>,
        _: &Moment,
    ) {
        match *answer {}
    }

    fn report_not_persisted(_: &mut UsageMemory, _: &Action, answer: &NoAnswer, _: &ApiFailure) {
        match *answer {}
    }

    fn report_failure(memory: &mut UsageMemory, action: &Action, failure: &ApiFailure) {
        memory.refused(action, failure);
    }

    fn count_failed_write(memory: &mut UsageMemory) -> u32 {
        memory.failed_writes += 1;
        memory.failed_writes
    }
}
