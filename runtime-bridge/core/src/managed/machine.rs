//! The managed-resource machine as the driver runs it.

use std::sync::Arc;

use jiff::Timestamp;

use crate::{
    driver::{ApiFailure, ApiFailureKind, Authority, Follow, Machine, Moment, Persisting, Requirements},
    external::{Answer, CallError, Config, ObserveResult, Verb},
    reasons::WarningEvent,
};

use super::{
    decide::{decide, decide_without_config},
    decision::{Action, Decision, Event, MetadataChange},
    reconcile_memory::ReconcileMemory,
    resolve_intent::{IntentResolution, resolve_intent},
    snapshot::{Managed, Problem, ResolvedDesiredState, Snapshot, Suspension},
    status::Status,
};

/// Decides for managed resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagedMachine {}

/// What a snapshot needs beyond the caches.
#[derive(Debug, Clone)]
pub struct SnapshotAdditions {
    /// The desired state with its secrets.
    pub desired: Result<Arc<ResolvedDesiredState>, Problem>,
    /// The config.
    pub config: Result<Arc<Config>, Problem>,
    /// On the config or on the rate-limit group.
    pub suspension: Option<Suspension>,
    /// Another object that has the same external resource, or is creating one of the same name.
    pub conflicting_object: Option<String>,
    /// Wall clock, when all of it was in.
    pub now: Timestamp,
}

/// What came of an [`Action`].
#[derive(Debug, Clone)]
pub enum Performed {
    /// Of [`Action::Observe`].
    Observed(Result<ObserveResult, CallError>),
    /// Of [`Action::Call`].
    Answered(Answer),
    /// Of [`Action::VerifyResourceVersion`] and [`Action::WriteMetadata`]: the `resourceVersion` that stands now.
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
    type Snapshot = Snapshot;
    type Additions = SnapshotAdditions;
    type Memory = ReconcileMemory;
    type Action = Action;
    type Performed = Performed;
    type Answer = Answer;
    type View = Managed;
    type Change = MetadataChange;

    fn begin_reconcile(memory: &mut ReconcileMemory, term: u64) {
        memory.begin_reconcile(term);
    }

    /// While draining, a call whose intent stands is sent all the same: else nobody would know what became of it.
    fn authorize(snapshot: &mut Snapshot, memory: &ReconcileMemory, moment: &Moment) {
        let sends = memory.calls.may_send_any() && Self::is_granted(memory, moment, Authority::Leader);
        snapshot.may_act = sends || Self::is_granted(memory, moment, Authority::Begin);
    }

    fn is_authorized(snapshot: &Snapshot) -> bool {
        snapshot.may_act
    }

    /// By the clock, and ever since this was remembered: a process that was stopped in the middle of a reconcile does not lead when it wakes.
    fn is_granted(memory: &ReconcileMemory, moment: &Moment, authority: Authority) -> bool {
        let leads = moment.leadership.leads && memory.is_of_term(moment.leadership.term);
        match authority {
            Authority::Anybody => true,
            Authority::Leader => leads,
            Authority::Begin => leads && !moment.leadership.draining,
        }
    }

    fn refresh(memory: &mut ReconcileMemory, snapshot: &Snapshot) {
        memory.refresh(snapshot);
    }

    fn complete(snapshot: &mut Snapshot, additions: SnapshotAdditions) {
        snapshot.desired = additions.desired;
        snapshot.config = additions.config;
        snapshot.suspension = additions.suspension;
        snapshot.conflicting_object = additions.conflicting_object;
        snapshot.now = additions.now;
    }

    fn completed(memory: &mut ReconcileMemory, snapshot: &Snapshot) {
        memory.judge_details(snapshot);
    }

    fn decide_cached(snapshot: &Snapshot, memory: &ReconcileMemory) -> Option<Decision> {
        decide_without_config(snapshot, memory)
    }

    fn decide(snapshot: &Snapshot, memory: &ReconcileMemory) -> Decision {
        decide(snapshot, memory)
    }

    fn requirements(memory: &ReconcileMemory, action: &Action) -> Requirements {
        let (permit, authority) = match action {
            Action::Observe(_) | Action::VerifyResourceVersion => (true, Authority::Anybody),
            Action::WriteMetadata(change) if change.allows.is_some() => (true, Authority::Begin),
            // Its intent stands: it is sent, or nobody would know what became of it.
            Action::Call(_) if memory.calls.may_send_any() => (true, Authority::Leader),
            Action::Call(_) => (true, Authority::Begin),
            Action::RemoveFinalizer(_) => (false, Authority::Leader),
            // Without a permit: that it is being deleted is to be seen, also where the plugin hangs.
            Action::WriteStatus(write) if write.allows.is_some() => (false, Authority::Begin),
            Action::WriteMetadata(_) | Action::Publish | Action::WriteStatus(_) => {
                (false, Authority::Anybody)
            }
        };
        Requirements { permit, authority }
    }

    fn ends_permit(action: &Action) -> bool {
        // That of an observation is kept for what follows from it: who gave it back, and got none again while others wait, would observe in vain.
        matches!(action, Action::Call(_))
    }

    fn changes_nothing(action: &Action) -> bool {
        matches!(action, Action::Observe(_))
    }

    fn before(memory: &mut ReconcileMemory, snapshot: &Snapshot, action: &Action) {
        if !matches!(action, Action::WriteStatus(_)) {
            memory.begin_step();
        }
        match action {
            Action::WriteMetadata(change) => memory.begin_write(&snapshot.managed, change),
            Action::WriteStatus(write) => memory.begin_status(snapshot, write),
            Action::Call(call) => {
                memory.note_drift(snapshot, call);
                memory.begin_call(call);
                memory.shed();
            }
            // Before: afterwards there may be no object to speak of.
            Action::RemoveFinalizer(event) => memory.events.extend(event.clone()),
            Action::Observe(_) | Action::VerifyResourceVersion | Action::Publish => {}
        }
    }

    fn performed(
        memory: &mut ReconcileMemory,
        snapshot: &mut Snapshot,
        action: &Action,
        performed: Performed,
        began: Timestamp,
        moment: &Moment,
    ) -> Follow<Answer> {
        snapshot.now = moment.now;
        match (action, performed) {
            (Action::Observe(asked), Performed::Observed(look)) => {
                memory.record_observation(snapshot, asked, began, look);
            }
            (Action::Call(_), Performed::Answered(answer)) => return Follow::Persist(answer),
            (Action::VerifyResourceVersion, Performed::Version(version)) => {
                memory.record_resource_version(&version, began);
            }
            (Action::WriteMetadata(change), Performed::Version(version)) => {
                memory.record_metadata(change, &version, began);
                memory.record_write();
            }
            (Action::WriteStatus(write), Performed::StatusWritten { version, stored }) => {
                let changed = version != snapshot.managed.resource_version;
                memory.learn_status(&write.status, &stored, changed);
                memory.record_pending(write, &stored);
                memory.record_resource_version(&version, began);
                memory.record_write();
                memory.events.extend(write.events.iter().cloned());
                if write.status.progress.operation != snapshot.managed.status.progress.operation {
                    memory.operation.record_progress_written(began);
                }
            }
            (Action::Publish, Performed::Published(Ok(()))) => memory.record_published(),
            (Action::Publish, Performed::Published(Err((why, retry)))) => {
                memory.record_publish_problem(why, retry);
            }
            (Action::RemoveFinalizer(_), Performed::FinalizerRemoved(gone)) => return Follow::End(gone),
            (action, performed) => panic!("{performed:?} is no result of \"{action}\""),
        }
        Follow::Decide
    }

    fn persisting(
        snapshot: &Snapshot,
        newest: &Managed,
        action: &Action,
        answer: &Answer,
    ) -> Persisting<MetadataChange> {
        let Action::Call(call) = action else {
            return Persisting::Nothing;
        };
        match resolve_intent(snapshot, newest, call, answer) {
            IntentResolution::Nothing => Persisting::Nothing,
            IntentResolution::Write(change) => Persisting::Write(change),
            IntentResolution::NotOwned => Persisting::NotOwned,
        }
    }

    fn record_answer(
        memory: &mut ReconcileMemory,
        snapshot: &mut Snapshot,
        action: &Action,
        answer: &Answer,
        newest: Option<Managed>,
        moment: &Moment,
    ) {
        let Action::Call(call) = action else { return };
        if let Some(newest) = newest {
            // What the user changed meanwhile is not what this answer is about.
            let generation = snapshot.managed.generation;
            snapshot.managed = Managed { generation, ..newest };
        }
        snapshot.now = moment.now;
        memory.record_response(snapshot, call, answer);
    }

    fn report_not_persisted(
        memory: &mut ReconcileMemory,
        action: &Action,
        answer: &Answer,
        failure: &ApiFailure,
    ) {
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

    fn report_failure(memory: &mut ReconcileMemory, action: &Action, failure: &ApiFailure) {
        memory.begin_failure(failure.kind == ApiFailureKind::Rejected);
        if failure.kind == ApiFailureKind::Rejected {
            memory.events.push(rejected(request(action), failure));
        }
        match (action, failure.kind) {
            (Action::WriteStatus(_), ApiFailureKind::Rejected) => {
                memory.at_provider_refusal.reject(&failure.message);
            }
            (Action::WriteStatus(_), _) => memory.at_provider_refusal.end(false),
            _ => {}
        }
    }

    fn count_failed_write(memory: &mut ReconcileMemory) -> u32 {
        memory.count_failed_write()
    }
}

/// What the API server will not take from us is for people.
fn rejected(what: &str, failure: &ApiFailure) -> Event {
    let message = format!("cannot {what}: {}", failure.message);
    Event::warning(WarningEvent::CannotUpdateManagedResource, &message)
}

/// The request that carries an action out, for people: a verb and its object.
fn request(action: &Action) -> &'static str {
    match action {
        Action::Observe(_) | Action::Call(_) => "call the plugin",
        Action::VerifyResourceVersion => "read the object",
        Action::WriteMetadata(change) => change.why,
        Action::Publish => "publish connection details",
        Action::WriteStatus(_) => "write the status",
        Action::RemoveFinalizer(_) => "remove the finalizer",
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
