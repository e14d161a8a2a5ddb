//! Carries out what the driver of a reconcile asks for: with real requests to the API server, the plugin and the clock.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    driver::{ApiFailure, ApiFailureKind, Driver, Effect, End, Input, Moment, Retry},
    external::{Answer, Verb},
    managed::{
        self, Action, Event, Managed, ManagedMachine, MetadataChange, Performed, ReconcileMemory, names,
        status,
    },
    queue::Priority,
};
use tracing::Instrument;

use super::{
    failpoint::{Side, reach},
    permits::Permits,
    reconciler::ManagedReconciler,
    rest::next_after,
    view::{self, Views},
};
use crate::{
    api_error::ApiError,
    event::EventType,
    object::{Key, Object},
    random,
    reconcile::Next,
    shell::{MemoryGuard, cannot_read},
    write::Finalized,
};

/// A connection Secret that could not be written is tried again after this.
const RETRY_PUBLISH: Duration = Duration::from_secs(15);

pub(super) type ManagedDriver = Driver<ManagedMachine, Arc<Object>>;
type ManagedInput = Input<ManagedMachine, Arc<Object>>;

/// Runs a reconcile to its end.
pub(super) async fn run(
    of: Arc<ManagedReconciler>,
    first: Arc<Object>,
    mut memory: MemoryGuard<ReconcileMemory>,
) -> Next {
    let span = tracing::info_span!("pass", object = %first.key(), uid = first.uid());
    async move {
        let mut views = Views::default();
        let before = views.of(&first);
        let mut held = Permits::default();
        let next = of.drive(&first, &mut memory, &mut held, &mut views).await;
        of.awaited_permits.give_back(first.uid());
        of.count(&first, &before, &memory, &mut views);
        let may_keep = |bytes| of.kept_observations.keep(first.uid(), bytes, &*of.external);
        // Of an object that is gone nothing is kept.
        memory.shed_unless(|bytes| of.newest(&first).is_some() && may_keep(bytes));
        // Now others may hold what this one no longer does.
        drop(held);
        of.publish_pending_details(&first, &mut memory).await;
        next
    }
    .instrument(span)
    .await
}

impl ManagedReconciler {
    async fn drive(
        &self,
        first: &Arc<Object>,
        memory: &mut ReconcileMemory,
        held: &mut Permits,
        views: &mut Views,
    ) -> Next {
        let mut driver = ManagedDriver::begin(memory, &self.moment());
        loop {
            let input = match driver.effect() {
                Effect::End(end) => return self.ended(first, end),
                effect => self.carry_out(first, &driver, effect, memory, held, views).await,
            };
            if held.has_room() {
                let mut input = Some(input);
                let mut resume = || {
                    if let Some(input) = input.take() {
                        // Of now: the lease may have gone while others computed.
                        driver.resume(memory, &self.moment(), input);
                    }
                };
                self.external.compute(&mut resume).await;
            } else {
                driver.resume(memory, &self.moment(), input);
            }
            if !driver.holds_permit() {
                held.end_call();
            }
            self.emit(first, memory);
        }
    }

    fn moment(&self) -> Moment {
        Moment {
            now: self.shared.clock.now(),
            leadership: self.shared.leadership(),
            jitter: random::fraction(),
        }
    }

    fn ended(&self, first: &Arc<Object>, end: &End) -> Next {
        match end {
            End::Gone => {
                self.forget(first);
                Next::idle()
            }
            End::Rest(rest) => {
                let object = self.newest(first).unwrap_or_else(|| Arc::clone(first));
                next_after(rest).in_flow(self.flow(&object))
            }
            End::Retry { at, why } => {
                if *why == Retry::Unfinished {
                    tracing::error!(object = %first.key(), "a reconcile did not come to an end; this is a bug");
                    return Next::at(*at, Priority::DriftPoll);
                }
                Next::at(*at, Priority::OperationPoll)
            }
        }
    }

    /// The newest version that is stored; `None`: the object is gone, or another one has its name.
    fn newest(&self, first: &Object) -> Option<Arc<Object>> {
        let newest = self.shared.store.get(&first.key());
        newest.filter(|newest| newest.uid() == first.uid())
    }

    async fn carry_out(
        &self,
        first: &Arc<Object>,
        driver: &ManagedDriver,
        effect: Effect<'_, ManagedMachine, Arc<Object>>,
        memory: &ReconcileMemory,
        held: &mut Permits,
        views: &mut Views,
    ) -> ManagedInput {
        match effect {
            Effect::CollectCached => Input::Cached(self.newest(first).map(|object| {
                let snapshot = Box::new(self.collect_cached(&object, Managed::clone(&views.of(&object))));
                (object, snapshot)
            })),
            Effect::Collect { object, snapshot } => {
                Input::Collected(Box::new(self.collect(snapshot, object, memory).await))
            }
            Effect::AcquirePermit => Input::Permit(self.acquire_permit(first, held)),
            Effect::Begin { object, action } => {
                tracing::debug!(decision = %action, version = object.resource_version());
                reach(Side::Before, failpoint(action), object).await;
                Input::Proceed
            }
            Effect::Perform { object, action } => {
                let input = self.perform(driver, object, action, memory, held).await;
                reach(Side::After, failpoint(action), object).await;
                input
            }
            Effect::Newest | Effect::Stored => {
                Input::Newest(self.newest(first).map(|newest| viewed(newest, views)))
            }
            Effect::Persist {
                object,
                change,
                action,
            } => Input::Persisted(self.persist(object, change, action, driver.answer()).await),
            Effect::Wait(pause) => {
                tokio::time::sleep(pause).await;
                Input::Waited
            }
            Effect::ReadLive => Input::Live(self.read_live(first).await.map(|live| viewed(live, views))),
            Effect::End(_) => Input::Proceed,
        }
    }

    async fn perform(
        &self,
        driver: &ManagedDriver,
        object: &Arc<Object>,
        action: &Action,
        memory: &ReconcileMemory,
        held: &mut Permits,
    ) -> ManagedInput {
        let writer = || self.shared.writer.for_reconcile(&object.key());
        let version = |object: Arc<Object>| Performed::Version(object.resource_version().to_string());
        let result = match action {
            Action::Observe(asked) => {
                let result = self.observe(driver, object, asked).await;
                if let Ok(observed) = &result
                    && !self.may_hold(object, observed, held)
                {
                    return Input::Discarded;
                }
                Ok(Performed::Observed(result))
            }
            Action::Call(call) => {
                // The memory holds nothing large now; and the answer may be long in being persisted.
                held.end_room();
                let mut answer = self.call(driver, object, call).await;
                if managed::drop_large_observation(&mut answer) {
                    self.large_answers.record(object.uid(), true);
                }
                Ok(Performed::Answered(answer))
            }
            Action::VerifyResourceVersion => writer().get_live(&self.api, &object.key()).await.map(version),
            Action::WriteMetadata(change) => writer().put(&view::changed(object, change)).await.map(version),
            // It became so in the course of this reconcile: the next one leaves it alone.
            Action::WriteStatus(_) if !object.has_readable_status() => {
                Err(ApiError::Unusable(cannot_read(object)))
            }
            Action::WriteStatus(write) => {
                let mut new = Object::clone(object);
                new.set_status(&write.status.write());
                let written = writer().put_status(&new).await;
                written.map(|stored| Performed::StatusWritten {
                    version: stored.resource_version().to_string(),
                    stored: Box::new(view::managed(&stored).status),
                })
            }
            Action::Publish => {
                let published = self.publish(object, memory).await;
                let retry = self.shared.clock.now() + RETRY_PUBLISH;
                Ok(Performed::Published(published.map_err(|error| {
                    (format!("cannot publish connection details: {error}"), retry)
                })))
            }
            Action::RemoveFinalizer(_) => self.remove_finalizer(object).await,
        };
        match result {
            Ok(performed) => Input::Performed(performed),
            Err(error) => {
                log_api_error(object, action, &error);
                Input::Failed(self.api_failure(object, &error))
            }
        }
    }

    async fn remove_finalizer(&self, object: &Arc<Object>) -> Result<Performed, ApiError> {
        // Of another version nothing was decided: its record or status may hold a call of another leader.
        let writer = self.shared.writer.for_reconcile(&object.key());
        let removed = writer.remove_finalizer(object, names::FINALIZER).await?;
        Ok(Performed::FinalizerRemoved(matches!(removed, Finalized::Gone)))
    }

    async fn persist(
        &self,
        newest: &Arc<Object>,
        change: &MetadataChange,
        action: &Action,
        answer: Option<&Answer>,
    ) -> Result<(), ApiFailure> {
        reach(Side::Before, "persist", newest).await;
        let writer = self.shared.writer.for_reconcile(&newest.key());
        let written = writer.put(&view::changed(newest, change)).await;
        reach(Side::After, "persist", newest).await;
        let Err(error) = written else { return Ok(()) };
        if !matches!(error, ApiError::Conflict(_)) {
            // The name goes into the log, so that a person can find the resource whatever becomes of this process.
            let outcome = answer.and_then(|answer| answer.as_ref().ok());
            let name = outcome.map_or("", |outcome| outcome.external_name.as_str());
            tracing::warn!(object = %newest.key(), %action, external_name = name, %error, "the answer is not persisted yet; trying again");
        }
        Err(self.api_failure(newest, &error))
    }

    async fn read_live(&self, first: &Object) -> Result<Arc<Object>, ApiFailure> {
        match self.shared.writer.get_live(&self.api, &first.key()).await {
            Ok(live) => Ok(live),
            Err(error) => {
                tracing::warn!(object = %first.key(), %error, "cannot read the object from the API server");
                Err(self.api_failure(first, &error))
            }
        }
    }

    fn api_failure(&self, object: &Object, error: &ApiError) -> ApiFailure {
        let kind = match error {
            ApiError::Conflict(_) => ApiFailureKind::Conflict,
            ApiError::NotFound(_) => ApiFailureKind::NotFound,
            ApiError::NotServed(_) if self.shared.store.is_tombstoned(object.uid()) => {
                ApiFailureKind::KindGone
            }
            error if error.is_refusal() => ApiFailureKind::Rejected,
            _ => ApiFailureKind::Transient,
        };
        let retry_after = match error {
            ApiError::Throttled { retry_after, .. } => *retry_after,
            _ => Duration::ZERO,
        };
        ApiFailure {
            kind,
            retry_after,
            message: error.to_string(),
        }
    }

    fn emit(&self, object: &Object, memory: &mut ReconcileMemory) {
        for event in memory.take_events() {
            self.shared.metrics.count_drift(&self.gvk, &event.reason);
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

    fn count(&self, first: &Object, before: &Managed, memory: &ReconcileMemory, views: &mut Views) {
        let Some(object) = self
            .shared
            .store
            .get(&first.key())
            .filter(|object| object.uid() == first.uid())
        else {
            return;
        };
        let created = object.meta.creation_timestamp.as_ref().map(|time| time.0);
        let after = views.of(&object);
        let counts = &self.shared.counts;
        counts.passed(&self.gvk, before, &after, created, self.shared.clock.now());
        if let Some(last_observation) = memory.last_observation()
            && after
                .condition(status::SYNCED)
                .is_some_and(|synced| synced.status == "True")
        {
            counts.in_sync_since(object.uid(), last_observation.began);
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
        self.shared.claims.lock().release(uid);
        self.shared.connection_secrets.forget(uid);
        self.awaited_permits.forget(uid);
        self.large_answers.forget(uid);
        self.kept_observations.forget(uid);
    }
}

/// The name of the point before and after an action.
fn failpoint(action: &Action) -> &'static str {
    match action {
        Action::Observe(_) => "observe",
        Action::VerifyResourceVersion => "live read",
        Action::WriteMetadata(change) if change.allows.is_some() => "intent",
        Action::WriteMetadata(_) => "metadata",
        Action::Call(call) => verb_of(call.verb),
        Action::Publish => "publish",
        Action::WriteStatus(_) => "status",
        Action::RemoveFinalizer(_) => "finalizer",
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

fn viewed(object: Arc<Object>, views: &mut Views) -> (Arc<Object>, Managed) {
    let view = Managed::clone(&views.of(&object));
    (object, view)
}

fn log_api_error(object: &Object, action: &Action, error: &ApiError) {
    let key = object.key();
    match error {
        ApiError::Conflict(_) => tracing::debug!(object = %key, %action, "update conflict"),
        ApiError::NotFound(_) => tracing::debug!(object = %key, %action, "the object is gone"),
        error => tracing::warn!(object = %key, %action, %error, "the API server did not do it"),
    }
}
