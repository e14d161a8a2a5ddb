//! The controller of revisions: whether the functions of a pipeline can compose.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_core::{
    composite::names::CROSSPLANE_MANAGER,
    managed::{ConditionValue, Status},
    queue::Priority,
    reasons::{ConditionReason, DefinitionEvent},
    revision::{ActiveFunction, PipelineCheck, Revision, check_pipeline},
    watch_plan::GroupKind,
};

use super::revisions;
use crate::{
    api_error::ApiError,
    clock::Clock,
    composite::CompositeShared,
    engine::{Controller, Engine},
    event::{EventRecorder, EventType},
    object::{Key, Object},
    reconcile::{Next, Reconcile, ReconcileRequest},
    shell::Retries,
    store::{Edge, Interest, LabelSelection, NeededKind, Store},
    watch::{WatchState, Watches},
    write::Writer,
};

/// Where Crossplane's own events of revisions come from.
const EVENT_SOURCE: &str = "revision/compositionrevision.apiextensions.crossplane.io";

/// Label of a `FunctionRevision`: name of its `Function`.
const PACKAGE: &str = "pkg.crossplane.io/package";

/// What is not known yet is looked at again after this.
const NOT_YET: Duration = Duration::from_secs(1);

fn function_revisions() -> GroupKind {
    GroupKind::new("pkg.crossplane.io", "FunctionRevision")
}

/// The functions that are installed; `None`: they are not known. What may not be read is not known to lack anything.
pub(crate) fn active_functions(store: &Store, watches: &Watches) -> Option<Vec<ActiveFunction>> {
    let kind = function_revisions();
    let is_read = watches.is_complete(&kind) || matches!(watches.state(&kind), WatchState::Forbidden(_));
    is_read.then(|| {
        let installed = store.list(&kind);
        installed
            .iter()
            .filter_map(|function| ActiveFunction::read(&function.to_value()))
            .collect()
    })
}

/// Reconciles revisions: says whether their pipelines can be run.
pub struct RevisionReconciler {
    store: Arc<Store>,
    watches: Arc<Watches>,
    events: Arc<EventRecorder>,
    clock: Arc<dyn Clock>,
    writer: Writer,
    composites: Arc<CompositeShared>,
    retries: Retries,
}

impl RevisionReconciler {
    /// On a running engine.
    pub fn new(engine: &Engine, composites: &Arc<CompositeShared>) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(&engine.store),
            watches: Arc::clone(&engine.watches),
            events: Arc::clone(&engine.events),
            clock: Arc::clone(&engine.clock),
            writer: engine.writer.as_manager(CROSSPLANE_MANAGER),
            composites: Arc::clone(composites),
            retries: Retries::new(&engine.clock),
        })
    }

    /// As the engine serves it.
    pub fn controller(self: &Arc<Self>, reason: &str) -> Controller {
        Controller {
            owner: None,
            api: revisions(),
            edges: edges(),
            reconciler: Arc::clone(self) as _,
            reason: reason.to_owned(),
        }
    }

    async fn check(&self, object: &Object, active: &[ActiveFunction]) -> Result<Next, ApiError> {
        if !object.is_readable() {
            return Ok(Next::idle());
        }
        let check = check_pipeline(&Revision::read(&object.to_value()), active);
        let valid = match &check {
            PipelineCheck::Valid => ConditionValue {
                status: true,
                reason: check.reason().to_owned(),
                message: String::new(),
            },
            PipelineCheck::MissingCapabilities { message } => {
                let reason = DefinitionEvent::CheckCapabilities.as_str();
                self.events
                    .record_as(EVENT_SOURCE, object, EventType::Warning, reason, message);
                ConditionValue {
                    status: false,
                    reason: check.reason().to_owned(),
                    message: message.clone(),
                }
            }
        };
        let former = object.status_value();
        let mut status = Status::read(former.clone());
        let (generation, now) = (object.generation(), self.clock.now());
        let synced = ConditionValue::yes(ConditionReason::ReconcileSuccess);
        status.set("Synced", &synced, generation, now);
        status.set("ValidPipeline", &valid, generation, now);
        let status = status.write();
        if status != former {
            let mut changed = object.clone();
            changed.set_status(&status);
            let writer = self.writer.for_reconcile(&object.key());
            writer.put_status(&changed).await?;
        }
        Ok(Next::idle())
    }
}

#[async_trait]
impl Reconcile for RevisionReconciler {
    async fn reconcile(&self, key: &Key, _: ReconcileRequest) -> Next {
        let Some(revision) = self.store.get(key) else {
            self.retries.forget(key);
            return Next::idle();
        };
        if revision.is_deleting() {
            return Next::idle();
        }
        match active_functions(&self.store, &self.watches) {
            Some(active) if self.composites.may_act() => {
                let result = self.check(&revision, &active).await;
                self.retries.after(&revision, result)
            }
            _ => Next::at(self.clock.now() + NOT_YET, Priority::Dependency),
        }
    }

    fn forget(&self, object: &Object) {
        self.retries.forget(&object.key());
    }
}

/// A change of an active function's revision is the turn of all revisions of compositions that call it.
fn edges() -> Arc<[Edge]> {
    let functions = |revision: &Object| {
        let revision = Revision::read(&revision.to_value());
        let selection = |function: &str| LabelSelection {
            kind: function_revisions(),
            namespace: None,
            labels: [(PACKAGE.to_owned(), function.to_owned())].into(),
        };
        revision.functions().map(selection).collect()
    };
    let needs = |_: &Object| {
        vec![NeededKind {
            kind: function_revisions(),
            version: "v1".to_owned(),
        }]
    };
    Arc::new([
        Edge::selections(Arc::new(functions)).with_interest(Interest::All),
        Edge::needs(Arc::new(needs)),
    ])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::Store;

    #[test]
    fn revisions_of_functions_are_needed_as_soon_as_there_is_a_revision() {
        let store = Arc::new(Store::default());
        let api = revisions();
        store.open(&api.kind);
        let _edges = store.register_edges(&api.kind, edges());
        assert!(store.needed().is_empty());
        let revision = json!({"metadata": {"name": "a", "uid": "1", "resourceVersion": "1"}, "spec": {}});
        store.observe_read(Arc::new(Object::decode(&api, &revision.to_string()).unwrap()));
        let kinds: Vec<_> = store.needed().into_iter().map(|needed| needed.kind).collect();
        assert_eq!(kinds, [function_revisions()]);
    }
}
