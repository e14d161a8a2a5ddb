//! What the reconciles of one kind of composite resources have to hand.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bridge_core::{
    composite::CompositeMemory,
    definition::Terms,
    driver::Leadership as Right,
    queue::{Priority, Wake},
};
use parking_lot::RwLock;

use super::{
    confirmation::{Confirmation, Turn},
    runs::Runs,
    shared::CompositeShared,
};
use crate::{
    definition,
    object::{ApiType, Key},
    shell::Memories,
};

/// Reconciles the composite resources of one kind.
pub struct CompositeReconciler {
    pub(super) shared: Arc<CompositeShared>,
    terms: RwLock<Arc<Terms>>,
    pub(super) api: Arc<ApiType>,
    pub(super) memories: Memories<CompositeMemory>,
    pub(super) runs: Runs,
    stopped: AtomicBool,
    pub(super) confirmation: Confirmation,
}

impl CompositeReconciler {
    /// Of one kind, as its definition has it. Another scope or version is another reconciler; other terms can be [set](Self::set_terms).
    pub fn new(shared: &Arc<CompositeShared>, terms: Arc<Terms>, api: Arc<ApiType>) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            terms: RwLock::new(terms),
            api,
            memories: Memories::default(),
            runs: Runs::default(),
            stopped: AtomicBool::new(false),
            confirmation: Confirmation::default(),
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

    /// A pass of its definition, of this time of leading, has set the terms: what waited for that is reconciled.
    pub(crate) fn confirm(&self, term: u64) {
        let at = self.shared.clock.now();
        for (key, priority) in self.confirmation.confirm(term) {
            self.shared.dispatcher.enqueue(&key, Wake { at, priority });
        }
    }

    /// Whether a pass of its definition has set the terms in this time of leading; else this object waits for it. Nothing is decided before: what a standby
    /// goes by may be behind. Who waits first asks for the pass: where this process led again before the queue noticed that it had not, nothing else does.
    pub(super) fn is_confirmed_or_wait(&self, key: &Key, priority: Priority) -> bool {
        let turn = self
            .confirmation
            .turn(self.shared.leadership.term(), key, priority);
        if turn == Turn::WaitsFirst {
            let definition = Key::new(
                definition::api().kind.clone(),
                None,
                &self.terms.read().definition,
            );
            let wake = Wake {
                at: self.shared.clock.now(),
                priority: Priority::Dependency,
            };
            self.shared.dispatcher.enqueue(&definition, wake);
        }
        turn == Turn::Confirmed
    }

    /// Crossplane's name of the controller.
    pub(crate) fn name(&self) -> String {
        format!("composite/{}", self.terms.read().definition)
    }

    /// Keys of connection Secrets that its definition lets out; empty: all.
    pub(super) fn connection_keys(&self) -> Arc<BTreeSet<String>> {
        Arc::new(self.terms.read().connection_keys.clone())
    }

    pub(super) fn right(&self) -> Right {
        self.shared.right(self.stopped.load(Ordering::SeqCst))
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.shared.end_serving(&self.api.kind);
        self.runs.end_all();
        self.shared.function_news.forget_kind(&self.api.kind);
        self.shared.secret_users.forget_kind(&self.api.kind);
        self.shared.schemas.forget_kind(&self.api.kind);
        self.shared.awaited_kinds.forget_kind(&self.api.kind);
    }

    pub(super) fn forget(&self, key: &Key, uid: &str) {
        self.runs.end(uid);
        self.shared.connection_secrets.forget(uid);
        self.shared.function_news.set(key, None);
        self.shared.secret_users.forget(key);
        self.shared.schemas.set_user(key, BTreeSet::new());
        self.shared.awaited_kinds.set(key, BTreeSet::new());
    }
}
