//! Kubernetes events: for people, each counted, and never in the way of anything.

mod quotas;
mod recent;

use std::{sync::Arc, time::Duration};

use bridge_core::watch_plan::GroupKind;
use futures::{StreamExt, stream};
use http::{Method, Request, header};
use k8s_openapi::{
    api::core::v1::{Event, EventSource, ObjectReference},
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time},
};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;
use tokio::{sync::mpsc, task::JoinHandle};

use self::{
    quotas::{Owner, Quotas},
    recent::{EventDigest, Recent, Series},
};
use crate::{
    api_error::ApiError,
    client::ApiClient,
    clock::Clock,
    metrics::{EventLabels, Metrics},
    object::Object,
    random,
    store::EXTERNAL_NAME,
};

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
    sender: Mutex<Option<mpsc::UnboundedSender<(Owner, Event)>>>,
    worker: Mutex<Option<JoinHandle<()>>>,
    quotas: Arc<Mutex<Quotas>>,
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
        // Bounded by the quotas.
        let (sender, mut waiting) = mpsc::unbounded_channel::<(Owner, Event)>();
        let counted = Arc::clone(&metrics);
        let quotas = Arc::new(Mutex::new(Quotas::default()));
        let left = Arc::clone(&quotas);
        let worker = tokio::spawn(async move {
            let waiting = stream::poll_fn(|context| waiting.poll_recv(context));
            let (client, counted, left) = (&client, &counted, &left);
            let send_one = |(owner, event): (Owner, Event)| async move {
                left.lock().leave(owner.as_ref());
                let outcome = match send(client, &event).await {
                    Ok(()) => "sent",
                    Err(error) => {
                        tracing::debug!(reason = event.reason, %error, "an event was not sent");
                        "failed"
                    }
                };
                counted.events.get_or_create(&EventLabels { outcome }).inc();
            };
            // One after the other: an event is created before it is counted, and counted upwards.
            waiting.for_each(send_one).await;
        });
        Arc::new(Self {
            recent: Mutex::default(),
            sender: Mutex::new(Some(sender)),
            worker: Mutex::new(Some(worker)),
            quotas,
            clock,
            metrics,
            instance: instance.to_owned(),
        })
    }

    /// Whose the objects of a kind are from now on: the events about those of one plugin share its quota.
    pub(crate) fn set_owner(&self, kind: &GroupKind, owner: Option<Arc<str>>) {
        self.quotas.lock().set_owner(kind, owner);
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
        let admitted = self.quotas.lock().admit(&object.api.kind, now);
        let sent = match admitted {
            Ok(owner) => {
                let event = self.event(component.into(), object, event_type, reason, message, series);
                self.send_later(owner, event)
            }
            Err(outcome) => {
                self.count(outcome);
                false
            }
        };
        // A first one that was dropped was not recorded.
        if sent || again.is_some() {
            recent.remember(what, series, sent);
        }
    }

    /// In its place among those that wait; `false`: none are taken any more.
    fn send_later(&self, owner: Owner, event: Event) -> bool {
        let sender = self.sender.lock();
        sender
            .as_ref()
            .is_some_and(|sender| sender.send((owner, event)).is_ok())
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

/// Creates it, or counts it once more; one that has expired meanwhile is created. Its creation may be on its way yet: then it is counted after that.
async fn send(client: &ApiClient, event: &Event) -> Result<(), ApiError> {
    let is_counted = event.count.is_some_and(|count| count > 1);
    if is_counted && count_again(client, event).await? {
        return Ok(());
    }
    let namespace = event.metadata.namespace.as_deref().unwrap_or("default");
    let events = format!("/api/v1/namespaces/{namespace}/events");
    let request = request(Method::POST, events, "application/json", event)?;
    match client.call_text("create", "events", request).await {
        Err(ApiError::AlreadyExists(_)) if is_counted => count_again(client, event).await.map(drop),
        // A later count of it has created it.
        Err(ApiError::AlreadyExists(_)) => Ok(()),
        created => created.map(drop),
    }
}

/// `false`: there is none.
async fn count_again(client: &ApiClient, event: &Event) -> Result<bool, ApiError> {
    let namespace = event.metadata.namespace.as_deref().unwrap_or("default");
    let name = event.metadata.name.as_deref().unwrap_or_default();
    let counted = json!({"count": event.count, "lastTimestamp": event.last_timestamp});
    let request = request(
        Method::PATCH,
        format!("/api/v1/namespaces/{namespace}/events/{name}"),
        "application/merge-patch+json",
        &counted,
    )?;
    match client.call_text("patch", "events", request).await {
        Ok(_) => Ok(true),
        Err(ApiError::NotFound(_)) => Ok(false),
        Err(error) => Err(error),
    }
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
        // Another owner's are dropped only when its own share is used up.
        let (before, other) = (counted("overflowed"), object(&ApiType::definitions(), "other"));
        recorder.set_owner(&other.api.kind, Some("good".into()));
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
