use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc};

use bridge_core::watch_plan::{Ending, GroupKind};
use futures::FutureExt;
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    AFTER_A_PANIC, WatchState,
    feed::{Condition, Feed, Sink},
    object_sink::ObjectSink,
};
use crate::{client::ApiClient, metrics::Metrics, object::ApiType, store::Store};

/// A watch that runs. Dropping it ends it, without I/O.
pub(super) struct RunningWatch {
    kind: GroupKind,
    store: Arc<Store>,
    status: Arc<Mutex<Status>>,
    gate: Gate,
    metrics: Arc<Metrics>,
    _stop: DropGuard,
}

/// True while a watch may bring news. Held while it does, so that nothing comes after the end.
pub(super) type Gate = Arc<Mutex<bool>>;

/// What a watch's sink notes down.
pub(super) struct Status {
    pub(super) condition: Condition,
    pub(super) interruptions: u64,
    pub(super) lists: u64,
    pub(super) unreadable: BTreeMap<String, String>,
}

impl RunningWatch {
    pub(super) fn start(
        client: &ApiClient,
        store: &Arc<Store>,
        metrics: &Arc<Metrics>,
        api: Arc<ApiType>,
        stop: CancellationToken,
    ) -> Self {
        let kind = api.kind.clone();
        let status = Arc::new(Mutex::new(Status {
            condition: Condition::Syncing("the first list is not complete".to_owned()),
            interruptions: 0,
            lists: 0,
            unreadable: BTreeMap::new(),
        }));
        store.open(&kind);
        metrics.show_watch_state(&kind, "syncing");
        let gate = Arc::new(Mutex::new(true));
        let sink = ObjectSink {
            api: Arc::clone(&api),
            store: Arc::clone(store),
            status: Arc::clone(&status),
            gate: Arc::clone(&gate),
            metrics: Arc::clone(metrics),
        };
        supervise(Feed::new(client.clone(), api), sink, stop.clone());
        let (store, metrics) = (Arc::clone(store), Arc::clone(metrics));
        Self {
            kind,
            store,
            status,
            gate,
            metrics,
            _stop: stop.drop_guard(),
        }
    }

    /// Ends it, and says what that means for its objects.
    pub(super) fn stop(self, ending: Ending) {
        *self.gate.lock() = false;
        match ending {
            Ending::Gone => self.store.close(&self.kind),
            Ending::Unwatched => self.store.forget(&self.kind),
        }
        self.metrics.show_watch_state(&self.kind, "gone");
    }

    pub(super) fn state(&self) -> WatchState {
        as_state(self.status.lock().condition.clone())
    }

    pub(super) fn interruptions(&self) -> u64 {
        self.status.lock().interruptions
    }

    pub(super) fn lists(&self) -> u64 {
        self.status.lock().lists
    }

    pub(super) fn unreadable(&self) -> BTreeMap<String, String> {
        self.status.lock().unreadable.clone()
    }
}

pub(super) fn as_state(condition: Condition) -> WatchState {
    match condition {
        Condition::Live => WatchState::Live,
        Condition::Syncing(why) => WatchState::Syncing(why),
        Condition::Forbidden(why) => WatchState::Forbidden(why),
    }
}

/// Runs a feed until `stop`. A panic, of the feed or of whoever hears its news, only makes it list anew.
pub(crate) fn supervise(mut feed: Feed, mut sink: impl Sink + 'static, stop: CancellationToken) {
    let run = async move {
        loop {
            if AssertUnwindSafe(feed.run(&mut sink))
                .catch_unwind()
                .await
                .is_err()
            {
                tracing::error!(?feed, "a watch panicked, it begins anew");
                sink.condition(Condition::Syncing("the watch panicked".to_owned()));
                feed.begin_anew();
                tokio::time::sleep(AFTER_A_PANIC).await;
            }
        }
    };
    tokio::spawn(stop.run_until_cancelled_owned(run));
}
