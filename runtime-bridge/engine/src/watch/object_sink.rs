use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use super::{
    feed::{Condition, FeedEvent, Head, Sink},
    state::WatchState,
};
use crate::{
    metrics::Metrics,
    object::{ApiType, Object},
    store::Store,
};

/// True while a watch may bring news. Held while it does, so that nothing comes after the end.
pub(super) type Gate = Arc<Mutex<bool>>;

/// What a watch's sink notes down.
pub(super) struct Status {
    pub(super) condition: Condition,
    pub(super) interruptions: u64,
    pub(super) lists: u64,
    pub(super) unreadable: BTreeMap<String, String>,
}

/// So many unreadable objects are shown by name.
const SHOWN: usize = 20;

/// Brings what a feed tells into the store.
pub(super) struct ObjectSink {
    pub(super) api: Arc<ApiType>,
    pub(super) store: Arc<Store>,
    pub(super) status: Arc<Mutex<Status>>,
    pub(super) gate: Gate,
    pub(super) metrics: Arc<Metrics>,
}

impl ObjectSink {
    fn seen(&self, head: &Head, json: &str) {
        let name = head.key.to_string();
        match Object::decode(&self.api, json) {
            Ok(object) => {
                self.status.lock().unreadable.remove(&name);
                self.store.observe(object);
            }
            Err(error) => {
                Metrics::count(&self.metrics.unreadable, &self.api.kind);
                tracing::warn!(object = name, %error, "an object cannot be read, it stays as it was last");
                let unreadable = &mut self.status.lock().unreadable;
                if unreadable.len() < SHOWN {
                    unreadable.insert(name, error.to_string());
                }
                self.store.observe_unreadable(&head.key);
            }
        }
    }
}

impl Sink for ObjectSink {
    fn on_event(&mut self, on_event: FeedEvent<'_>) {
        let gate = self.gate.lock();
        if !*gate {
            return;
        }
        match on_event {
            FeedEvent::ListBegins => self.store.begin_list(&self.api.kind),
            FeedEvent::Seen(head, json) => self.seen(head, json),
            FeedEvent::Deleted(head) => {
                self.status.lock().unreadable.remove(&head.key.to_string());
                self.store.observe_deleted(&head.key, &head.uid);
            }
            FeedEvent::ListEnds(version) => {
                self.status.lock().lists += 1;
                Metrics::count(&self.metrics.watch_lists, &self.api.kind);
                self.store.end_list(&self.api.kind, version);
            }
        }
    }

    fn condition(&mut self, condition: Condition) {
        let gate = self.gate.lock();
        let mut status = self.status.lock();
        if !*gate || status.condition == condition {
            return;
        }
        if status.condition == Condition::Live {
            status.interruptions += 1;
            Metrics::count(&self.metrics.watch_interruptions, &self.api.kind);
        }
        self.metrics
            .show_watch_state(&self.api.kind, WatchState::from(condition.clone()).name());
        status.condition = condition;
    }
}
