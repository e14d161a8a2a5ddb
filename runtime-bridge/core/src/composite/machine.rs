//! The machine of composite resources as the driver runs it.

use jiff::Timestamp;

use super::{
    Composite,
    decide::decide,
    decision::Action,
    memory::CompositeMemory,
    names, record_events,
    results::{Performed, record},
    snapshot::{RunState, Snapshot},
};
use crate::{
    driver::{ApiFailure, Authority, Follow, Machine, Moment, Persisting, Requirements},
    managed::Decision,
    rule::Rule,
};

/// Decides for composite resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompositeMachine {}

/// No answer of a composite resource's actions has to be persisted: what must survive is written before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoAnswer {}

impl Machine for CompositeMachine {
    type Snapshot = Snapshot;
    type Additions = Additions;
    type Memory = CompositeMemory;
    type Action = Action;
    type Performed = Performed;
    type Answer = NoAnswer;
    type View = Composite;
    type Change = NoAnswer;

    fn begin_reconcile(memory: &mut CompositeMemory, term: u64) {
        memory.begin(term);
    }

    fn authorize(snapshot: &mut Snapshot, memory: &CompositeMemory, moment: &Moment) {
        snapshot.may_act = Self::is_granted(memory, moment, Authority::Begin);
    }

    fn is_authorized(snapshot: &Snapshot) -> bool {
        snapshot.may_act
    }

    fn is_granted(memory: &CompositeMemory, moment: &Moment, authority: Authority) -> bool {
        if Rule::LeaderAloneBegins.is_off() {
            return true;
        }
        let leads = moment.leadership.leads && moment.leadership.term == memory.term;
        match authority {
            Authority::Anybody => true,
            Authority::Leader => leads,
            Authority::Begin => leads && !moment.leadership.draining,
        }
    }

    fn refresh(memory: &mut CompositeMemory, snapshot: &Snapshot) {
        if let RunState::Ended { outcome, at, .. } = &snapshot.run {
            record_events::record(memory, outcome, *at);
        }
        let xr = &snapshot.xr;
        if snapshot.may_act && !xr.is_paused() {
            memory.handle_request(xr.annotation(names::RECONCILE_REQUESTED).unwrap_or_default());
        }
    }

    fn complete(snapshot: &mut Snapshot, additions: Additions) {
        snapshot.seen = additions.seen;
        snapshot.required = additions.required;
        snapshot.secrets = additions.secrets;
        snapshot.secrets_watched = additions.secrets_watched;
        snapshot.unlisted_secrets = additions.unlisted_secrets;
        snapshot.in_use = additions.in_use;
        snapshot.is_unwatched = additions.is_unwatched;
        snapshot.now = additions.now;
    }

    fn completed(memory: &mut CompositeMemory, snapshot: &Snapshot) {
        memory.completed(snapshot);
    }

    fn decide_cached(_: &Snapshot, _: &CompositeMemory) -> Option<Decision<Action>> {
        None
    }

    fn decide(snapshot: &Snapshot, memory: &CompositeMemory) -> Decision<Action> {
        decide(snapshot, memory)
    }

    fn requirements(_: &CompositeMemory, action: &Action) -> Requirements {
        let authority = match action {
            Action::Observe(_) | Action::VerifyResourceVersion => Authority::Anybody,
            Action::RemoveFinalizer => Authority::Leader,
            Action::Run(_)
            | Action::Write(_)
            | Action::Create(_)
            | Action::Apply(_)
            | Action::Delete(_)
            | Action::Release(_)
            | Action::Publish(_)
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

    fn before(memory: &mut CompositeMemory, snapshot: &Snapshot, action: &Action) {
        memory.before(snapshot, action);
    }

    fn performed(
        memory: &mut CompositeMemory,
        snapshot: &mut Snapshot,
        action: &Action,
        performed: Performed,
        began: Timestamp,
        moment: &Moment,
    ) -> Follow<NoAnswer> {
        record(memory, snapshot, action, performed, began, moment)
    }

    fn persisting(_: &Snapshot, _: &Composite, _: &Action, answer: &NoAnswer) -> Persisting<NoAnswer> {
        match *answer {}
    }

    fn record_answer(
        _: &mut CompositeMemory,
        _: &mut Snapshot,
        _: &Action,
        answer: &NoAnswer,
        _: Option<Composite>,
        _: &Moment,
    ) {
        match *answer {}
    }

    fn report_not_persisted(_: &mut CompositeMemory, _: &Action, answer: &NoAnswer, _: &ApiFailure) {
        match *answer {}
    }

    fn report_failure(memory: &mut CompositeMemory, action: &Action, failure: &ApiFailure) {
        record_events::write_failed(memory, action, failure);
    }

    fn count_failed_write(memory: &mut CompositeMemory) -> u32 {
        memory.failed_writes += 1;
        memory.failed_writes
    }
}

/// What a snapshot needs beyond the caches.
#[derive(Debug, Clone)]
pub struct Additions {
    /// What is known of each object.
    pub seen: std::collections::BTreeMap<super::ObjectId, super::live::ObjectState>,
    /// What each stored requirement finds.
    pub required:
        std::collections::BTreeMap<super::pipeline::Lookup, Result<super::digest::ContentDigest, String>>,
    /// Versions of the [Secrets that count](super::secrets_that_count).
    pub secrets: super::SecretVersions,
    /// Secrets are watched: of one without a version there is none.
    pub secrets_watched: bool,
    /// Why the list of Secrets is not complete.
    pub unlisted_secrets: Option<String>,
    /// What of all that is in use.
    pub in_use: super::snapshot::InUse,
    /// Some object that counts is of a kind that is not watched now.
    pub is_unwatched: bool,
    /// Wall clock, when all of it was in.
    pub now: Timestamp,
}
