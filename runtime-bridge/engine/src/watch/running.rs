use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use bridge_core::watch_plan::{Ending, GroupKind};
use futures::FutureExt;
use parking_lot::Mutex;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    feed::{Condition, Feed, Sink},
    object_sink::{Gate, ObjectSink, Status},
    state::WatchState,
};
use crate::{client::ApiClient, metrics::Metrics, object::ApiType, store::Store};

/// What panicked is tried again after this.
pub(super) const AFTER_A_PANIC: Duration = Duration::from_secs(1);

/// A watch that runs. Dropping it ends it, without I/O.
pub(super) struct RunningWatch {
    kind: GroupKind,
    store: Arc<Store>,
    status: Arc<Mutex<Status>>,
    gate: Gate,
    metrics: Arc<Metrics>,
    _stop: DropGuard,
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
            condition: Condition::Syncing("waiting for the initial list".to_owned()),
            interruptions: 0,
            lists: 0,
            unreadable: BTreeMap::new(),
        }));
        store.open_version(&kind, &api.version);
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
        self.status.lock().condition.clone().into()
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
