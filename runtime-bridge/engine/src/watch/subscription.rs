use std::sync::Arc;

use bridge_core::watch_plan::{GroupKind, Want};

use super::Shared;
use crate::{
    object::ApiType,
    store::{Cause, Change, Listener},
};

/// Keeps a kind watched, and its listener told, until it is dropped. Dropping does no I/O.
pub struct Subscription {
    shared: Arc<Shared>,
    kind: GroupKind,
    reason: String,
    listener: u64,
}

impl Subscription {
    pub(super) fn new(
        shared: &Arc<Shared>,
        api: &Arc<ApiType>,
        reason: &str,
        listener: &Arc<Listener>,
    ) -> Self {
        let kind = api.kind.clone();
        let id = shared.store.listen(&kind, Arc::clone(listener));
        {
            let mut state = shared.state.lock();
            let want = state
                .wants
                .entry(kind.clone())
                .or_insert_with(|| Want::new(&api.version, api.is_always_served()));
            want.subscribe(reason);
            // A kind that is published in another version is watched in that, though the grace of the former watch is not over.
            want.version.clone_from(&api.version);
            state.apis.insert(kind.clone(), Arc::clone(api));
        }
        if api.is_core() && !api.is_always_served() {
            shared.discovery.need();
        }
        shared.changed.notify_one();
        for object in shared.store.list(&kind) {
            listener(&Change {
                key: object.key(),
                old: None,
                new: Some(object),
                cause: Cause::Listed,
            });
        }
        Self {
            shared: Arc::clone(shared),
            kind,
            reason: reason.to_owned(),
            listener: id,
        }
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.shared.store.unlisten(&self.kind, self.listener);
        if let Some(want) = self.shared.state.lock().wants.get_mut(&self.kind) {
            want.unsubscribe(&self.reason, self.shared.clock.now());
        }
        self.shared.changed.notify_one();
    }
}
