use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use http::{Request, Response, StatusCode};
use http_body_util::StreamBody;
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::*;
use crate::client::DEADLINE;

/// Panics once.
#[derive(Default)]
struct Startling(AtomicBool);

impl Clock for Startling {
    fn now(&self) -> Timestamp {
        assert!(self.0.swap(true, Ordering::SeqCst), "as the test wants");
        Timestamp::UNIX_EPOCH
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_costs_one_plan_and_not_all_that_follow() {
    let silent =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let metrics = Arc::new(Metrics::new());
    let client = ApiClient::new(
        kube::Client::new(silent, "default"),
        Arc::clone(&metrics),
        DEADLINE,
    );
    let clock = Arc::new(Startling::default());
    let watches = Watches::start(client, Arc::default(), clock, metrics);
    let secrets = Arc::new(ApiType::secrets());
    let nobody: Arc<Listener> = Arc::new(|_| {});
    let _wanted = watches.subscribe(&secrets, "the test wants it", &nobody);
    tokio::time::sleep(AFTER_A_PANIC * 2).await;
    assert!(matches!(watches.state(&secrets.kind), WatchState::Syncing(_)));
    assert!(watches.is_alive());
}

/// Virtual time, which passes by itself while everything waits.
struct Virtual(tokio::time::Instant);

impl Clock for Virtual {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.0.elapsed()
    }
}

/// Watches of an API server that holds each stream of Secrets open and sends what it is given; how many streams were opened.
fn secrets_of(lines: mpsc::UnboundedReceiver<Value>) -> (Watches, Arc<AtomicUsize>) {
    let opened = Arc::new(AtomicUsize::new(0));
    let (count, lines) = (Arc::clone(&opened), Arc::new(Mutex::new(Some(lines))));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (count, lines) = (Arc::clone(&count), Arc::clone(&lines));
        async move {
            if !request.uri().path().ends_with("/secrets") {
                return std::future::pending().await;
            }
            count.fetch_add(1, Ordering::SeqCst);
            let Some(lines) = lines.lock().take() else {
                return std::future::pending().await;
            };
            let lines = stream::unfold(lines, async |mut lines| {
                let line = lines.recv().await?;
                let frame = http_body::Frame::data(format!("{line}\n").into());
                Some((Ok::<_, Infallible>(frame), lines))
            });
            Ok::<_, Infallible>(Response::new(StreamBody::new(lines.boxed())))
        }
    });
    let metrics = Arc::new(Metrics::new());
    let kube = kube::Client::new(service, "default");
    let client = ApiClient::new(kube, Arc::clone(&metrics), DEADLINE);
    let clock = Arc::new(Virtual(tokio::time::Instant::now()));
    (Watches::start(client, Arc::default(), clock, metrics), opened)
}

#[tokio::test(start_paused = true)]
async fn who_subscribes_within_the_grace_keeps_the_watch_and_its_news() {
    let (send, lines) = mpsc::unbounded_channel();
    let (watches, opened) = secrets_of(lines);
    let meta = |name: &str, version: &str| json!({"name": name, "namespace": "n", "uid": name, "resourceVersion": version});
    let mut end = meta("", "1");
    end["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    send.send(json!({"type": "BOOKMARK", "object": {"metadata": end}}))
        .unwrap();
    let secrets = Arc::new(ApiType::secrets());
    let nobody: Arc<Listener> = Arc::new(|_| {});
    let first = watches.subscribe(&secrets, "first", &nobody);
    let seconds = |seconds| tokio::time::sleep(Duration::from_secs(seconds));
    seconds(1).await;
    assert_eq!(watches.state(&secrets.kind), WatchState::Live);

    drop(first);
    seconds(20).await;
    let heard = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heard);
    let listener: Arc<Listener> = Arc::new(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let second = watches.subscribe(&secrets, "second", &listener);
    // The grace of the first is over then; and the stream is not silent for so long that it is taken for dead.
    seconds(45).await;
    assert_eq!(watches.state(&secrets.kind), WatchState::Live);
    send.send(json!({"type": "ADDED", "object": {"metadata": meta("a", "2")}}))
        .unwrap();
    seconds(1).await;
    assert_eq!(heard.load(Ordering::SeqCst), 1);
    assert_eq!(opened.load(Ordering::SeqCst), 1, "it is the same watch");

    let series = || watches.shared.metrics.encode().matches("kind=\"Secret\"").count();
    assert!(series() > 0);
    drop(second);
    seconds(61).await;
    assert!(matches!(watches.state(&secrets.kind), WatchState::Gone(_)));
    assert_eq!(series(), 0, "nothing is shown of what nobody needs");
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_wanted_in_another_version_is_watched_in_that() {
    let opened = Arc::new(Mutex::new(Vec::new()));
    let paths = Arc::clone(&opened);
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        let mut lines = Vec::new();
        if path.ends_with("/customresourcedefinitions") {
            let versions = ["v1", "v2"].map(|name| json!({"name": name, "served": true}));
            lines.push(json!({"type": "ADDED", "object": {
                "metadata": {"name": "things.example.org", "uid": "crd", "resourceVersion": "1"},
                "spec": {"group": "example.org", "names": {"kind": "Thing"}, "versions": versions},
                "status": {"conditions": [{"type": "Established", "status": "True"}]},
            }}));
        } else {
            paths.lock().push(path);
        }
        let end = json!({"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}});
        lines.push(json!({"type": "BOOKMARK", "object": {"metadata": end}}));
        let frames = lines
            .into_iter()
            .map(|line| Ok::<_, Infallible>(http_body::Frame::data(format!("{line}\n").into())));
        let body = StreamBody::new(stream::iter(frames).chain(stream::pending()).boxed());
        async move { Ok::<_, Infallible>(Response::new(body)) }
    });
    let metrics = Arc::new(Metrics::new());
    let client = ApiClient::new(
        kube::Client::new(service, "default"),
        Arc::clone(&metrics),
        DEADLINE,
    );
    let clock = Arc::new(Virtual(tokio::time::Instant::now()));
    let watches = Watches::start(client, Arc::default(), clock, metrics);
    let thing = |version: &str| {
        let resource_type = bridge_core::kind::ResourceType {
            group: "example.org".to_owned(),
            version: version.to_owned(),
            kind: "Thing".to_owned(),
        };
        Arc::new(ApiType::new(&resource_type, "things", false))
    };
    let nobody: Arc<Listener> = Arc::new(|_| {});
    let first = watches.subscribe(&thing("v1"), "first", &nobody);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let _second = watches.subscribe(&thing("v2"), "second", &nobody);
    drop(first);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(watches.state(&thing("v2").kind), WatchState::Live);
    let v = |version: &str| format!("/apis/example.org/{version}/things");
    assert_eq!(*opened.lock(), [v("v1"), v("v2")]);
}

/// Watches of an API server that serves `ConfigMap`, and sends what it is given to the first who watches definitions; whoever asks for them again is
/// answered so, or not at all.
fn definitions_of(lines: mpsc::UnboundedReceiver<Value>, again: Option<StatusCode>) -> Watches {
    let lines = Arc::new(Mutex::new(Some(lines)));
    let config_maps = json!({
        "resource": "configmaps", "responseKind": {"kind": "ConfigMap"}, "scope": "Namespaced",
        "verbs": ["get", "list", "watch"],
    });
    let core = json!([{"versions": [{"version": "v1", "freshness": "Current", "resources": [config_maps]}]}]);
    let documents = [("/api", core), ("/apis", json!([]))]
        .map(|(path, items)| (path, json!({"kind": "APIGroupDiscoveryList", "items": items})));
    let service = tower::service_fn(move |request: Request<Body>| {
        let path = request.uri().path().to_owned();
        let document = documents.iter().find(|(of, _)| *of == path);
        let document = document.map(|(_, document)| document.clone());
        let is_of_definitions = path.ends_with("/customresourcedefinitions");
        let lines = is_of_definitions.then(|| lines.lock().take()).flatten();
        async move {
            let mut status = StatusCode::OK;
            let body: BoxStream<'static, Value> = if let Some(document) = document {
                stream::iter([document]).boxed()
            } else if let Some(lines) = lines {
                stream::unfold(lines, async |mut lines| {
                    let line = lines.recv().await?;
                    Some((line, lines))
                })
                .boxed()
            } else if !is_of_definitions {
                let core = json!({"type": "ADDED", "object": {
                    "metadata": {"name": "v1.", "uid": "v1.", "resourceVersion": "1"},
                    "spec": {"group": "", "version": "v1"},
                }});
                stream::iter([core, end_of_list()])
                    .chain(stream::pending())
                    .boxed()
            } else if let Some(again) = again {
                status = again;
                stream::empty().boxed()
            } else {
                return std::future::pending().await;
            };
            let frames = body.map(|line: Value| {
                let line = hyper::body::Bytes::from(format!("{line}\n"));
                Ok::<_, Infallible>(http_body::Frame::data(line))
            });
            let mut response = Response::new(StreamBody::new(frames));
            *response.status_mut() = status;
            Ok::<_, Infallible>(response)
        }
    });
    let metrics = Arc::new(Metrics::new());
    let kube = kube::Client::new(service, "default");
    let client = ApiClient::new(kube, Arc::clone(&metrics), DEADLINE);
    let clock = Arc::new(Virtual(tokio::time::Instant::now()));
    Watches::start(client, Arc::default(), clock, metrics)
}

fn end_of_list() -> Value {
    let end = json!({"resourceVersion": "1", "annotations": {"k8s.io/initial-events-end": "true"}});
    json!({"type": "BOOKMARK", "object": {"metadata": end}})
}

#[tokio::test(start_paused = true)]
async fn an_undefined_kind_is_unknown_while_definitions_are_unwatched() {
    for again in [None, Some(StatusCode::FORBIDDEN)] {
        let (send, lines) = mpsc::unbounded_channel();
        let watches = definitions_of(lines, again);
        let thing = json!({"type": "ADDED", "object": {
            "metadata": {"name": "things.example.org", "uid": "crd", "resourceVersion": "1"},
            "spec": {
                "group": "example.org", "names": {"kind": "Thing"},
                "versions": [{"name": "v1", "served": true}],
            },
            "status": {"conditions": [{"type": "Established", "status": "True"}]},
        }});
        for line in [thing, end_of_list()] {
            send.send(line).unwrap();
        }
        watches.need_discovery();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(watches.definitions_state(), WatchState::Live);
        let undefined = || watches.resolve("example.org/v1", "Newer").unwrap_err();
        assert!(matches!(undefined(), Unresolved::NotServed(_)), "{}", undefined());

        let expired = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"});
        send.send(json!({"type": "ERROR", "object": expired})).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let why = match (again, watches.definitions_state()) {
            (None, WatchState::Syncing(why)) | (Some(_), WatchState::Forbidden(why)) => why,
            (_, state) => panic!("{state:?}"),
        };
        let why = format!("the definitions are not watched: {why}");
        assert_eq!(undefined(), Unresolved::Unknown(why));
        assert!(watches.resolve("example.org/v1", "Thing").is_ok());
        assert!(watches.resolve("v1", "ConfigMap").is_ok());
    }
}
