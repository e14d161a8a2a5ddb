//! A response with a TTL answers equal requests until it ends.

use std::time::Duration;

use bridge_core::function::RunRequest;
use bridge_function::Options;
use fake_function::{Version, evaluate};
use serde_json::json;

use crate::{
    clock::Clock,
    host::{Host, set, table},
};

fn request(ttl: u64) -> RunRequest {
    RunRequest {
        input: Some(json!({"ttlSeconds": ttl, "status": {"a": 1}})),
        ..RunRequest::default()
    }
}

#[tokio::test]
async fn an_equal_request_gets_the_kept_response_and_its_remaining_time() {
    let (clock, host) = (Clock::new(), Host::unix(Version::V1));
    let client = clock.client(Options::new(table(&host.endpoint), None));
    for (passed, remaining, kept, calls) in [
        (0, 90, false, 1),
        (10, 80, true, 1),
        (79, 1, true, 1),
        (1, 90, false, 2),
    ] {
        clock.pass(passed);
        let mut expected = evaluate(&request(90));
        expected.ttl = Some(Duration::from_secs(remaining));
        expected.kept = kept;
        assert_eq!(clock.run(&client, &request(90)).await.unwrap(), expected);
        assert_eq!(host.function.received().len(), calls);
    }
    clock.run(&client, &request(91)).await.unwrap();
    assert_eq!(host.function.received().len(), 3);
}

#[tokio::test]
async fn a_response_without_a_ttl_is_not_kept() {
    let (clock, host) = (Clock::new(), Host::unix(Version::V1));
    let client = clock.client(Options::new(table(&host.endpoint), None));
    for calls in 1..=2 {
        clock.run(&client, &request(0)).await.unwrap();
        assert_eq!(host.function.received().len(), calls);
    }
}

#[tokio::test]
async fn nothing_is_kept_where_that_is_turned_off() {
    let (clock, host) = (Clock::new(), Host::unix(Version::V1));
    let client = clock.client(Options {
        keeps_responses: false,
        ..Options::new(table(&host.endpoint), None)
    });
    for calls in 1..=2 {
        clock.run(&client, &request(90)).await.unwrap();
        assert_eq!(host.function.received().len(), calls);
    }
}

#[tokio::test]
async fn a_function_elsewhere_is_asked_anew() {
    let (clock, host, other) = (
        Clock::new(),
        Host::unix(Version::V1),
        Host::unix(Version::V1beta1),
    );
    let endpoints = table(&host.endpoint);
    let client = clock.client(Options::new(endpoints.clone(), None));
    clock.run(&client, &request(90)).await.unwrap();
    set(&endpoints, &other.endpoint);
    clock.run(&client, &request(90)).await.unwrap();
    assert_eq!(other.function.received().len(), 1);
}

#[tokio::test]
async fn a_kept_response_needs_no_function() {
    let (clock, host) = (Clock::new(), Host::unix(Version::V1));
    let client = clock.client(Options::new(table(&host.endpoint), None));
    clock.run(&client, &request(90)).await.unwrap();
    drop(host);
    clock.run(&client, &request(90)).await.unwrap();
}
