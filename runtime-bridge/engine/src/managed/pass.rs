//! One pass: decide, act, take in, decide again, until there is nothing left to do.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    external::{Answer, Failure, Look, OutcomeResult, Verb},
    managed::{
        Action, Asked, Call, Decision, Event, Memory, MetadataChange, Purpose, Reaction, Rest, StatusWrite,
        World, decide, decide_unasked, names, reaction, status,
    },
    queue::Priority,
};
use jiff::Timestamp;
use tracing::Instrument;

use super::{
    fault_point::{Side, reach},
    memories::MemoryGuard,
    place::{Place, Taken},
    reconciler::ManagedReconciler,
    view, write_again,
};
use crate::{
    api_error::ApiError,
    event::EventType,
    object::{Key, Object},
    reconcile::Next,
    write::{Finalized, Still},
};

/// A pass takes far fewer steps; one that reaches this goes round in circles, which is a bug.
const MOST_STEPS: u32 = 64;
/// Without the lease, or while draining, an object that wants something gets its turn after this.
const STANDING_BY: Duration = Duration::from_secs(1);

/// What follows a step.
enum After {
    Again,
    End(Next),
}

/// Runs a pass to its end.
pub(super) async fn run(of: Arc<ManagedReconciler>, first: Arc<Object>, mut memory: MemoryGuard) -> Next {
    let span = tracing::info_span!("pass", object = %first.key(), uid = first.uid());
    async move {
        memory.begin_pass(of.shared.term());
        let next = of.steps(&first, &mut memory).await;
        of.publish_before_it_is_lost(&first, &mut memory).await;
        of.count(&first, &memory);
        next
    }
    .instrument(span)
    .await
}

impl ManagedReconciler {
    async fn steps(&self, first: &Arc<Object>, memory: &mut Memory) -> Next {
        let key = first.key();
        let mut place = None;
        for _ in 0..MOST_STEPS {
            let Some(object) = self
                .shared
                .store
                .get(&key)
                .filter(|object| object.uid() == first.uid())
            else {
                self.forget(first);
                return Next::idle();
            };
            let mut world = self.glance(&object, memory);
            memory.notice(&world);
            let decision = if let Some(decision) = decide_unasked(&world, memory) {
                decision
            } else {
                self.gather(&mut world, &object, memory).await;
                decide(&world, memory)
            };
            tracing::debug!(%decision, version = object.resource_version());
            let after = match decision {
                // Its turn is not over: another pass looks, here or where the lease is.
                Decision::Rest(_) if !world.may_act => self.stand_by(),
                Decision::Rest(rest) => After::End(rest_until(&rest).in_lane(self.lane(&object))),
                Decision::Act(action) => match self.take_place(&action, &mut place).await {
                    Taken::AtOnce => self.act(&object, world, action, memory, &mut place).await,
                    // What was gathered before, and every deadline, is of then: decide anew.
                    Taken::Later => After::Again,
                    Taken::Never => After::End(Next::at(
                        self.shared.clock.now() + super::place::AGAIN,
                        Priority::OperationPoll,
                    )),
                },
            };
            self.emit(&object, memory);
            if let After::End(next) = after {
                return next;
            }
        }
        tracing::error!(object = %key, "a pass did not come to an end; this is a bug");
        Next::at(
            self.shared.clock.now() + Duration::from_secs(30),
            Priority::DriftPoll,
        )
    }

    fn may_do(&self, action: &Action, memory: &Memory) -> bool {
        let shared = &self.shared;
        match action {
            Action::WriteMetadata(change) if change.allows.is_some() => shared.may_begin(memory),
            // Its intent stands: it is sent, or nobody would know what became of it.
            Action::Call(_) if memory.may_send.is_some() => shared.leads(memory),
            Action::Call(_) => shared.may_begin(memory),
            Action::Release(_) => shared.leads(memory),
            Action::Observe(_)
            | Action::Prove
            | Action::WriteMetadata(_)
            | Action::Publish
            | Action::WriteStatus(_) => true,
        }
    }

    fn stand_by(&self) -> After {
        After::End(Next::at(
            self.shared.clock.now() + STANDING_BY,
            Priority::OperationPoll,
        ))
    }

    async fn act(
        &self,
        object: &Arc<Object>,
        world: World,
        action: Action,
        memory: &mut Memory,
        place: &mut Place,
    ) -> After {
        let point = fault_point(&action);
        reach(Side::Before, point, object).await;
        // Asked at the last moment, as much may have happened since the world was gathered.
        if !self.may_do(&action, memory) {
            return self.stand_by();
        }
        // After a call comes what persists its answer: its own point lies between the two.
        let calls = matches!(action, Action::Call(_));
        let after = self.perform(object, world, action, memory, place).await;
        if !calls {
            reach(Side::After, point, object).await;
        }
        after
    }

    async fn perform(
        &self,
        object: &Arc<Object>,
        world: World,
        action: Action,
        memory: &mut Memory,
        place: &mut Place,
    ) -> After {
        match action {
            Action::Observe(asked) => self.observe(world, &asked, memory, place).await,
            Action::Prove => {
                let began = self.shared.clock.now();
                match self.shared.writer.get_live(&self.api, &object.key()).await {
                    Ok(live) => {
                        memory.learn_version(&live.resource_version().to_string(), began);
                        After::Again
                    }
                    Err(error) => self.api_failed(object, "read", &error, memory).await,
                }
            }
            Action::WriteMetadata(change) => self.write_metadata(object, &change, memory).await,
            Action::Call(call) => self.call(object, world, &call, memory, place).await,
            Action::Publish => {
                // The memory holds what went wrong, and when to try again.
                let _ = self.publish(object, memory).await;
                After::Again
            }
            Action::WriteStatus(write) => self.write_status(object, *write, memory).await,
            Action::Release(event) => self.release(object, event, memory).await,
        }
    }

    async fn observe(
        &self,
        mut world: World,
        asked: &Asked,
        memory: &mut Memory,
        place: &mut Place,
    ) -> After {
        let began = self.shared.clock.now();
        let look = self
            .external
            .observe(&asked.target, &asked.desired, began + self.kind.timeouts.call)
            .await;
        *place = None;
        world.now = self.shared.clock.now();
        match &look {
            Ok(Look::Failed(failure)) => self.learn_reach(&world, failure, began),
            Ok(_) => self.worked(&world, began),
            Err(_) => {}
        }
        memory.learn_look(&world, asked, began, look);
        After::Again
    }

    async fn write_metadata(&self, object: &Object, change: &MetadataChange, memory: &mut Memory) -> After {
        let began = self.shared.clock.now();
        memory.begin_write(&view::managed(object), change);
        match self.shared.writer.put(&view::changed(object, change)).await {
            Ok(new) => {
                memory.learn_metadata(change, &new.resource_version().to_string(), began);
                memory.failed_writes = 0;
                After::Again
            }
            Err(error) => self.api_failed(object, change.why, &error, memory).await,
        }
    }

    async fn write_status(&self, object: &Object, write: StatusWrite, memory: &mut Memory) -> After {
        let began = self.shared.clock.now();
        let mut new = object.clone();
        let progress = write.status.progress.operation != view::managed(object).status.progress.operation;
        new.set_status(&write.status.write());
        match self.shared.writer.put_status(&new).await {
            Ok(new) => {
                memory.learn_version(&new.resource_version().to_string(), began);
                memory.failed_writes = 0;
                memory.events.extend(write.events);
                if progress {
                    memory.progress_written = Some(began);
                }
                After::Again
            }
            Err(error) => self.api_failed(object, "write the status", &error, memory).await,
        }
    }

    /// Calls the plugin and persists the answer. This runs in a task that nothing cuts off.
    async fn call(
        &self,
        object: &Arc<Object>,
        mut world: World,
        call: &Call,
        memory: &mut Memory,
        place: &mut Place,
    ) -> After {
        memory.begin_call(call);
        let began = self.shared.clock.now();
        let answer = self.external.execute(call).await;
        *place = None;
        reach(Side::After, verb_of(call.verb), object).await;
        world.now = self.shared.clock.now();
        tracing::info!(verb = ?call.verb, external_name = call.target.external_name, outcome = %summary(&answer), "called");
        self.persist(&world, Arc::clone(object), call, &answer).await;
        let newest = self
            .shared
            .store
            .get(&object.key())
            .filter(|newest| newest.uid() == object.uid());
        let wanted = world.managed.generation;
        if let Some(newest) = newest {
            world.managed = view::managed(&newest);
            // What the user changed meanwhile is not what this answer is about.
            world.managed.generation = wanted;
        }
        world.now = self.shared.clock.now();
        match answer.as_ref().map(|outcome| &outcome.result) {
            Ok(OutcomeResult::Failure(failure)) => self.learn_reach(&world, failure, began),
            Ok(OutcomeResult::Completed(_) | OutcomeResult::Operation(_)) => {
                self.worked(&world, began);
                if call.verb == Verb::Update {
                    self.shared.counts.updated(object.uid(), world.now);
                }
            }
            Err(_) => {}
        }
        memory.learn_answer(&world, call, &answer);
        After::Again
    }

    async fn release(&self, object: &Arc<Object>, event: Option<Event>, memory: &mut Memory) -> After {
        if let Some(event) = event {
            self.record(object, &event);
        }
        // Of another record nothing was decided: it may hold a call of another leader.
        let still = match object.annotation(names::RECORD) {
            Some(record) => Still::Annotated(names::RECORD, record),
            None => Still::Version(object.resource_version()),
        };
        let (key, uid) = (object.key(), object.uid());
        let writer = &self.shared.writer;
        match writer
            .remove_finalizer(&self.api, &key, uid, names::FINALIZER, still)
            .await
        {
            Ok(Finalized::Gone) => {
                self.forget(object);
                After::End(Next::idle())
            }
            Ok(Finalized::Remains(_)) => After::End(Next::idle()),
            Err(error) => {
                self.api_failed(object, "remove the finalizer", &error, memory)
                    .await
            }
        }
    }

    /// What the API server will not take from us is for people.
    pub(super) fn tell_refused(&self, object: &Object, what: &str, error: &ApiError) {
        let message = format!("cannot {what}: {error}");
        self.record(object, &Event::warning("CannotUpdateManagedResource", &message));
    }

    /// A request that was not carried out is no reason to guess: read live, come back, decide again.
    async fn api_failed(&self, object: &Object, what: &str, error: &ApiError, memory: &mut Memory) -> After {
        match error {
            ApiError::Conflict(_) => tracing::debug!(object = %object.key(), what, "somebody was faster"),
            ApiError::NotFound(_) => tracing::debug!(object = %object.key(), what, "the object is gone"),
            error => tracing::warn!(object = %object.key(), what, %error, "the API server did not do it"),
        }
        if error.is_refusal() {
            self.tell_refused(object, what, error);
        }
        let live = self.shared.writer.get_live(&self.api, &object.key()).await;
        let error = match live {
            Ok(_) => error,
            Err(ApiError::NotFound(_)) => {
                self.forget(object);
                return After::End(Next::idle());
            }
            Err(ref unread) => unread,
        };
        memory.failed_writes = memory.failed_writes.saturating_add(1);
        let pause = write_again::pause(error, memory.failed_writes, fastrand::f64());
        After::End(Next::at(self.shared.clock.now() + pause, Priority::OperationPoll))
    }

    /// Takes in a failure that reaches further than its object.
    fn learn_reach(&self, world: &World, failure: &Failure, began: Timestamp) {
        let Ok(config) = &world.config else { return };
        match reaction(failure.code) {
            Reaction::HoldConfig | Reaction::ReadAfresh => self.configs.refused(config, failure, began),
            Reaction::HoldGroup => {
                let group = &self.kind.capabilities.rate_limit_group;
                let (holds, jitter) = (&self.shared.holds, world.fresh.jitter);
                holds.throttled(config, group, failure, began, world.now, jitter);
            }
            Reaction::WaitForUser
            | Reaction::LookAgain
            | Reaction::BackOff
            | Reaction::WaitForOthers
            | Reaction::RetrySlowly => {}
        }
    }

    fn worked(&self, world: &World, began: Timestamp) {
        if let Ok(config) = &world.config {
            let group = &self.kind.capabilities.rate_limit_group;
            self.shared.holds.worked(config, group, began, world.now);
        }
    }

    fn emit(&self, object: &Object, memory: &mut Memory) {
        for event in std::mem::take(&mut memory.events) {
            self.record(object, &event);
        }
    }

    fn record(&self, object: &Object, event: &Event) {
        let event_type = if event.warning {
            EventType::Warning
        } else {
            EventType::Normal
        };
        self.shared
            .events
            .record(object, event_type, &event.reason, &event.message);
    }

    fn count(&self, first: &Object, memory: &Memory) {
        let Some(object) = self
            .shared
            .store
            .get(&first.key())
            .filter(|object| object.uid() == first.uid())
        else {
            return;
        };
        let created = object.meta.creation_timestamp.as_ref().map(|time| time.0);
        let (before, after) = (view::managed(first), view::managed(&object));
        let counts = &self.shared.counts;
        counts.passed(&self.gvk, &before, &after, created, self.shared.clock.now());
        if let Some(looked) = &memory.looked
            && after
                .condition(status::SYNCED)
                .is_some_and(|synced| synced.status == "True")
        {
            counts.as_wished(object.uid(), looked.began);
        }
    }

    fn forget(&self, object: &Object) {
        self.forget_key(&object.key(), Some(object));
    }

    /// The object of this name is gone; `last` is how it was last seen, if a pass saw the end.
    pub(super) fn forget_key(&self, key: &Key, last: Option<&Object>) {
        if let Some(uid) = self.memories.forget(key, last.map(Object::uid)) {
            self.forget_uid(&uid, last);
        }
    }

    pub(super) fn forget_uid(&self, uid: &str, last: Option<&Object>) {
        let deleted = last
            .and_then(|last| last.meta.deletion_timestamp.as_ref())
            .map(|time| time.0);
        self.shared.counts.forget(uid, deleted, self.shared.clock.now());
        self.shared.claims.release(uid);
        self.shared.connection_secrets.forget(uid);
    }
}

/// The name of the point before and after an action.
fn fault_point(action: &Action) -> &'static str {
    match action {
        Action::Observe(_) => "observe",
        Action::Prove => "live read",
        Action::WriteMetadata(change) if change.allows.is_some() => "intent",
        Action::WriteMetadata(_) => "metadata",
        Action::Call(call) => verb_of(call.verb),
        Action::Publish => "publish",
        Action::WriteStatus(_) => "status",
        Action::Release(_) => "finalizer",
    }
}

fn verb_of(verb: Verb) -> &'static str {
    match verb {
        Verb::Observe => "observe",
        Verb::Create => "create",
        Verb::Update => "update",
        Verb::Delete => "delete",
        Verb::Poll => "poll",
    }
}

fn rest_until(rest: &Rest) -> Next {
    let priority = match rest.purpose {
        Purpose::Operation => Priority::OperationPoll,
        Purpose::Drift | Purpose::Retry => Priority::DriftPoll,
    };
    rest.wake.map_or_else(Next::idle, |wake| Next::at(wake, priority))
}

/// For the log: how it ended, without anything that may be secret.
fn summary(answer: &Answer) -> String {
    match answer {
        Err(error) => error.to_string(),
        Ok(outcome) => match &outcome.result {
            OutcomeResult::Completed(completed) if completed.already_done => "completed before".to_owned(),
            OutcomeResult::Completed(_) => "completed".to_owned(),
            OutcomeResult::Operation(operation) => {
                format!("operation {:?} {}", operation.verb, operation.phase)
            }
            OutcomeResult::Failure(failure) => format!(
                "failure {:?}, effect {:?}: {}",
                failure.code, failure.effect, failure.reason
            ),
        },
    }
}
