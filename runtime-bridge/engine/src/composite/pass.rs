//! Carries out what the driver of a reconcile asks for: with real requests to the API server.

use std::sync::Arc;

use bridge_core::{
    composite::{
        Action, Composite, CompositeMachine, CompositeMemory, CompositeWrite, ObjectState, Performed,
        ResourceRef, WriteFailure, names,
    },
    definition::Scope,
    driver::{Driver, Effect, End, Input, Moment, Permit, Retry},
    managed::Event,
    queue::Priority,
    watch_plan::GroupKind,
};
use futures::{StreamExt, stream};
use tracing::Instrument;

use super::{find::Finder, reconciler::CompositeReconciler, views::Views};
use crate::{
    api_error::ApiError,
    event::EventType,
    object::{Key, Object},
    random,
    reconcile::Next,
    run_metrics::ComposedWrite,
    shell::{MemoryGuard, readable},
    write::Finalized,
};

type CompositeDriver = Driver<CompositeMachine, Arc<Object>>;
type CompositeInput = Input<CompositeMachine, Arc<Object>>;

/// Where Crossplane's own events of composite resources come from.
const EVENT_SOURCE: &str = "defined/compositeresourcedefinition.apiextensions.crossplane.io";

/// Reads under way at once for one composite resource.
const READS: usize = 16;

/// Runs a reconcile to its end.
pub(super) async fn run(
    of: Arc<CompositeReconciler>,
    first: Arc<Object>,
    mut memory: MemoryGuard<CompositeMemory>,
) -> Next {
    let span = tracing::info_span!("reconcile", object = %first.key(), uid = first.uid());
    async move { of.drive(&first, &mut memory).await }
        .instrument(span)
        .await
}

impl CompositeReconciler {
    async fn drive(self: &Arc<Self>, first: &Arc<Object>, memory: &mut CompositeMemory) -> Next {
        let views = Views::default();
        let mut driver = CompositeDriver::begin(memory, &self.moment());
        loop {
            let input = match driver.effect() {
                Effect::End(end) => return self.ended(first, end),
                effect => self.carry_out(first, effect, &views).await,
            };
            driver.resume(memory, &self.moment(), input);
            for event in memory.take_events() {
                self.record(first, &event);
            }
            let counts = memory.take_circuit_counts();
            self.shared
                .metrics
                .compositions
                .count_circuit(|| self.name(), counts);
        }
    }

    fn moment(&self) -> Moment {
        Moment {
            now: self.shared.clock.now(),
            leadership: self.right(),
            jitter: random::fraction(),
        }
    }

    fn ended(&self, first: &Object, end: &End) -> Next {
        match end {
            End::Gone => {
                self.memories.forget(&first.key(), Some(first.uid()));
                self.forget(&first.key(), first.uid());
                Next::idle()
            }
            End::Rest(rest) => match rest.wake {
                Some(at) => Next::at(at, Priority::DriftPoll),
                None => Next::idle(),
            },
            End::Retry { at, why } => {
                if *why == Retry::Unfinished {
                    tracing::error!(object = %first.key(), "a reconcile did not come to an end; this is a bug");
                }
                Next::at(*at, Priority::DriftPoll)
            }
        }
    }

    /// The newest version that is stored; `None`: the object is gone, another one has its name, or what it says by now cannot be read, which its next
    /// reconcile reports.
    fn newest(&self, first: &Object) -> Option<Arc<Object>> {
        let newest = self.shared.store.get(&first.key());
        newest.filter(|newest| newest.uid() == first.uid() && newest.is_readable())
    }

    async fn carry_out(
        self: &Arc<Self>,
        first: &Arc<Object>,
        effect: Effect<'_, CompositeMachine, Arc<Object>>,
        views: &Views,
    ) -> CompositeInput {
        match effect {
            Effect::CollectCached => Input::Cached(self.newest(first).map(|object| {
                let snapshot = Box::new(self.collect_cached(&object, views));
                (object, snapshot)
            })),
            Effect::Collect { snapshot, .. } => {
                Input::Collected(Box::new(self.collect(snapshot, views).await))
            }
            Effect::AcquirePermit => Input::Permit(Permit::AtOnce),
            Effect::Begin { object, action } => {
                tracing::debug!(decision = %action, version = object.resource_version());
                Input::Proceed
            }
            Effect::Perform { object, action } => self.perform(object, action).await,
            Effect::Newest | Effect::Stored => {
                Input::Newest(self.newest(first).map(|object| self.viewed(object)))
            }
            Effect::Persist { change, .. } => match *change {},
            Effect::Wait(pause) => {
                tokio::time::sleep(pause).await;
                Input::Waited
            }
            Effect::ReadLive => {
                let live = self.shared.writer.get_live(&self.api, &first.key()).await;
                Input::Live(match live.and_then(readable) {
                    Ok(live) => Ok(self.viewed(live)),
                    Err(error) => Err(self.shared.api_failure(first, &error)),
                })
            }
            Effect::End(_) => Input::Proceed,
        }
    }

    fn viewed(&self, object: Arc<Object>) -> (Arc<Object>, Composite) {
        let view = Composite::parse(object.to_value(), self.terms().scope);
        (object, view)
    }

    async fn perform(self: &Arc<Self>, object: &Arc<Object>, action: &Action) -> CompositeInput {
        let key = object.key();
        let writer = self
            .shared
            .writer
            .for_reconcile(&key)
            .as_manager(names::CROSSPLANE_MANAGER);
        let version = |object: Arc<Object>| Performed::Version(object.resource_version().to_string());
        let result = match action {
            Action::Observe(refs) => Ok(Performed::Observed(self.observe(object, refs).await)),
            Action::VerifyResourceVersion => writer.get_live(&self.api, &key).await.map(version),
            Action::Run(start) => {
                self.begin_run(&key, object.uid(), (**start).clone());
                Ok(Performed::RunBegan)
            }
            Action::Write(write) => writer.put(&changed(object, write)).await.map(version),
            Action::Create(all) => {
                let created = self.create(object, all).await;
                self.wrote(ComposedWrite::Create, &created);
                Ok(Performed::Written(created))
            }
            Action::Apply(all) => {
                let applied = self.apply(object, all).await;
                self.wrote(ComposedWrite::Apply, &applied);
                Ok(Performed::Written(applied))
            }
            Action::Delete(all) => {
                let deleted = self.delete(object, all).await;
                self.wrote(ComposedWrite::Delete, &deleted);
                Ok(Performed::Deleted(deleted))
            }
            Action::Release(all) => Ok(Performed::Released(self.release(object, all).await)),
            Action::Publish(publication) => Ok(Performed::Published(self.publish(object, publication).await)),
            Action::DeleteSecret(secret) => {
                let secrets = &self.shared.connection_secrets;
                let deleted = secrets.delete_controlled(secret, object.uid()).await;
                deleted.map(Performed::SecretDeleted)
            }
            Action::WriteStatus(write) => {
                let mut new = Object::clone(object);
                new.set_status(&write.status);
                let written = writer.put_status(&new).await;
                written.map(|stored| Performed::StatusWritten {
                    version: stored.resource_version().to_string(),
                    stored: stored.status_value(),
                })
            }
            Action::RemoveFinalizer => {
                let removed = writer.remove_finalizer(object, names::FINALIZER).await;
                removed.map(|removed| Performed::FinalizerRemoved(matches!(removed, Finalized::Gone)))
            }
        };
        match result {
            Ok(performed) => Input::Performed(performed),
            Err(error) => {
                if matches!(error, ApiError::Conflict(_) | ApiError::NotFound(_)) {
                    tracing::debug!(object = %key, %action, %error, "not written");
                } else {
                    tracing::warn!(object = %key, %action, %error, "not written; will retry");
                }
                Input::Failed(self.shared.api_failure(object, &error))
            }
        }
    }

    fn wrote<T>(&self, write: ComposedWrite, results: &[Result<T, WriteFailure>]) {
        self.shared.metrics.runs.wrote(&self.api.kind, write, results);
    }

    async fn observe(
        &self,
        xr: &Object,
        refs: &[ResourceRef],
    ) -> Vec<(bridge_core::composite::ObjectId, ObjectState)> {
        let finder = Finder::in_any_version(&self.shared);
        let (finder, home) = (&finder, xr.namespace());
        stream::iter(refs.iter().cloned())
            .map(|reference| async move {
                let seen = finder.see_live(&reference, home).await;
                (reference.id(home), seen)
            })
            .buffer_unordered(READS)
            .collect()
            .await
    }

    fn record(&self, object: &Object, event: &Event) {
        let event_type = if event.warning {
            EventType::Warning
        } else {
            EventType::Normal
        };
        let events = &self.shared.events;
        events.record_as(EVENT_SOURCE, object, event_type, &event.reason, &event.message);
        let Some(message) = &event.on_claim else { return };
        if let Some(claim) = self.claim_of(object) {
            events.record_as(EVENT_SOURCE, &claim, event_type, &event.reason, message);
        }
    }

    /// The claim of a legacy composite resource, as far as it is stored, and says so itself.
    fn claim_of(&self, object: &Object) -> Option<Arc<Object>> {
        if self.terms().scope != Scope::LegacyCluster {
            return None;
        }
        let newest = self.newest(object)?;
        let spec = newest.spec_value();
        let text = |field: &str| spec["claimRef"][field].as_str();
        let group = text("apiVersion")?.split_once('/')?.0;
        let key = Key::new(
            GroupKind::new(group, text("kind")?),
            Some(text("namespace")?),
            text("name")?,
        );
        let claim = self.shared.store.get(&key)?;
        let is_bound = claim.spec_value()["resourceRef"]["name"] == object.name();
        is_bound.then_some(claim)
    }
}

fn changed(object: &Object, write: &CompositeWrite) -> Object {
    let mut object = object.clone();
    object.meta.finalizers = Some(write.finalizers.clone());
    object.meta.labels = Some(write.labels.clone().into_iter().collect());
    object.meta.annotations = Some(write.annotations.clone().into_iter().collect());
    object.set_spec(&write.spec);
    object
}
