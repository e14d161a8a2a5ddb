//! What a user's watch has shown of each object, and when.

use std::{
    collections::HashMap,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::StreamExt;
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject},
    core::{NotUsed, Object},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::{sync::Notify, task::JoinHandle};

/// Of an object no more is decoded than this: the user is no part of what is measured.
type Managed = Object<NotUsed, Status>;

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    r#type: String,
    status: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    observed_generation: i64,
}

/// Nothing is waited for longer.
const LIMIT: Duration = Duration::from_mins(15);

#[derive(Default)]
struct Seen {
    ready: HashMap<String, Instant>,
    /// When the status said first that it is being deleted.
    deleting: HashMap<String, Instant>,
    deleted: HashMap<String, Instant>,
    /// The generation that `Synced` speaks of.
    synced: HashMap<String, i64>,
}

/// A watch of one kind, for as long as it lives.
pub(crate) struct Board {
    pub(crate) api: Api<DynamicObject>,
    seen: Arc<Mutex<Seen>>,
    changed: Arc<Notify>,
    watch: JoinHandle<()>,
}

impl Board {
    /// Of the namespace `default`.
    pub(crate) fn watch(client: &Client, resource: &ApiResource) -> Self {
        let api = Api::namespaced_with(client.clone(), "default", resource);
        let watched: Api<Managed> = Api::namespaced_with(client.clone(), "default", resource);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let changed = Arc::new(Notify::new());
        let watch = tokio::spawn(follow(watched, Arc::clone(&seen), Arc::clone(&changed)));
        Self {
            api,
            seen,
            changed,
            watch,
        }
    }

    /// When each of them was seen `Ready` first.
    pub(crate) async fn until_ready(&self, names: &[String]) -> HashMap<String, Instant> {
        self.until("Ready", names, |seen, name| seen.ready.get(name).copied())
            .await
    }

    /// When each of them was seen first with a status that says that it is being deleted.
    pub(crate) async fn until_deleting(&self, names: &[String]) -> HashMap<String, Instant> {
        self.until("Deleting", names, |seen, name| seen.deleting.get(name).copied())
            .await
    }

    /// When each of them was seen deleted.
    pub(crate) async fn until_deleted(&self, names: &[String]) -> HashMap<String, Instant> {
        self.until("deleted", names, |seen, name| seen.deleted.get(name).copied())
            .await
    }

    /// Until each of them is `Synced` with this generation.
    pub(crate) async fn until_synced(&self, names: &[String], generation: i64) {
        let is = |seen: &Seen, name: &str| {
            let synced = seen.synced.get(name).copied().unwrap_or_default();
            (synced >= generation).then(Instant::now)
        };
        self.until("Synced", names, is).await;
    }

    async fn until(
        &self,
        what: &str,
        names: &[String],
        when: impl Fn(&Seen, &str) -> Option<Instant>,
    ) -> HashMap<String, Instant> {
        let mut times = HashMap::new();
        // From the end: what is checked again is what is still missing.
        let mut missing = names.to_vec();
        let begun = Instant::now();
        while let Some(name) = missing.last() {
            let changed = self.changed.notified();
            let found = when(&self.seen.lock(), name);
            if let Some(time) = found {
                times.insert(missing.pop().unwrap_or_default(), time);
                continue;
            }
            let left = LIMIT.saturating_sub(begun.elapsed());
            let waited = tokio::time::timeout(left, changed).await;
            assert!(waited.is_ok(), "{name} is not {what} after {LIMIT:?}");
        }
        times
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

async fn follow(api: Api<Managed>, seen: Arc<Mutex<Seen>>, changed: Arc<Notify>) {
    let mut events = pin!(watcher::watcher(api, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        let now = Instant::now();
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => note(&mut seen.lock(), &object, now),
            Ok(Event::Delete(object)) => {
                let name = object.metadata.name.unwrap_or_default();
                seen.lock().deleted.insert(name, now);
            }
            Ok(Event::Init | Event::InitDone) => {}
            Err(error) => eprintln!("the watch: {error}"),
        }
        changed.notify_waiters();
    }
}

fn note(seen: &mut Seen, object: &Managed, now: Instant) {
    let name = object.metadata.name.clone().unwrap_or_default();
    let conditions = || object.status.iter().flat_map(|status| &status.conditions);
    if conditions().any(|condition| condition.r#type == "Ready" && condition.reason == "Deleting") {
        seen.deleting.entry(name.clone()).or_insert(now);
    }
    let mut is_ready = false;
    let mut synced = None;
    for condition in conditions().filter(|condition| condition.status == "True") {
        match condition.r#type.as_str() {
            "Ready" => is_ready = true,
            "Synced" => synced = Some(condition.observed_generation),
            _ => {}
        }
    }
    let Some(generation) = synced else { return };
    seen.synced.insert(name.clone(), generation);
    if is_ready {
        seen.ready.entry(name).or_insert(now);
    }
}
