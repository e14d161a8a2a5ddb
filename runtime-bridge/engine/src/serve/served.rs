use std::sync::Arc;

use bridge_core::watch_plan::GroupKind;

use crate::{
    dispatch::{Dispatcher, Registration},
    reconcile::Reconcile,
    store::{Edge, RegisteredEdges},
    watch::Subscription,
};

/// A kind that is served until this is dropped.
///
/// Dropping it does no I/O and waits for nothing: no pass over its objects begins any more, those that run begin nothing new and end by
/// themselves, and its watch goes on for the grace of those who subscribe next.
#[must_use = "a kind is served only while its handle lives"]
pub struct Served {
    kind: GroupKind,
    dispatcher: Arc<Dispatcher>,
    registration: Registration,
    reconciler: Arc<dyn Reconcile>,
    // After the reconciler has stopped: nothing is heard, and nothing that it depends on is found, any more.
    _subscription: Subscription,
    edges: RegisteredEdges,
}

impl Served {
    pub(crate) fn new(
        kind: GroupKind,
        owner: Option<Arc<str>>,
        dispatcher: &Arc<Dispatcher>,
        reconciler: Arc<dyn Reconcile>,
        edges: RegisteredEdges,
        subscribe: impl FnOnce() -> Subscription,
    ) -> Self {
        let registration = dispatcher.register_of(&kind, owner, Arc::clone(&reconciler));
        Self {
            kind,
            dispatcher: Arc::clone(dispatcher),
            registration,
            reconciler,
            _subscription: subscribe(),
            edges,
        }
    }

    /// What the objects depend on is found by these from now on.
    pub(crate) fn replace_edges(&self, edges: Arc<[Edge]>) {
        self.edges.replace(edges);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.dispatcher.unregister(&self.kind, self.registration);
        self.reconciler.stop();
    }
}
