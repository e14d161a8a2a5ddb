//! Carries out what the driver of a reconcile asks for.

use std::sync::Arc;

use bridge_core::{
    driver::{Driver, Effect, End, Input, Moment, Permit, Retry},
    managed::Event,
    protection::{Usage, UsageMachine, UsageMemory},
    queue::Priority,
};
use tracing::Instrument;

use super::reconciler::UsageReconciler;
use crate::{
    event::EventType,
    object::Object,
    random,
    reconcile::Next,
    shell::{MemoryGuard, readable},
};

type UsageDriver = Driver<UsageMachine, Arc<Object>>;
pub(super) type UsageInput = Input<UsageMachine, Arc<Object>>;

/// Runs a reconcile to its end.
pub(super) async fn run(
    of: Arc<UsageReconciler>,
    first: Arc<Object>,
    mut memory: MemoryGuard<UsageMemory>,
) -> Next {
    let span = tracing::info_span!("reconcile", object = %first.key(), uid = first.uid());
    async move { of.drive(&first, &mut memory).await }
        .instrument(span)
        .await
}

impl UsageReconciler {
    async fn drive(&self, first: &Arc<Object>, memory: &mut UsageMemory) -> Next {
        let mut driver = UsageDriver::begin(memory, &self.moment());
        loop {
            let input = match driver.effect() {
                Effect::End(end) => return self.ended(first, end),
                effect => self.carry_out(first, effect).await,
            };
            driver.resume(memory, &self.moment(), input);
            for event in memory.take_events() {
                self.record(first, &event);
            }
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
        &self,
        first: &Arc<Object>,
        effect: Effect<'_, UsageMachine, Arc<Object>>,
    ) -> UsageInput {
        match effect {
            Effect::CollectCached => Input::Cached(self.newest(first).map(|object| {
                let snapshot = Box::new(self.collect_cached(&object));
                (object, snapshot)
            })),
            Effect::Collect { snapshot, .. } => Input::Collected(Box::new(self.collect(snapshot).await)),
            Effect::AcquirePermit => Input::Permit(Permit::AtOnce),
            Effect::Begin { object, action } => {
                tracing::debug!(decision = %action, version = object.resource_version());
                Input::Proceed
            }
            Effect::Perform { object, action } => self.perform(object, action).await,
            Effect::Newest | Effect::Stored => Input::Newest(self.newest(first).map(viewed)),
            Effect::Persist { change, .. } => match *change {},
            Effect::Wait(pause) => {
                tokio::time::sleep(pause).await;
                Input::Waited
            }
            Effect::ReadLive => {
                let live = self.shared.writer.get_live(&self.api, &first.key()).await;
                let live = live.and_then(readable);
                let live = live.map_err(|error| self.shared.api_failure(first, &error));
                Input::Live(live.map(viewed))
            }
            Effect::End(_) => Input::Proceed,
        }
    }

    fn record(&self, object: &Object, event: &Event) {
        let event_type = if event.warning {
            EventType::Warning
        } else {
            EventType::Normal
        };
        // As Crossplane's own events of usages name their controller.
        let kind = &self.api.kind;
        let source = format!("usage/{}.{}", kind.kind().to_lowercase(), kind.group());
        self.shared
            .events
            .record_as(source, object, event_type, &event.reason, &event.message);
    }
}

fn viewed(object: Arc<Object>) -> (Arc<Object>, Usage) {
    let view = Usage::new(object.to_value());
    (object, view)
}
