//! A function has so many places, and whoever no longer waits gives its own back.

use std::sync::Arc;

use bridge_core::function::{FunctionFailure, Functions, RunRequest, RunResponse};
use bridge_function::{Client, Options, PLACES};
use fake_function::Version;
use jiff::{SignedDuration, Timestamp};
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
