//! What the reconciles of one kind of usages have to hand.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bridge_core::{driver::Leadership as Right, protection::UsageMemory};

use super::guard::Guard;
use crate::{composite::CompositeShared, object::ApiType, shell::Memories};

/// Reconciles the usages of one kind.
pub(super) struct UsageReconciler {
    pub(super) shared: Arc<CompositeShared>,
    pub(super) guard: Arc<dyn Guard>,
    pub(super) api: Arc<ApiType>,
    pub(super) memories: Memories<UsageMemory>,
    stopped: AtomicBool,
}

impl UsageReconciler {
    pub(super) fn new(shared: &Arc<CompositeShared>, guard: &Arc<dyn Guard>, api: Arc<ApiType>) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            guard: Arc::clone(guard),
            api,
            memories: Memories::default(),
            stopped: AtomicBool::new(false),
        })
    }

    pub(super) fn right(&self) -> Right {
        self.shared.right(self.stopped.load(Ordering::SeqCst))
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }
}
