//! Secrets. A watch of their metadata tells versions; data is read when it is needed, and kept while it is used, up to a limit in bytes.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Weak},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bridge_core::{external::Secrets, reasons::ProblemReason};
use http::Request;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use parking_lot::Mutex;
use serde::Deserialize;

use crate::{
    api_error::ApiError,
    client::ApiClient,
    clock::Clock,
    object::{ApiType, Key, parse_version},
    single_flight::SingleFlight,
    store::{Listener, Store},
    watch::{Subscription, WatchState, Watches},
};

/// Without a live watch, data is read anew after this time.
const TTL: SignedDuration = SignedDuration::from_secs(10);

/// Data that nobody asked for in this time is let go.
const UNUSED: SignedDuration = SignedDuration::from_mins(15);

/// Between looking for such data.
const FORGET_EVERY: Duration = Duration::from_mins(5);

/// Data that is kept of all Secrets together, in bytes. What was asked for least lately is let go first, and read anew when it is asked for.
const MOST_KEPT: usize = 64 << 20;

/// The data of one Secret at one version. `Debug` prints keys only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretData {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub version: u64,
    /// Decoded values by key.
    pub data: Secrets,
    /// Uid of what controls it.
    pub controller: Option<String>,
}

/// Why a Secret could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There is none.
    #[error("the Secret {namespace}/{name} does not exist")]
    NotFound {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
    },
    /// The API server.
    #[error("cannot read the Secret {namespace}/{name}: {source}")]
    Api {
        /// Namespace.
        namespace: String,
        /// Name.
        name: String,
        /// Why.
        source: ApiError,
    },
}

impl SecretError {
    /// The reason of a condition.
    pub fn reason(&self) -> ProblemReason {
        match self {
            Self::NotFound { .. } => ProblemReason::SecretNotFound,
            Self::Api { .. } => ProblemReason::SecretNotRead,
        }
    }
}

/// Reads Secrets, each at most once per version.
pub struct SecretReader {
    client: ApiClient,
    store: Arc<Store>,
    watches: Arc<Watches>,
    clock: Arc<dyn Clock>,
    api: Arc<ApiType>,
    slots: Arc<Mutex<Slots>>,
    _subscription: Subscription,
}

/// One reader at a time per Secret; the others then find what it read, or why it could not.
type Slot = Arc<SingleFlight<Option<Cached>, SecretError>>;

#[derive(Default)]
struct Slots {
    by_key: HashMap<Key, Used>,
    /// Bytes of all together.
    kept: usize,
}

struct Used {
    slot: Slot,
    at: Timestamp,
    bytes: usize,
}

impl Slots {
    fn remove(&mut self, keys: &[Key]) {
        for key in keys {
            if let Some(used) = self.by_key.remove(key) {
                self.kept = self.kept.saturating_sub(used.bytes);
            }
        }
    }

    fn remove_unused(&mut self, now: Timestamp) {
        let unused = self.by_key.iter();
        let unused = unused.filter(|(_, used)| now.duration_since(used.at) >= UNUSED);
        let unused: Vec<Key> = unused.map(|(key, _)| key.clone()).collect();
        self.remove(&unused);
    }

    /// Who reads a Secret that is let go here goes on with what it has.
    fn keep(&mut self, key: &Key, bytes: usize) {
        let Some(used) = self.by_key.get_mut(key) else {
            return;
        };
        self.kept = self.kept.saturating_sub(used.bytes) + bytes;
        used.bytes = bytes;
        while self.kept > MOST_KEPT {
            let others = self
                .by_key
                .iter()
                .filter(|(of, used)| *of != key && used.bytes > 0);
            let Some((oldest, _)) = others.min_by_key(|(_, used)| used.at) else {
                return;
            };
            let oldest = oldest.clone();
            self.remove(&[oldest]);
        }
    }
}

struct Cached {
    data: Arc<SecretData>,
    read: Timestamp,
}

/// As long as there is a reader.
async fn forget_in_time(slots: Weak<Mutex<Slots>>, clock: Arc<dyn Clock>) {
    loop {
        tokio::time::sleep(FORGET_EVERY).await;
        let Some(slots) = slots.upgrade() else { return };
        slots.lock().remove_unused(clock.now());
    }
}

impl SecretReader {
    /// Begins to watch the metadata of all Secrets.
    pub fn start(client: ApiClient, store: Arc<Store>, watches: Arc<Watches>, clock: Arc<dyn Clock>) -> Self {
        let api = Arc::new(ApiType::secrets());
        let reason = "credentials, sensitive values and connection details";
        let slots = Arc::new(Mutex::new(Slots::default()));
        let known = Arc::clone(&slots);
        let listener: Arc<Listener> = Arc::new(move |change| {
            if change.new.is_none() {
                known.lock().remove(std::slice::from_ref(&change.key));
            }
        });
        let subscription = watches.subscribe(&api, reason, &listener);
        tokio::spawn(forget_in_time(Arc::downgrade(&slots), Arc::clone(&clock)));
        Self {
            client,
            store,
            watches,
            clock,
            api,
            slots,
            _subscription: subscription,
        }
    }

    /// The data of a Secret, at least as new as what its watch has shown. Without permission to watch, it may be
    /// ten seconds old, and changes are noticed only when it is read again.
    pub async fn read(&self, namespace: &str, name: &str) -> Result<Arc<SecretData>, SecretError> {
        let key = Key::secret(namespace, name);
        let slot = self.slot(&key);
        let mut turn = slot.queue().await;
        if let Some(cached) = turn.shared()
            && self.is_fresh(&key, cached)
        {
            return Ok(Arc::clone(&cached.data));
        }
        if let Some(error) = turn.failed_meanwhile() {
            return Err(error.clone());
        }
        *turn.shared() = None;
        turn.begin();
        let read = self.clock.now();
        match self.read_live(&key).await {
            Ok(data) => {
                let data = Arc::new(data);
                let bytes = data.data.0.iter().map(|(name, value)| name.len() + value.len());
                self.slots.lock().keep(&key, bytes.sum());
                *turn.shared() = Some(Cached {
                    data: Arc::clone(&data),
                    read,
                });
                Ok(data)
            }
            Err(source) => {
                let (namespace, name) = (namespace.to_owned(), name.to_owned());
                let error = match source {
                    ApiError::NotFound(_) => SecretError::NotFound { namespace, name },
                    source => SecretError::Api {
                        namespace,
                        name,
                        source,
                    },
                };
                turn.fail(error.clone());
                Err(error)
            }
        }
    }

    /// The newest version that the watch has shown; `None` if there is no such Secret, or the watch is not live.
    pub fn version(&self, key: &Key) -> Option<u64> {
        (self.state() == WatchState::Live)
            .then(|| self.store.get(key))
            .flatten()
            .map(|secret| secret.resource_version())
    }

    /// How the watch fares.
    pub fn state(&self) -> WatchState {
        self.watches.state(&self.api.kind)
    }

    fn is_fresh(&self, key: &Key, cached: &Cached) -> bool {
        if self.state() == WatchState::Live {
            return self
                .store
                .get(key)
                .is_some_and(|s| s.uid() == cached.data.uid && s.resource_version() <= cached.data.version);
        }
        self.clock.now().duration_since(cached.read) < TTL
    }

    fn slot(&self, key: &Key) -> Slot {
        let now = self.clock.now();
        let mut slots = self.slots.lock();
        let used = slots.by_key.entry(key.clone()).or_insert_with(|| Used {
            slot: Slot::default(),
            at: now,
            bytes: 0,
        });
        used.at = now;
        Arc::clone(&used.slot)
    }

    async fn read_live(&self, key: &Key) -> Result<SecretData, ApiError> {
        let request = Request::get(self.api.object_path(key)?)
            .body(Vec::new())
            .map_err(|e| ApiError::Unusable(e.to_string()))?;
        let wire: Wire = self.client.call("get", &self.api.plural, request).await?;
        let mut data = BTreeMap::new();
        for (name, value) in wire.data {
            // Not the value itself in the error.
            let value = STANDARD
                .decode(value)
                .map_err(|_| ApiError::Unusable(format!("the value of key {name:?} is not base64")))?;
            data.insert(name, value);
        }
        Ok(SecretData {
            uid: wire.metadata.uid,
            version: parse_version(Some(&wire.metadata.resource_version)).unwrap_or_default(),
            data: Secrets(data),
            controller: (wire.metadata.owner_references.into_iter())
                .find(|owner| owner.controller == Some(true))
                .map(|owner| owner.uid),
        })
    }
}

#[derive(Deserialize)]
struct Wire {
    metadata: WireMeta,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireMeta {
    uid: String,
    resource_version: String,
    #[serde(default)]
    owner_references: Vec<OwnerReference>,
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use futures::{StreamExt, stream};
    use http::{Request, Response, StatusCode};
    use http_body_util::StreamBody;
    use kube::client::Body;
    use serde_json::{Value, json};
    use tokio::sync::mpsc;

    use super::*;
    use crate::{client::DEADLINE, clock::SystemClock, metrics::Metrics};

    /// Virtual time, which passes by itself while everything waits.
    struct Virtual(tokio::time::Instant);

    impl Clock for Virtual {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH + self.0.elapsed()
        }
    }

    const KEYS: &str = "/api/v1/namespaces/ns/secrets/keys";

    fn metadata() -> Value {
        json!({"name": "keys", "namespace": "ns", "uid": "u", "resourceVersion": "2"})
    }

    /// A reader of an API server that has one Secret, and whose watch says what it is given.
    fn reader_of(lines: mpsc::UnboundedReceiver<Value>) -> SecretReader {
        let lines = Arc::new(Mutex::new(Some(lines)));
        let service = tower::service_fn(move |request: Request<Body>| {
            let lines = Arc::clone(&lines);
            async move {
                let frame =
                    |line: Value| Ok::<_, Infallible>(http_body::Frame::data(format!("{line}\n").into()));
                if request.uri().path() == KEYS {
                    let secret = json!({"metadata": metadata(), "data": {"token": "Y2FuYXJ5"}});
                    let all = stream::once(async move { frame(secret) });
                    return Ok::<_, Infallible>(Response::new(StreamBody::new(all.boxed())));
                }
                let is_watch = request.uri().path().ends_with("/secrets");
                let lines = if is_watch { lines.lock().take() } else { None };
                let Some(lines) = lines else {
                    return std::future::pending().await;
                };
                let lines = stream::unfold(
                    lines,
                    move |mut lines: mpsc::UnboundedReceiver<Value>| async move {
                        let line = lines.recv().await?;
                        Some((frame(line), lines))
                    },
                );
                Ok(Response::new(StreamBody::new(lines.boxed())))
            }
        });
        let metrics = Arc::new(Metrics::new());
        let kube = kube::Client::new(service, "default");
        let client = ApiClient::new(kube, Arc::clone(&metrics), DEADLINE);
        let (store, clock) = (
            Arc::new(Store::default()),
            Arc::new(Virtual(tokio::time::Instant::now())),
        );
        let watches = Watches::start(
            client.clone(),
            Arc::clone(&store),
            Arc::clone(&clock) as _,
            metrics,
        );
        SecretReader::start(client, store, Arc::new(watches), clock)
    }

    #[tokio::test(start_paused = true)]
    async fn the_data_of_a_deleted_secret_is_forgotten() {
        let (send, lines) = mpsc::unbounded_channel();
        let reader = reader_of(lines);
        let end = json!({"resourceVersion": "2", "annotations": {"k8s.io/initial-events-end": "true"}});
        send.send(json!({"type": "ADDED", "object": {"metadata": metadata()}}))
            .unwrap();
        send.send(json!({"type": "BOOKMARK", "object": {"metadata": end}}))
            .unwrap();
        let kept = Arc::downgrade(&reader.read("ns", "keys").await.unwrap());
        assert!(kept.upgrade().is_some());
        let mut gone = metadata();
        gone["resourceVersion"] = json!("3");
        send.send(json!({"type": "DELETED", "object": {"metadata": gone}}))
            .unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(kept.upgrade().is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn data_that_nobody_asks_for_is_forgotten_as_time_passes() {
        let (_send, lines) = mpsc::unbounded_channel();
        let reader = reader_of(lines);
        let kept = Arc::downgrade(&reader.read("ns", "keys").await.unwrap());
        tokio::time::sleep(Duration::from_mins(14)).await;
        assert!(kept.upgrade().is_some(), "it may be asked for again");
        tokio::time::sleep(Duration::from_mins(7)).await;
        assert!(kept.upgrade().is_none());
        assert_eq!(reader.slots.lock().kept, 0);
    }

    #[test]
    fn the_data_that_is_kept_is_bounded() {
        let mut slots = Slots::default();
        let key = |n: i64| Key::secret("ns", &n.to_string());
        for n in 0..100 {
            let at = Timestamp::from_second(n).unwrap();
            slots.by_key.insert(
                key(n),
                Used {
                    slot: Slot::default(),
                    at,
                    bytes: 0,
                },
            );
            slots.keep(&key(n), 1 << 20);
        }
        assert_eq!((slots.by_key.len(), slots.kept), (64, MOST_KEPT));
        assert!(slots.by_key.contains_key(&key(36)) && !slots.by_key.contains_key(&key(35)));
        slots.keep(&key(99), MOST_KEPT + 1);
        assert_eq!(slots.by_key.len(), 1, "the one that is used now stays");
    }

    #[tokio::test(start_paused = true)]
    async fn many_who_read_a_secret_that_cannot_be_read_do_not_wait_for_each_other() {
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        let slow = tower::service_fn(move |request: Request<Body>| {
            let counted = Arc::clone(&counted);
            async move {
                if request.uri().query().is_some() {
                    // The watch.
                    return std::future::pending().await;
                }
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(DEADLINE / 2).await;
                let mut response = Response::new(Body::empty());
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                Ok::<_, Infallible>(response)
            }
        });
        let metrics = Arc::new(Metrics::new());
        let client = ApiClient::new(kube::Client::new(slow, "default"), Arc::clone(&metrics), DEADLINE);
        let (store, clock) = (Arc::new(Store::default()), Arc::new(SystemClock));
        let watches = Watches::start(
            client.clone(),
            Arc::clone(&store),
            Arc::clone(&clock) as _,
            metrics,
        );
        let reader = SecretReader::start(client, store, Arc::new(watches), clock);
        let begun = tokio::time::Instant::now();
        let all = futures::future::join_all((0..100).map(|_| reader.read("ns", "keys"))).await;
        assert!(
            all.iter()
                .all(|read| matches!(read, Err(SecretError::Api { .. }))),
            "{all:?}"
        );
        assert_eq!(reads.load(Ordering::SeqCst), 2);
        assert!(
            begun.elapsed() < DEADLINE + Duration::from_secs(1),
            "{:?}",
            begun.elapsed()
        );
    }
}
