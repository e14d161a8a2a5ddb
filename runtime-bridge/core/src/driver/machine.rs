//! What the driver asks of a machine.

use std::fmt::{Debug, Display};

use crate::managed::Decision;

use super::{ApiFailure, Moment};

/// By what right an action may be begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// Anybody may: it changes nothing that a leader relies on, and is guarded by itself.
    Anybody,
    /// The lease was held ever since the reconcile began; draining does not matter.
    Leader,
    /// Likewise, and nothing is draining: it begins something new.
    Begin,
}

/// What an action needs before it is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requirements {
    /// One of the plugin's permits, acquired before the deadline of the call begins to run.
    pub permit: bool,
    /// Checked at the last moment.
    pub authority: Authority,
}

/// What follows an action that was carried out.
#[derive(Debug)]
pub enum Follow<A> {
    /// Decide again.
    Decide,
    /// Persist what must not be lost of this answer, then decide again.
    Persist(A),
    /// The reconcile is over; true: the object is gone.
    End(bool),
}

/// What is to be persisted of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Persisting<C> {
    /// Nothing that is not stored already.
    Nothing,
    /// This, before anything else.
    Write(C),
    /// The object or its record is another's by now: the answer has nowhere to go.
    NotOwned,
}

/// The decisions of one kind of controller, and what it takes in. All of it is pure.
pub trait Machine: Debug + Clone {
    /// All that a decision is made from, save the memory.
    type Snapshot: Debug + Clone;
    /// What a snapshot needs beyond the caches.
    type Additions: Debug + Clone;
    /// What this process remembers of the object, and may forget.
    type Memory;
    /// One thing to do.
    type Action: Debug + Clone + Display;
    /// What came of an action.
    type Performed: Debug;
    /// An answer that must be persisted.
    type Answer: Debug + Clone;
    /// The object as the machine sees it.
    type View: Debug + Clone;
    /// A change of metadata.
    type Change: Debug + Clone;

    /// Forgets what holds for one reconcile only, or during one term of leading.
    fn begin_reconcile(memory: &mut Self::Memory, term: u64);
    /// Notes in the snapshot whether anything new may be begun.
    fn authorize(snapshot: &mut Self::Snapshot, memory: &Self::Memory, moment: &Moment);
    /// Whether anything new may be begun, as noted.
    fn is_authorized(snapshot: &Self::Snapshot) -> bool;
    /// Whether this right is held now.
    fn is_granted(memory: &Self::Memory, moment: &Moment, authority: Authority) -> bool;
    /// Takes in what each decision may need to know of the ones before it.
    fn refresh(memory: &mut Self::Memory, snapshot: &Self::Snapshot);
    /// Adds what was asked for.
    fn complete(snapshot: &mut Self::Snapshot, additions: Self::Additions);
    /// Takes in what a complete snapshot shows.
    fn completed(_memory: &mut Self::Memory, _snapshot: &Self::Snapshot) {}
    /// What can be decided from caches alone.
    fn decide_cached(snapshot: &Self::Snapshot, memory: &Self::Memory) -> Option<Decision<Self::Action>>;
    /// What is decided from a complete snapshot.
    fn decide(snapshot: &Self::Snapshot, memory: &Self::Memory) -> Decision<Self::Action>;
    /// What an action needs.
    fn requirements(memory: &Self::Memory, action: &Self::Action) -> Requirements;
    /// The permit is of no more use once this action was carried out.
    fn ends_permit(action: &Self::Action) -> bool;
    /// Whether an action changes nothing, here or outside: as if it had not been begun if nobody takes in what came of it.
    fn changes_nothing(_: &Self::Action) -> bool {
        false
    }
    /// The action is about to be carried out.
    fn before(memory: &mut Self::Memory, snapshot: &Self::Snapshot, action: &Self::Action);
    /// The action was carried out; it began at `began`.
    fn performed(
        memory: &mut Self::Memory,
        snapshot: &mut Self::Snapshot,
        action: &Self::Action,
        performed: Self::Performed,
        began: jiff::Timestamp,
        moment: &Moment,
    ) -> Follow<Self::Answer>;
    /// What of an answer must be persisted upon this version.
    fn persisting(
        snapshot: &Self::Snapshot,
        newest: &Self::View,
        action: &Self::Action,
        answer: &Self::Answer,
    ) -> Persisting<Self::Change>;
    /// What must be persisted was; `newest` is the newest version that is known, `None` if the object is gone.
    fn record_answer(
        memory: &mut Self::Memory,
        snapshot: &mut Self::Snapshot,
        action: &Self::Action,
        answer: &Self::Answer,
        newest: Option<Self::View>,
        moment: &Moment,
    );
    /// The API server will not store an answer until a person does something.
    fn report_not_persisted(
        memory: &mut Self::Memory,
        action: &Self::Action,
        answer: &Self::Answer,
        failure: &ApiFailure,
    );
    /// The API server did not carry out an action.
    fn report_failure(memory: &mut Self::Memory, action: &Self::Action, failure: &ApiFailure);
    /// One more in a row that the API server did not carry out; returns how many.
    fn count_failed_write(memory: &mut Self::Memory) -> u32;
}
