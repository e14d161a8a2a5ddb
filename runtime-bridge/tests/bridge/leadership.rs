//! Two bridges over the same objects: one acts, the other is ready to.

use std::{sync::atomic::Ordering, time::Duration};

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    admin::Bridge,
    cluster::{Cluster, condition, configure, create, is_true, merge, note, until},
    compositions::{self, Function, crossplane, order, orders},
    notes::{Notes, SLOW},
};

const LIMIT: Duration = Duration::from_mins(1);

/// Short, so that no test waits long; the order of them is what counts.
const ELECTION: [&str; 7] = [
    "--leader-election",
    "--leader-election-lease-duration",
    "4s",
    "--leader-election-renew-deadline",
    "3s",
    "--leader-election-retry-period",
    "300ms",
];

async fn leader(cluster: &Cluster, notes: &Notes) -> Bridge {
    let bridge = Bridge::start(cluster, &notes.endpoint(), &ELECTION).await;
    bridge.until("/debug/state", leads).await;
    bridge.until_ready().await;
    bridge
}

async fn standby(cluster: &Cluster, notes: &Notes) -> Bridge {
    let bridge = Bridge::start(cluster, &notes.endpoint(), &ELECTION).await;
    // Its watches run, and it reports whom it waits for.
    let waits = |status: u16, text: &str| {
        status == 200
            && text.contains("[+] watch Note.notes.example.org")
            && text.contains("; standing by\n")
            && !text.contains("none; standing by")
    };
    bridge.until("/readyz", waits).await;
    bridge
}

fn leads(_: u16, text: &str) -> bool {
    let state: Value = serde_json::from_str(text).unwrap_or_default();
    state["leadership"]["leads"] == true && state["engine"]["dispatching"] == true
}

#[tokio::test]
async fn a_standby_is_idle_until_the_leader_stops() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    let first = leader(&cluster, &notes).await;
    let second = standby(&cluster, &notes).await;
    let status = "leader_election_master_status{name=\"default/crossbridge\"}";
    assert!(first.get("/metrics").await.1.contains(&format!("{status} 1\n")));
    assert!(second.get("/metrics").await.1.contains(&format!("{status} 0\n")));
    configure(&cluster, json!({ "token": "canary" })).await;
    let api = cluster.namespaced("Note");
    create(&api, note()).await.unwrap();
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    let passes = "crossbridge_passes_total{";
    assert!(!second.get("/metrics").await.1.contains(passes));

    assert_eq!(first.stop().await, Some(0));
    second.until("/debug/state", leads).await;
    merge(
        &api,
        "groceries",
        json!({ "spec": { "forProvider": { "title": "Buy bread" } } }),
    )
    .await
    .unwrap();
    until(&api, "groceries", "up to date", |note| {
        condition(note, "Synced")
            .is_some_and(|synced| synced["observedGeneration"] == 2 && synced["status"] == "True")
    })
    .await;
    assert_eq!(notes.wall.creates.load(Ordering::SeqCst), 1);
    assert_eq!(second.stop().await, Some(0));
}

#[tokio::test]
async fn a_leader_resumed_during_a_creation_begins_nothing() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    let old = leader(&cluster, &notes).await;
    let new = standby(&cluster, &notes).await;
    configure(&cluster, json!({ "token": "canary" })).await;
    let api = cluster.namespaced("Note");
    let mut slow = note();
    slow["spec"]["forProvider"]["title"] = json!(SLOW);
    create(&api, slow).await.unwrap();
    timeout(LIMIT, notes.wall.called.notified())
        .await
        .expect("the plugin is called");
    old.process.pause();
    // It is created, and no process receives the answer.
    notes.wall.released.notify_one();
    new.until("/debug/state", leads).await;
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;

    old.process.resume();
    let woke = |_: u16, text: &str| {
        let state: Value = serde_json::from_str(text).unwrap_or_default();
        state["leadership"]["leads"] == false && state["engine"]["dispatching"] == false
    };
    old.until("/debug/state", woke).await;
    // What it learned while it led is stored or known already, and nothing is begun.
    assert_eq!(old.stop().await, Some(0));
    until(&api, "groceries", "still ready", |note| {
        is_true(note, "Ready") && is_true(note, "Synced")
    })
    .await;
    assert_eq!(notes.wall.creates.load(Ordering::SeqCst), 1);
    let name = api.get("groceries").await.unwrap();
    let annotations = name.metadata.annotations.unwrap_or_default();
    assert_eq!(
        annotations.get("crossplane.io/external-name").map(String::as_str),
        Some("groceries")
    );
    assert_eq!(new.stop().await, Some(0));
}

#[tokio::test]
async fn a_standby_writes_no_crd_before_it_leads() {
    let (cluster, older, mut newer) = (Cluster::start().await, Notes::start(), Notes::start());
    newer.upgrade().await;
    let first = leader(&cluster, &older).await;
    let second = Bridge::start(&cluster, &newer.endpoint(), &ELECTION).await;
    let waits = |_: u16, text: &str| text.contains("the bridge that leads installs it");
    second.until("/debug/state", waits).await;
    let definitions = cluster.definitions();
    let version = |crd: &kube::api::DynamicObject| {
        let annotations = crd.metadata.annotations.clone().unwrap_or_default();
        annotations.get("crossbridge.dev/plugin-version").cloned()
    };
    let sticker = "stickers.notes.example.org";
    assert!(definitions.get_opt(sticker).await.unwrap().is_none());
    let note = definitions.get("notes.notes.example.org").await.unwrap();
    assert_eq!(version(&note).as_deref(), Some("1.0.0"));

    assert_eq!(first.stop().await, Some(0));
    until(&definitions, sticker, "established", |crd| {
        is_true(crd, "Established")
    })
    .await;
    until(&definitions, "notes.notes.example.org", "noted", |crd| {
        version(crd).as_deref() == Some("1.1.0")
    })
    .await;
    second.until_ready().await;
    assert_eq!(second.stop().await, Some(0));
}

#[tokio::test]
async fn durations_that_would_let_two_lead_are_rejected() {
    let flags = [
        "serve",
        "--plugin",
        "unix:///no/such/plugin.sock",
        "--leader-election",
        "--leader-election-lease-duration",
        "5s",
    ];
    let ran = crate::program::run(&flags).await;
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr
            .contains("the renew deadline must be shorter than the lease duration"),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn a_standby_watches_composite_resources_and_takes_over() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let flag = function.flag();
    let flags: Vec<&str> = ["--compositions", "--function", &flag]
        .into_iter()
        .chain(ELECTION)
        .collect();
    let first = Bridge::start_without_plugins(&cluster, &flags).await;
    first.until("/debug/state", leads).await;
    let second = Bridge::start_without_plugins(&cluster, &flags).await;
    let watches = |_: u16, text: &str| {
        text.contains("[+] watch Order.shop.example.org") && text.contains("; standing by\n")
    };
    compositions::define(&cluster).await;
    second.until("/readyz", watches).await;

    // What is defined no more is watched no more; what is defined again is.
    let definitions = crossplane(&cluster, "v2", "CompositeResourceDefinition");
    compositions::remove(definitions.clone(), "orders.shop.example.org").await;
    let watches_none = |_: u16, text: &str| !text.contains("Order.shop.example.org");
    second.until("/readyz", watches_none).await;
    compositions::create(&definitions, compositions::definition()).await;
    second.until("/readyz", watches).await;

    compositions::create(&orders(&cluster), order("a", 2)).await;
    compositions::ready(&cluster, "a").await;
    first.process.kill();
    first.process.wait().await;
    second.until("/debug/state", leads).await;
    compositions::create(&orders(&cluster), order("b", 2)).await;
    compositions::ready(&cluster, "b").await;
}
