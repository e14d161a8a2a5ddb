use std::{collections::BTreeMap, sync::Arc};

use parking_lot::Mutex;

use super::{
    feed::{Condition, FeedEvent, Sink},
    head::Head,
    state::WatchState,
};
use crate::{
    metrics::Metrics,
    object::{ApiType, Key, Object},
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
        // So it is with each write of ours: its answer was here first.
        if self.store.observe_known(&head.key, &head.uid, head.version) {
            return self.is_readable(&head.key);
        }
        match Object::decode(&self.api, json) {
            Ok(object) => {
                self.is_readable(&head.key);
                self.store.observe(object);
            }
            Err(error) => {
                let name = head.key.to_string();
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

    fn is_readable(&self, key: &Key) {
        let unreadable = &mut self.status.lock().unreadable;
        if !unreadable.is_empty() {
            unreadable.remove(&key.to_string());
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
                self.is_readable(&head.key);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_our_own_write_was_answered_is_not_decoded_again() {
        let api = Arc::new(ApiType::definitions());
        let metrics = Arc::new(Metrics::new());
        let store = Arc::new(Store::default());
        store.open(&api.kind);
        let status = Status {
            condition: Condition::Live,
            interruptions: 0,
            lists: 0,
            unreadable: BTreeMap::new(),
        };
        let mut sink = ObjectSink {
            api: Arc::clone(&api),
            store: Arc::clone(&store),
            status: Arc::new(Mutex::new(status)),
            gate: Arc::new(Mutex::new(true)),
            metrics,
        };
        let written = json!({"metadata": {"name": "a", "uid": "u", "resourceVersion": "7"}});
        let written = Object::decode(&api, &written.to_string()).unwrap();
        let mut head = Head {
            key: written.key(),
            uid: "u".to_owned(),
            version: 7,
        };
        store.observe_write(Arc::new(written), None);
        sink.on_event(FeedEvent::Seen(&head, "no JSON, which nobody notices"));
        assert!(sink.status.lock().unreadable.is_empty());
        head.version = 8;
        sink.on_event(FeedEvent::Seen(&head, "no JSON"));
        assert_eq!(sink.status.lock().unreadable.len(), 1);
    }
}
