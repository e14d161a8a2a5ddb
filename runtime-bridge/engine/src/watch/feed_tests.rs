#![allow(clippy::needless_raw_string_hashes, reason = "as expect-test writes them")]

use std::{
    collections::VecDeque,
    convert::Infallible,
    sync::{Arc, Mutex},
};

use bridge_core::watch_plan::GroupKind;
use expect_test::{Expect, expect};
use http::{Request, Response, StatusCode};
use kube::client::Body;
use serde_json::{Value, json};

use super::*;
use crate::{client::DEADLINE, metrics::Metrics};

/// Notes down what it hears, one line each.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl Sink for Notes {
    fn on_event(&mut self, on_event: FeedEvent<'_>) {
        self.add(match on_event {
            FeedEvent::ListBegins => "list begins".to_owned(),
            FeedEvent::Seen(head, _) => format!("seen {} {} {}", head.key.name(), head.uid, head.version),
            FeedEvent::Deleted(head) => format!("deleted {} {}", head.key.name(), head.uid),
            FeedEvent::ListEnds(version) => format!("list ends {version}"),
        });
    }

    fn condition(&mut self, condition: Condition) {
        self.add(format!("{condition:?}"));
    }
}

/// Answers one request after the other as the script says; then it hangs.
async fn play(script: Vec<(StatusCode, String)>) -> String {
    let notes = Notes::default();
    let script = Mutex::new(VecDeque::from(script));
    let asked = notes.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default();
        let kept: Vec<&str> = query
            .split('&')
            .filter(|part| !part.contains("ookmark") && !part.contains("timeout"))
            .collect();
        asked.add(format!("> {} {}", request.method(), kept.join(" ")));
        let answer = script.lock().unwrap().pop_front();
        async move {
            let Some((code, body)) = answer else {
                return std::future::pending().await;
            };
            let mut response = Response::new(Body::from(body.into_bytes()));
            *response.status_mut() = code;
            Ok::<_, Infallible>(response)
        }
    });
    let client = ApiClient::new(
        kube::Client::new(service, "default"),
        Arc::new(Metrics::new()),
        DEADLINE,
    );
    let api = ApiType {
        kind: GroupKind::new("example", "Bucket"),
        version: "v1".into(),
        plural: "buckets".into(),
        namespaced: true,
    };
    let mut feed = Feed::new(client, Arc::new(api));
    // Virtual time: it passes by itself while everything waits, and the script ends long before.
    let mut sink = notes.clone();
    let end = timeout(Duration::from_secs(9), feed.run(&mut sink)).await;
    assert!(end.is_err(), "a feed never ends by itself");
    let notes = notes.0.lock().unwrap();
    notes.join("\n") + "\n"
}

fn object(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "namespace": "ns", "uid": format!("u-{name}"), "resourceVersion": version.to_string()}})
}

fn event(event: &str, object: &Value) -> String {
    format!("{}\n", json!({"type": event, "object": object}))
}

fn bookmark(version: u64, end_of_list: bool) -> String {
    let mut object = json!({"metadata": {"resourceVersion": version.to_string()}});
    if end_of_list {
        object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    event("BOOKMARK", &object)
}

fn ok(lines: &[String]) -> (StatusCode, String) {
    (StatusCode::OK, lines.concat())
}

fn listed(version: u64) -> (StatusCode, String) {
    ok(&[event("ADDED", &object("a", 5)), bookmark(version, true)])
}

async fn check(script: Vec<(StatusCode, String)>, expected: Expect) {
    expected.assert_eq(&play(script).await);
}

#[tokio::test(start_paused = true)]
async fn it_lists_and_watches_in_one_request_and_goes_on_where_it_stood() {
    let first = ok(&[
        event("ADDED", &object("a", 7)),
        // One without the annotation ends no list.
        bookmark(8, false),
        event("ADDED", &object("b", 3)),
        bookmark(10, true),
        event("MODIFIED", &object("a", 12)),
        event("DELETED", &object("b", 13)),
        bookmark(20, false),
    ]);
    check(
        vec![first, ok(&[event("ADDED", &object("c", 21))])],
        expect![[r#"
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        list begins
        seen a u-a 7
        seen b u-b 3
        list ends 10
        Live
        seen a u-a 12
        deleted b u-b
        > GET watch=true resourceVersion=20
        Live
        seen c u-c 21
        > GET watch=true resourceVersion=21
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_resource_version_triggers_a_relist() {
    let gone = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"});
    let in_stream = ok(&[event("ERROR", &gone)]);
    let at_once = (StatusCode::GONE, gone.to_string());
    check(
        vec![listed(10), in_stream, listed(30), at_once, listed(40)],
        expect![[r#"
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        list begins
        seen a u-a 5
        list ends 10
        Live
        > GET watch=true resourceVersion=10
        Live
        Syncing("the requested version is too old: too old")
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        list begins
        seen a u-a 5
        list ends 30
        Live
        > GET watch=true resourceVersion=30
        Syncing("the requested version is too old: too old")
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        list begins
        seen a u-a 5
        list ends 40
        Live
        > GET watch=true resourceVersion=40
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_makes_no_sense_does_not_end_it() {
    let odd = json!({"metadata": {"name": "odd", "uid": "u", "resourceVersion": "11", "labels": 7}});
    let nameless = json!({"metadata": {"resourceVersion": "12"}});
    let lines = [
        bookmark(10, true),
        event("ADDED", &odd),
        event("ADDED", &nameless),
        event("ADDED", &object("a", 13)),
    ];
    check(
        vec![ok(&lines)],
        expect![[r#"
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        list begins
        list ends 10
        Live
        seen odd u 11
        seen a u-a 13
        > GET watch=true resourceVersion=13
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_breaks_off_is_begun_anew() {
    check(
        vec![ok(&[event("ADDED", &object("a", 5))]), listed(10)],
        expect![[r#"
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        list begins
        seen a u-a 5
        Syncing("the request was interrupted, the outcome is unknown: the list ended too soon")
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        list begins
        seen a u-a 5
        list ends 10
        Live
        > GET watch=true resourceVersion=10
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_without_streaming_lists_is_asked_for_plain_ones() {
    let refused = json!({"kind": "Status", "code": 422, "reason": "Invalid", "message": "sendInitialEvents is forbidden"});
    let list = json!({"metadata": {"resourceVersion": "10"}, "items": [object("a", 5), object("b", 7)]});
    let script = vec![
        (StatusCode::UNPROCESSABLE_ENTITY, refused.to_string()),
        (StatusCode::OK, list.to_string()),
        ok(&[event("ADDED", &object("c", 11))]),
    ];
    check(
        script,
        expect![[r#"
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        Syncing("the API server does not accept the object: sendInitialEvents is forbidden")
        > GET resourceVersion=0
        list begins
        seen a u-a 5
        seen b u-b 7
        list ends 10
        > GET watch=true resourceVersion=10
        Live
        seen c u-c 11
        > GET watch=true resourceVersion=11
    "#]],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_feed_reports_its_error_and_retries() {
    let forbidden =
        json!({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "buckets is forbidden"});
    let script = vec![
        (StatusCode::NOT_FOUND, "404 page not found".to_owned()),
        (StatusCode::SERVICE_UNAVAILABLE, String::new()),
        (StatusCode::FORBIDDEN, forbidden.to_string()),
        ok(&["what is this".to_owned()]),
        listed(10),
    ];
    check(script, expect![[r#"
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        Syncing("the API server does not serve this kind (now): 404 page not found")
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        Syncing("the API server cannot be reached: 503 Service Unavailable")
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        Forbidden("buckets is forbidden")
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        list begins
        Syncing("the request was interrupted, the outcome is unknown: a line of the watch is not JSON: expected value at line 1 column 1")
        > GET watch=true sendInitialEvents=true resourceVersionMatch=NotOlderThan
        list begins
        seen a u-a 5
        list ends 10
        Live
        > GET watch=true resourceVersion=10
    "#]]).await;
}

#[tokio::test(start_paused = true)]
async fn an_immediately_closed_watch_backs_off() {
    let played = play(vec![listed(10), ok(&[]), ok(&[]), ok(&[])]).await;
    assert_eq!(played.matches("the watch ended at once").count(), 3, "{played}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_expires_after_each_list_backs_off() {
    let gone = json!({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"});
    let lost = || {
        ok(&[
            event("ADDED", &object("a", 5)),
            bookmark(10, true),
            event("ERROR", &gone),
        ])
    };
    let played = play((0..100).map(|_| lost()).collect()).await;
    let lists = played.matches("list begins").count();
    assert!((2..15).contains(&lists), "{lists} lists in 9 s");
}

#[tokio::test(start_paused = true)]
async fn a_watch_closed_after_one_event_backs_off() {
    let one = |version| ok(&[event("MODIFIED", &object("a", version))]);
    let script = std::iter::once(listed(10)).chain((11..200).map(one));
    let played = play(script.collect()).await;
    let watches = played.matches("> GET").count();
    assert!((3..15).contains(&watches), "{watches} watches in 9 s");
    assert!(!played.contains("Syncing"), "{played}");
}
