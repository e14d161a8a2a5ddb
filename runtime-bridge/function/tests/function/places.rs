//! A function has so many places, and whoever no longer waits gives its own back.

use std::sync::Arc;

use bridge_core::function::{FunctionFailure, Functions, Observed, Resource, RunRequest, RunResponse};
use bridge_function::{Client, Options, PLACES};
use fake_function::Version;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::{
    host::{Host, run, set, table},
    raw::Raw,
};

type Running = JoinHandle<Result<RunResponse, FunctionFailure>>;

fn start(client: &Arc<Client>) -> Running {
    let client = Arc::clone(client);
    tokio::spawn(async move { run(&client, &RunRequest::default()).await })
}

/// As many calls as there are places, all under way.
async fn fill(client: &Arc<Client>, raw: &Raw) -> Vec<Running> {
    let running = (0..PLACES).map(|_| start(client)).collect();
    raw.under_way(PLACES).await;
    running
}

#[tokio::test]
async fn a_call_beyond_the_places_waits_until_its_deadline() {
    let raw = Raw::hanging();
    let client = Arc::new(Client::new(Options::new(table(&raw.endpoint), None)));
    let running = fill(&client, &raw).await;
    let deadline = Timestamp::now() + SignedDuration::from_millis(100);
    let error = client
        .run("f", &RunRequest::default(), deadline)
        .await
        .unwrap_err();
    assert_eq!(error, FunctionFailure::Busy { places: PLACES });
    raw.under_way(running.len()).await;
}

/// Of a composite resource of this namespace.
fn request_of(namespace: &str) -> RunRequest {
    let composite = json!({
        "apiVersion": "example.org/v1", "kind": "App", "metadata": {"name": "app", "namespace": namespace},
    });
    RunRequest {
        observed: Arc::new(Observed {
            composite: Resource::of(composite),
            ..Observed::default()
        }),
        ..RunRequest::default()
    }
}

#[tokio::test]
async fn calls_of_one_namespace_do_not_keep_those_of_another_waiting() {
    let raw = Raw::hanging();
    let client = Arc::new(Client::new(Options::new(table(&raw.endpoint), None)));
    let running = fill(&client, &raw).await;
    let start = |namespace: &str, left: SignedDuration| -> Running {
        let (client, request) = (Arc::clone(&client), request_of(namespace));
        tokio::spawn(async move { client.run("f", &request, Timestamp::now() + left).await })
    };
    let _crowd: Vec<Running> = (0..100)
        .map(|_| start("crowded", SignedDuration::from_mins(1)))
        .collect();
    tokio::task::yield_now().await;
    let other = start("other", SignedDuration::from_secs(1));
    tokio::task::yield_now().await;
    for ended in &running[..2] {
        ended.abort();
    }
    // It had the second place that came free: else it would say that all are taken.
    assert_eq!(other.await.unwrap().unwrap_err(), FunctionFailure::OutOfTime);
}

#[tokio::test]
async fn calls_under_way_and_waiting_are_shown() {
    let raw = Raw::hanging();
    let client = Arc::new(Client::new(Options::new(table(&raw.endpoint), None)));
    let shown = || {
        let functions = client.functions();
        let [function] = functions.as_slice() else {
            panic!("{functions:?}");
        };
        assert_eq!((function.name.as_str(), &function.held), ("f", &None));
        assert!(function.endpoint.is_ok());
        (function.running, function.waiting)
    };
    assert_eq!(shown(), (0, 0));
    let _running = fill(&client, &raw).await;
    let waiting = start(&client);
    tokio::task::yield_now().await;
    assert_eq!(shown(), (PLACES, 1));
    waiting.abort();
    tokio::task::yield_now().await;
    assert_eq!(shown(), (PLACES, 0));
}

#[tokio::test]
async fn a_cancelled_call_gives_its_place_to_the_next() {
    let raw = Raw::hanging();
    let client = Arc::new(Client::new(Options::new(table(&raw.endpoint), None)));
    let mut running = fill(&client, &raw).await;
    running.push(start(&client));
    for cancelled in running.drain(..PLACES) {
        cancelled.abort();
    }
    raw.under_way(1).await;
    assert!(!running[0].is_finished());
}

#[tokio::test]
async fn calls_that_wait_follow_the_function_to_another_endpoint() {
    let (raw, host) = (Raw::hanging(), Host::unix(Version::V1));
    let endpoints = table(&raw.endpoint);
    let client = Arc::new(Client::new(Options::new(endpoints.clone(), None)));
    let running = fill(&client, &raw).await;
    let waiting = start(&client);
    tokio::task::yield_now().await;
    set(&endpoints, &host.endpoint);
    waiting.await.unwrap().unwrap();
    assert_eq!(host.function.received().len(), 1);
    raw.under_way(running.len()).await;
}

#[tokio::test]
async fn a_function_that_does_not_answer_takes_the_runs_time_at_most() {
    let raw = Raw::hanging();
    let client = Client::new(Options::new(table(&raw.endpoint), None));
    let deadline = Timestamp::now() + SignedDuration::from_millis(100);
    let error = client
        .run("f", &RunRequest::default(), deadline)
        .await
        .unwrap_err();
    assert_eq!(error, FunctionFailure::OutOfTime);
    raw.under_way(0).await;
}
