//! The controller of definitions as the engine serves it.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use bridge_core::{queue::Priority, reasons::DefinitionEvent, watch_plan::GroupKind};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::{
    api,
    crds::Crds,
    follow::Follow,
    served_types::{By, ServedTypes},
    types::DefinedTypes,
    unlisted_since::UnlistedSince,
};
use crate::{
    clock::Clock,
    composite::CompositeShared,
    engine::{Controller, Engine},
    event::{EventRecorder, EventType},
    object::{Key, Object},
    reconcile::{Next, Reconcile, ReconcileRequest},
    shell::Retries,
    store::Store,
    watch::Subscription,
    write::Writer,
};

/// Where Crossplane's own events of definitions come from.
const EVENT_SOURCE: &str = "defined/compositeresourcedefinition.apiextensions.crossplane.io";

/// What an honest reconcile may take: the deletion of very many composite resources.
const LONGEST: Duration = Duration::from_mins(5);

/// This process may not act now, or does not know enough: then later.
pub(super) const NOT_YET: Duration = Duration::from_secs(1);

/// Reconciles definitions, and serves what they define.
pub struct DefinitionReconciler {
    engine: Weak<Engine>,
    pub(super) store: Arc<Store>,
    events: Arc<EventRecorder>,
    retries: Retries,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) writer: Writer,
    pub(super) crds: Crds,
    pub(super) served: ServedTypes,
    /// What is waited for, by the name of the definition that is being deleted.
    pub(super) removals: Mutex<BTreeMap<String, (GroupKind, Subscription)>>,
    pub(super) unlisted_since: UnlistedSince,
    pub(super) composites: Arc<CompositeShared>,
}

impl DefinitionReconciler {
    /// On a running engine. `types` shows what is served.
    pub fn new(engine: &Arc<Engine>, composites: &Arc<CompositeShared>, types: &DefinedTypes) -> Arc<Self> {
        Arc::new(Self {
            engine: Arc::downgrade(engine),
            store: Arc::clone(&engine.store),
            events: Arc::clone(&engine.events),
            retries: Retries::new(&engine.clock),
            clock: Arc::clone(&engine.clock),
            writer: engine.writer.clone(),
            crds: Crds::new(&engine.writer),
            served: ServedTypes::new(engine, composites, types),
            removals: Mutex::default(),
            unlisted_since: UnlistedSince::default(),
            composites: Arc::clone(composites),
        })
    }

    /// As the engine serves it.
    pub fn controller(self: &Arc<Self>, reason: &str) -> Controller {
        Controller {
            owner: None,
            api: api(),
            edges: Arc::new([]),
            reconciler: Arc::clone(self) as _,
            reason: reason.to_owned(),
        }
    }

    /// A CRD that changes is its definition's turn, as long as the answer is kept.
    pub fn follow(engine: &Engine) -> AbortOnDropHandle<()> {
        AbortOnDropHandle::new(tokio::spawn(Follow::new(engine).run()))
    }

    /// Serves nothing for it any more.
    pub(super) fn let_go(&self, definition: &Object) {
        self.served.stop(definition.name(), definition.uid());
        self.removals.lock().remove(definition.name());
        self.unlisted_since.end(definition.uid());
    }

    /// Whether this process leads. Changes at each step of the election.
    pub(super) fn leads(&self) -> watch::Receiver<bool> {
        self.composites.leadership.watch()
    }

    /// Which time of leading this is, or was the last one.
    pub(super) fn term(&self) -> u64 {
        self.composites.leadership.term()
    }

    /// This process leads, and is not stopping.
    pub(super) fn may_act(&self) -> bool {
        self.composites.may_act()
    }

    pub(super) fn record(
        &self,
        definition: &Object,
        event_type: EventType,
        reason: DefinitionEvent,
        message: &str,
    ) {
        self.events
            .record_as(EVENT_SOURCE, definition, event_type, reason.as_str(), message);
    }
}

#[async_trait]
impl Reconcile for DefinitionReconciler {
    async fn reconcile(&self, key: &Key, _: ReconcileRequest) -> Next {
        let Some(engine) = self.engine.upgrade() else {
            return Next::idle();
        };
        let term = self.term();
        let Some(definition) = self.store.get(key) else {
            self.served.follow(key.name(), None, None, By::Pass(term));
            self.removals.lock().remove(key.name());
            self.retries.forget(key);
            return Next::idle();
        };
        // Of claims that are offered no more, their CRD alone tells.
        let are_crds_known = engine
            .watches
            .definitions_controlled_by(definition.uid())
            .is_some();
        // Before any composite resource is reconciled: that waits for this pass.
        self.composites.notice_term();
        if !self.may_act() || !are_crds_known {
            return Next::at(self.clock.now() + NOT_YET, Priority::Dependency);
        }
        let result = if definition.is_deleting() {
            self.remove(&engine, &definition, term).await
        } else {
            self.establish(&engine, &definition, term).await
        };
        self.retries.after(&definition, result)
    }

    fn forget(&self, object: &Object) {
        self.let_go(object);
        self.retries.forget(&object.key());
    }

    fn longest_pass(&self) -> Duration {
        LONGEST
    }
}
