//! Kubernetes events: for people, each counted, and never in the way of anything.

mod recent;

use std::{collections::HashMap, sync::Arc, time::Duration};

use http::{Method, Request, header};
use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use tokio::{sync::mpsc, task::JoinHandle};

use self::recent::{EventDigest, Recent, Series};
use crate::{
    api_error::ApiError,
    client::ApiClient,
    clock::Clock,
    metrics::{EventLabels, Metrics},
    object::Object,
    random,
    store::EXTERNAL_NAME,
};

/// Events that wait to be sent; more are dropped and counted.
const WAITING: usize = 1_000;

/// Of those, so many may be about objects of one API group: a flood of one plugin leaves room for others.
const WAITING_OF_GROUP: usize = 500;

/// The API server takes no longer `message`.
const LONGEST_MESSAGE: usize = 1_024;

/// How serious an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventType {
    /// For information.
    Normal,
    /// Something is not as it should be.
    Warning,
}

impl EventType {
    fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Records events about objects. Never waits, never fails: what cannot be sent is dropped and counted.
pub struct EventRecorder {
    recent: Mutex<Recent>,
    sender: Mutex<Option<mpsc::Sender<Event>>>,
    worker: Mutex<Option<JoinHandle<()>>>,
    waiting: Arc<Mutex<HashMap<String, usize>>>,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
    instance: String,
}

impl EventRecorder {
    /// Starts the task that sends. `instance`: the name of this process.
    pub fn start(
        client: ApiClient,
        clock: Arc<dyn Clock>,
        metrics: Arc<Metrics>,
        instance: &str,
    ) -> Arc<Self> {
        let (sender, mut waiting) = mpsc::channel::<Event>(WAITING);
        let counted = Arc::clone(&metrics);
        let of_groups = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
        let left = Arc::clone(&of_groups);
        let worker = tokio::spawn(async move {
            while let Some(event) = waiting.recv().await {
                leave(&mut left.lock(), group_of(&event));
                let outcome = match send(&client, &event).await {
                    Ok(()) => "sent",
                    Err(error) => {
                        tracing::debug!(reason = event.reason, %error, "an event was not sent");
                        "failed"
                    }
                };
                counted.events.get_or_create(&EventLabels { outcome }).inc();
            }
        });
        Arc::new(Self {
            recent: Mutex::default(),
            sender: Mutex::new(Some(sender)),
            worker: Mutex::new(Some(worker)),
            waiting: of_groups,
            clock,
            metrics,
            instance: instance.to_owned(),
        })
    }

    /// Records that something happened to an object. The same again within ten minutes is counted by the same event.
    pub fn record(&self, object: &Object, event_type: EventType, reason: &str, message: &str) {
        let component = format!("managed/{}", object.api.kind.kind().to_lowercase());
        self.record_as(component, object, event_type, reason, message);
    }

    /// Likewise, of a controller that names itself otherwise.
    pub fn record_as(
        &self,
        component: impl Into<String>,
        object: &Object,
        event_type: EventType,
        reason: &str,
        message: &str,
    ) {
        let now = self.clock.now();
        let what = EventDigest::of(object.uid(), reason, message);
        let mut recent = self.recent.lock();
        let again = recent.again(what, now);
        if again.is_some() {
            self.count("repeated");
        }
        let series = again.unwrap_or_else(|| Series::new(random::suffix(), now));
        if !series.is_due(now) {
            recent.remember(what, series, false);
            return;
        }
        // One more of the same costs the object nothing: it is counted.
        if again.is_none() && !recent.has_room(object.uid(), now) {
            self.count("too_many_of_object");
            return;
        }
        let event = self.event(component.into(), object, event_type, reason, message, series);
        let sent = self.send_later(event);
        if !sent {
            self.count("overflowed");
        }
        // A first one that was dropped was not recorded.
        if sent || again.is_some() {
            recent.remember(what, series, sent);
        }
    }

    /// Whether there is room for it among those that wait.
    fn send_later(&self, event: Event) -> bool {
        let group = group_of(&event).to_owned();
        let mut waiting = self.waiting.lock();
        let of_group = waiting.entry(group.clone()).or_default();
        if *of_group >= WAITING_OF_GROUP {
            return false;
        }
        // Before it is sent, as it may be received at once.
        *of_group += 1;
        let sent = self
            .sender
            .lock()
            .as_ref()
            .is_some_and(|sender| sender.try_send(event).is_ok());
        if !sent {
            leave(&mut waiting, &group);
        }
        sent
    }

    /// Takes no more events, and waits until those that are waiting are sent, but not longer than `limit`.
    pub async fn close(&self, limit: Duration) {
        drop(self.sender.lock().take());
        let worker = self.worker.lock().take();
        if let Some(mut worker) = worker
            && tokio::time::timeout(limit, &mut worker).await.is_err()
        {
            worker.abort();
        }
    }

    fn event(
        &self,
        component: String,
        object: &Object,
        event_type: EventType,
        reason: &str,
        message: &str,
        series: Series,
    ) -> Event {
        let annotations = object
            .annotation(EXTERNAL_NAME)
            .map(|name| [("external-name".to_owned(), name.to_owned())].into());
        Event {
            metadata: ObjectMeta {
                name: Some(event_name(object.name(), series.unique)),
                // Where kubectl looks for those of cluster-scoped objects.
                namespace: Some(object.namespace().unwrap_or("default").to_owned()),
                annotations,
                ..ObjectMeta::default()
            },
            involved_object: ObjectReference {
                api_version: Some(object.api.api_version()),
                kind: Some(object.api.kind.kind().to_owned()),
                name: Some(object.name().to_owned()),
                namespace: object.namespace().map(ToOwned::to_owned),
                uid: Some(object.uid().to_owned()),
                resource_version: object.meta.resource_version.clone(),
                field_path: None,
            },
            reason: Some(reason.to_owned()),
            message: Some(shortened(message)),
            type_: Some(event_type.as_str().to_owned()),
            count: Some(series.count),
            first_timestamp: Some(Time(series.first)),
            last_timestamp: Some(Time(series.last)),
            source: Some(EventSource {
                component: Some(component.clone()),
                host: None,
            }),
            reporting_component: Some(component),
            reporting_instance: Some(self.instance.clone()),
            ..Event::default()
        }
    }

    fn count(&self, outcome: &'static str) {
        self.metrics.events.get_or_create(&EventLabels { outcome }).inc();
    }
}

/// The API group of the object that an event is about.
fn group_of(event: &Event) -> &str {
    let version = event.involved_object.api_version.as_deref().unwrap_or_default();
    version.split_once('/').map_or("", |(group, _)| group)
}

fn leave(waiting: &mut HashMap<String, usize>, group: &str) {
    if let Some(count) = waiting.get_mut(group) {
        *count -= 1;
        if *count == 0 {
            waiting.remove(group);
        }
    }
}

/// Creates it, or counts it once more; one that has expired meanwhile is created.
async fn send(client: &ApiClient, event: &Event) -> Result<(), ApiError> {
    let namespace = event.metadata.namespace.as_deref().unwrap_or("default");
    let events = format!("/api/v1/namespaces/{namespace}/events");
    if event.count.is_some_and(|count| count > 1) {
        let name = event.metadata.name.as_deref().unwrap_or_default();
        let counted = json!({"count": event.count, "lastTimestamp": event.last_timestamp});
        let request = request(
            Method::PATCH,
            format!("{events}/{name}"),
            "application/merge-patch+json",
            &counted,
        )?;
        match client.call_text("patch", "events", request).await {
            Err(ApiError::NotFound(_)) => {}
            patched => return patched.map(drop),
        }
    }
    let request = request(Method::POST, events, "application/json", event)?;
    client.call_text("create", "events", request).await.map(drop)
}

fn request(
    method: Method,
    uri: String,
    format: &'static str,
    body: &impl Serialize,
) -> Result<Request<Vec<u8>>, ApiError> {
    let unusable = |why: String| ApiError::Unusable(why);
    let body = serde_json::to_vec(body).map_err(|error| unusable(error.to_string()))?;
    Request::builder()
        .method(method)
        .uri(uri)
        .header(header::CONTENT_TYPE, format)
        .body(body)
        .map_err(|error| unusable(error.to_string()))
}

fn event_name(object: &str, unique: u64) -> String {
    const LONGEST: usize = 253 - ".".len() - 16;
    let object: String = object.chars().take(LONGEST).collect();
    // Names have labels between dots, each of which ends with a letter or digit.
    let object = object.trim_end_matches(['.', '-']);
    format!("{object}.{unique:016x}")
}

fn shortened(message: &str) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    let mut end = LONGEST_MESSAGE - '…'.len_utf8();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &message[..end])
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::Response;
    use kube::client::Body;

    use super::*;
    use crate::{client::DEADLINE, clock::SystemClock, object::ApiType};

    #[tokio::test(start_paused = true)]
    async fn a_dropped_event_may_be_recorded_again() {
        let silent = tower::service_fn(|_: Request<Body>| {
            std::future::pending::<Result<Response<Body>, Infallible>>()
        });
        let metrics = Arc::new(Metrics::new());
        let client = ApiClient::new(
            kube::Client::new(silent, "default"),
            Arc::clone(&metrics),
            DEADLINE,
        );
        let recorder = EventRecorder::start(client, Arc::new(SystemClock), Arc::clone(&metrics), "test");
        let counted = |outcome| metrics.events.get_or_create(&EventLabels { outcome }).get();
        let record = |number: usize| {
            let object = object(&ApiType::secrets(), &number.to_string());
            recorder.record(&object, EventType::Normal, "Reason", "message");
        };
        let mut recorded = 0;
        while counted("overflowed") == 0 {
            record(recorded);
            recorded += 1;
        }
        record(recorded - 1);
        assert_eq!((counted("overflowed"), counted("repeated")), (2, 0));
        record(0);
        assert_eq!(counted("repeated"), 1);
        // Another group's are dropped only when its own share is used up.
        let (before, other) = (counted("overflowed"), object(&ApiType::definitions(), "other"));
        recorder.record(&other, EventType::Normal, "Reason", "message");
        assert_eq!(counted("overflowed"), before);
    }

    fn object(api: &ApiType, name: &str) -> Object {
        let json = json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1"}});
        Object::decode(&Arc::new(api.clone()), &json.to_string()).unwrap()
    }

    #[test]
    fn the_name_of_an_event_is_a_name() {
        let object = format!("{}.b", "a".repeat(235));
        let name = event_name(&object, 1);
        assert_eq!(name, format!("{}.{:016x}", "a".repeat(235), 1));
    }
}
