//! What the reconciles of one kind of claims have to hand.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bridge_core::{claim::ClaimMemory, definition::Terms, driver::Leadership as Right};
use parking_lot::RwLock;

use crate::{composite::CompositeShared, object::ApiType, shell::Memories};

/// Reconciles the claims of one kind.
pub struct ClaimReconciler {
    pub(super) shared: Arc<CompositeShared>,
    terms: RwLock<Arc<Terms>>,
    pub(super) api: Arc<ApiType>,
    pub(super) memories: Memories<ClaimMemory>,
    stopped: AtomicBool,
}

impl ClaimReconciler {
    /// Of one kind, as its definition has it. Another version is another reconciler; other terms can be [set](Self::set_terms).
    pub fn new(shared: &Arc<CompositeShared>, terms: Arc<Terms>, api: Arc<ApiType>) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            terms: RwLock::new(terms),
            api,
            memories: Memories::default(),
            stopped: AtomicBool::new(false),
        })
    }

    /// What its definition says now.
    pub fn terms(&self) -> Arc<Terms> {
        Arc::clone(&self.terms.read())
    }

    /// Its definition was changed: what is decided from now on goes by these.
    pub fn set_terms(&self, terms: Arc<Terms>) {
        *self.terms.write() = terms;
    }

    /// How the composite resources of its claims are addressed.
    pub(super) fn composites(&self) -> Arc<ApiType> {
        let terms = self.terms();
        Arc::new(ApiType {
            kind: terms.kind.clone(),
            version: terms.version.clone(),
            plural: terms.plural.clone(),
            namespaced: terms.is_namespaced(),
        })
    }

    pub(super) fn right(&self) -> Right {
        self.shared.right(self.stopped.load(Ordering::SeqCst))
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.shared.end_serving(&self.api.kind);
        self.shared.secret_users.forget_kind(&self.api.kind);
    }
}
