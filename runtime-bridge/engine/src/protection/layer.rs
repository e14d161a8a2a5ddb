//! Usages of all kinds, served together.

use std::sync::{Arc, Weak};

use bridge_core::queue::{Priority, Wake};
use tokio_util::task::AbortOnDropHandle;

use super::{guard::Guard, kinds::usage_kinds, reconciler::UsageReconciler};
use crate::{composite::CompositeShared, engine::Engine, serve::Served};

/// Usages of all kinds, served until this is dropped. Kinds that the cluster does not have yet are waited for.
pub(crate) struct ServedUsages {
    _served: Vec<Served>,
    _guard: AbortOnDropHandle<()>,
}

impl ServedUsages {
    pub(crate) fn serve(
        engine: &Arc<Engine>,
        shared: &Arc<CompositeShared>,
        guard: &Arc<dyn Guard>,
        reason: &str,
    ) -> Self {
        let reconcilers = usage_kinds().map(|api| UsageReconciler::new(shared, guard, api));
        let served = reconcilers
            .iter()
            .map(|one| engine.serve(one.controller(reason)))
            .collect();
        let follow = follow(Arc::downgrade(engine), Arc::clone(guard));
        Self {
            _served: served,
            _guard: AbortOnDropHandle::new(tokio::spawn(follow)),
        }
    }
}

/// Each change of the guard is a turn of all usages.
async fn follow(engine: Weak<Engine>, guard: Arc<dyn Guard>) {
    let mut changes = guard.changes();
    while changes.changed().await.is_ok() {
        let Some(engine) = engine.upgrade() else { return };
        let wake = Wake {
            at: engine.clock.now(),
            priority: Priority::Dependency,
        };
        for usage in usage_kinds().iter().flat_map(|api| engine.store.list(&api.kind)) {
            engine.dispatcher.enqueue(&usage.key(), wake);
        }
    }
}
