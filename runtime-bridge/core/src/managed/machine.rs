//! The managed-resource machine as the driver runs it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::{
    driver::{ApiFailure, ApiFailureKind, Authority, Follow, Machine, Moment, Persisting, Requirements},
    external::{Answer, CallError, Config, Look, Verb},
};

use super::{
    decide::{decide, decide_unasked},
    decision::{Action, Decision, Event, MetadataChange},
    memory::Memory,
    settle::{Settled, settle},
    status::Status,
    world::{Hold, Managed, Problem, Wish, World},
};

/// Decides for managed resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagedMachine {}

/// What a snapshot needs beyond the caches.
#[derive(Debug, Clone)]
pub struct SnapshotAdditions {
    /// The desired state with its secrets.
    pub desired: Result<Arc<Wish>, Problem>,
    /// The config.
    pub config: Result<Arc<Config>, Problem>,
    /// On the config or on the rate-limit group.
    pub hold: Option<Hold>,
    /// Another object that has the same external resource, or is creating one of the same name.
    pub conflicting_object: Option<String>,
    /// Wall clock, when all of it was in.
    pub now: Timestamp,
}

/// What came of an [`Action`].
#[derive(Debug, Clone)]
pub enum Performed {
    /// Of [`Action::Observe`].
    Observed(Result<Look, CallError>),
    /// Of [`Action::Call`].
    Answered(Answer),
    /// Of [`Action::Prove`] and [`Action::WriteMetadata`]: the `resourceVersion` that stands now.
    Version(String),
    /// Of [`Action::WriteStatus`].
    StatusWritten {
        /// The `resourceVersion` that stands now.
        version: String,
        /// What the API server made of the status.
        stored: Box<Status>,
    },
    /// Of [`Action::Publish`]: done, or why not and when to try again.
    Published(Result<(), (String, Timestamp)>),
    /// Of [`Action::Release`]; true: the object is gone.
    FinalizerRemoved(bool),
}

impl Machine for ManagedMachine {
    type Snapshot = World;
    type Additions = SnapshotAdditions;
    type Memory = Memory;
    type Action = Action;
    type Performed = Performed;
    type Answer = Answer;
    type View = Managed;
    type Change = MetadataChange;

    fn begin_reconcile(memory: &mut Memory, term: u64) {
        memory.begin_pass(term);
    }

    /// While draining, a call whose intent stands is sent all the same: else nobody would know what became of it.
    fn authorize(world: &mut World, memory: &Memory, moment: &Moment) {
        let sends = memory.may_send.is_some() && Self::is_granted(memory, moment, Authority::Leader);
        world.may_act = sends || Self::is_granted(memory, moment, Authority::Begin);
    }

    fn is_authorized(world: &World) -> bool {
        world.may_act
    }

    /// By the clock, and ever since this was remembered: a process that was stopped in the middle of a reconcile does not lead when it wakes.
    fn is_granted(memory: &Memory, moment: &Moment, authority: Authority) -> bool {
        let leads = moment.leadership.leads && moment.leadership.term == memory.term;
        match authority {
            Authority::Anybody => true,
            Authority::Leader => leads,
            Authority::Begin => leads && !moment.leadership.draining,
        }
    }

    fn refresh(memory: &mut Memory, world: &World) {
        memory.notice(world);
    }

    fn complete(world: &mut World, additions: SnapshotAdditions) {
        world.wish = additions.desired;
        world.config = additions.config;
        world.hold = additions.hold;
        world.rival = additions.conflicting_object;
        world.now = additions.now;
    }

    fn decide_cached(world: &World, memory: &Memory) -> Option<Decision> {
        decide_unasked(world, memory)
    }

    fn decide(world: &World, memory: &Memory) -> Decision {
        decide(world, memory)
    }

    fn requirements(memory: &Memory, action: &Action) -> Requirements {
        let (permit, authority) = match action {
            Action::Observe(_) | Action::Prove => (true, Authority::Anybody),
            Action::WriteMetadata(change) if change.allows.is_some() => (true, Authority::Begin),
            // Its intent stands: it is sent, or nobody would know what became of it.
            Action::Call(_) if memory.may_send.is_some() => (true, Authority::Leader),
            Action::Call(_) => (true, Authority::Begin),
            Action::Release(_) => (false, Authority::Leader),
            Action::WriteMetadata(_) | Action::Publish | Action::WriteStatus(_) => {
                (false, Authority::Anybody)
            }
        };
        Requirements { permit, authority }
    }

    fn ends_permit(action: &Action) -> bool {
        matches!(action, Action::Observe(_) | Action::Call(_))
    }

    fn before(memory: &mut Memory, world: &World, action: &Action) {
        if !matches!(action, Action::WriteStatus(_)) {
            memory.begin_step();
        }
        match action {
            Action::WriteMetadata(change) => memory.begin_write(&world.managed, change),
            Action::Call(call) => memory.begin_call(call),
            // Before: afterwards there may be no object to speak of.
            Action::Release(event) => memory.events.extend(event.clone()),
            Action::Observe(_) | Action::Prove | Action::Publish | Action::WriteStatus(_) => {}
        }
    }

    fn performed(
        memory: &mut Memory,
        world: &mut World,
        action: &Action,
        performed: Performed,
        began: Timestamp,
        moment: &Moment,
    ) -> Follow<Answer> {
        world.now = moment.now;
        match (action, performed) {
            (Action::Observe(asked), Performed::Observed(look)) => {
                memory.learn_look(world, asked, began, look);
            }
            (Action::Call(_), Performed::Answered(answer)) => return Follow::Persist(answer),
            (Action::Prove, Performed::Version(version)) => memory.learn_version(&version, began),
            (Action::WriteMetadata(change), Performed::Version(version)) => {
                memory.learn_metadata(change, &version, began);
                memory.failed_writes = 0;
            }
            (Action::WriteStatus(write), Performed::StatusWritten { version, stored }) => {
                let changed = version != world.managed.resource_version;
                memory.learn_status(&write.status, &stored, changed);
                memory.learn_version(&version, began);
                memory.failed_writes = 0;
                memory.events.extend(write.events.iter().cloned());
                if write.status.progress.operation != world.managed.status.progress.operation {
                    memory.progress_written = Some(began);
                }
            }
            (Action::Publish, Performed::Published(Ok(()))) => memory.learn_published(),
            (Action::Publish, Performed::Published(Err((why, retry)))) => {
                memory.learn_publish_problem(why, retry);
            }
            (Action::Release(_), Performed::FinalizerRemoved(gone)) => return Follow::End(gone),
            (action, performed) => panic!("{performed:?} is no result of \"{action}\""),
        }
        Follow::Decide
    }

    fn persisting(
        world: &World,
        newest: &Managed,
        action: &Action,
        answer: &Answer,
    ) -> Persisting<MetadataChange> {
        let Action::Call(call) = action else {
            return Persisting::Nothing;
        };
        match settle(world, newest, call, answer) {
            Settled::Nothing => Persisting::Nothing,
            Settled::Write(change) => Persisting::Write(change),
            Settled::NotOurs => Persisting::NotOurs,
        }
    }

    fn record_answer(
        memory: &mut Memory,
        world: &mut World,
        action: &Action,
        answer: &Answer,
        newest: Option<Managed>,
        moment: &Moment,
    ) {
        let Action::Call(call) = action else { return };
        if let Some(newest) = newest {
            // What the user changed meanwhile is not what this answer is about.
            let generation = world.managed.generation;
            world.managed = Managed { generation, ..newest };
        }
        world.now = moment.now;
        memory.learn_answer(world, call, answer);
    }

    fn report_not_persisted(memory: &mut Memory, action: &Action, answer: &Answer, failure: &ApiFailure) {
        let Action::Call(call) = action else { return };
        let name = answer
            .as_ref()
            .map_or("", |outcome| outcome.external_name.as_str());
        let what = format!(
            "store the answer to {} (external name {name:?}), and nothing else is done before it is stored",
            noun(call.verb)
        );
        memory.events.push(rejected(&what, failure));
    }

    fn report_failure(memory: &mut Memory, action: &Action, failure: &ApiFailure) {
        if failure.kind == ApiFailureKind::Rejected {
            memory.events.push(rejected(request(action), failure));
        }
    }

    fn count_failed_write(memory: &mut Memory) -> u32 {
        memory.failed_writes = memory.failed_writes.saturating_add(1);
        memory.failed_writes
    }
}

/// What the API server will not take from us is for people.
fn rejected(what: &str, failure: &ApiFailure) -> Event {
    let message = format!("cannot {what}: {}", failure.message);
    Event::warning("CannotUpdateManagedResource", &message)
}

/// The request that carries an action out, for people: a verb and its object.
fn request(action: &Action) -> &'static str {
    match action {
        Action::Observe(_) | Action::Call(_) => "call the plugin",
        Action::Prove => "read the object",
        Action::WriteMetadata(change) => change.why,
        Action::Publish => "publish connection details",
        Action::WriteStatus(_) => "write the status",
        Action::Release(_) => "remove the finalizer",
    }
}

/// For people.
fn noun(verb: Verb) -> &'static str {
    match verb {
        Verb::Observe => "an observation",
        Verb::Create => "the creation",
        Verb::Update => "the update",
        Verb::Delete => "the deletion",
        Verb::Poll => "a poll of the operation",
    }
}
