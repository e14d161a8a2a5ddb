//! A function that does not answer is held, and asked by one probe at a time.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use bridge_core::function::{FunctionFailure, RunRequest};
use bridge_function::{Changes, Client, EndpointTable, Options};
use fake_function::Version;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::time::timeout;

use crate::{
    clock::Clock,
    host::{Host, set, table},
    raw::Raw,
};

struct Held {
    clock: Clock,
    client: Arc<Client>,
    endpoints: EndpointTable,
    /// Where nobody listens yet.
    folder: TempDir,
    since: Timestamp,
}

impl Held {
    /// After three refusals.
    async fn new() -> Self {
        let (clock, folder) = (Clock::new(), tempfile::tempdir().unwrap());
        let endpoints = table(&format!("unix://{}/f.sock", folder.path().display()));
        let client = clock.client(Options::new(endpoints.clone(), None));
        let held = Self {
            since: clock.now(),
            clock,
            client,
            endpoints,
            folder,
        };
        for _ in 0..2 {
            let refused = held.error().await;
            assert!(matches!(refused, FunctionFailure::Unreachable(_)), "{refused:?}");
        }
        held.is_held().await;
        held
    }

    async fn error(&self) -> FunctionFailure {
        let answered = self.clock.run(&self.client, &RunRequest::default()).await;
        answered.unwrap_err()
    }

    async fn is_held(&self) {
        let error = self.error().await;
        let FunctionFailure::Held { since, why } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*since, self.since);
        assert!(why.starts_with("cannot reach it: "), "{why}");
    }
}

async fn heard(changes: &mut Changes) -> BTreeSet<String> {
    let next = timeout(Duration::from_secs(30), changes.next()).await;
    next.expect("it is heard").unwrap()
}

#[tokio::test]
async fn a_held_function_is_called_again_after_one_answered_probe() {
    let held = Held::new().await;
    let mut changes = held.client.changes();
    held.clock.pass(1);
    held.is_held().await;

    let Held {
        clock,
        client,
        folder,
        ..
    } = held;
    let host = Host::at(folder, Version::V1);
    let early = clock.run(&client, &RunRequest::default()).await.unwrap_err();
    assert!(matches!(early, FunctionFailure::Held { .. }), "{early:?}");
    assert_eq!(host.function.received(), []);
    clock.pass(2);
    for calls in 1..=2 {
        clock.run(&client, &RunRequest::default()).await.unwrap();
        assert_eq!(host.function.received().len(), calls);
    }
    assert_eq!(heard(&mut changes).await, BTreeSet::from(["f".to_owned()]));
    assert!(timeout(Duration::ZERO, changes.next()).await.is_err());
}

#[tokio::test]
async fn while_a_probe_is_under_way_other_calls_fail_at_once() {
    let Held {
        clock,
        client,
        folder,
        ..
    } = Held::new().await;
    let raw = Raw::hanging_at(folder);
    for _ in 0..2 {
        clock.pass(2);
        let probe = {
            let (clock, client) = (clock.clone(), Arc::clone(&client));
            tokio::spawn(async move { clock.run(&client, &RunRequest::default()).await })
        };
        raw.under_way(1).await;
        clock.pass(60);
        let error = clock.run(&client, &RunRequest::default()).await.unwrap_err();
        assert!(matches!(error, FunctionFailure::Held { .. }), "{error:?}");
        raw.under_way(1).await;
        // Whoever asked gives up: the next one asks.
        probe.abort();
        raw.under_way(0).await;
    }
}

/// The former process still has its connection, and was replaced on its socket.
#[tokio::test]
async fn a_held_function_is_probed_over_a_new_connection() {
    let (clock, folder) = (Clock::new(), tempfile::tempdir().unwrap());
    let socket = folder.path().join("f.sock");
    let endpoints = table(&format!("unix://{}", socket.display()));
    let client = clock.client(Options::new(endpoints, None));
    let _former = Raw::unavailable_at(&socket);
    for _ in 0..3 {
        clock.run(&client, &RunRequest::default()).await.unwrap_err();
    }
    std::fs::remove_file(&socket).unwrap();
    let host = Host::at(folder, Version::V1);
    clock.pass(2);
    clock.run(&client, &RunRequest::default()).await.unwrap();
    assert_eq!(host.function.received().len(), 1);
}

#[tokio::test]
async fn a_held_function_is_called_at_once_at_another_endpoint() {
    let held = Held::new().await;
    let mut changes = held.client.changes();
    let host = Host::unix(Version::V1);
    set(&held.endpoints, &host.endpoint);
    assert_eq!(heard(&mut changes).await, BTreeSet::from(["f".to_owned()]));
    let answered = held.clock.run(&held.client, &RunRequest::default()).await;
    answered.unwrap();
    assert_eq!(host.function.received().len(), 1);
}

#[tokio::test]
async fn an_equal_table_of_endpoints_is_no_news() {
    let endpoints = table("unix:///f.sock");
    let client = Client::new(Options::new(endpoints.clone(), None));
    let mut changes = client.changes();
    set(&endpoints, "unix:/f.sock");
    assert!(timeout(Duration::ZERO, changes.next()).await.is_err());
    endpoints.set([].into());
    assert_eq!(heard(&mut changes).await, BTreeSet::from(["f".to_owned()]));
}
