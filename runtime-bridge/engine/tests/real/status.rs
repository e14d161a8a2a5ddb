//! Statuses that a real API server does not store as they are sent: they are written, and then rest.

use std::{sync::atomic::Ordering, time::Duration};

use bridge_core::managed::names;
use serde_json::{Value, json};

use crate::{
    harness::{until, within},
    things::{Process, RealHarness},
};

/// Looks after which a pass is surely over that began before them.
const LOOKS: u32 = 3;

/// Replacements of things and of their statuses that were asked for until now, those that changed nothing included.
fn updates(process: &Process) -> u64 {
    let text = process.engine.metrics.encode();
    let ours = |line: &&str| line.contains("verb=\"update\"") && line.contains("resource=\"things\"");
    text.lines()
        .filter(ours)
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

async fn looks(stage: &RealHarness) {
    let until_then = stage.outside.calls.load(Ordering::SeqCst) + LOOKS;
    until("it is looked at", || {
        stage.outside.calls.load(Ordering::SeqCst) >= until_then
    })
    .await;
}

/// It is looked at every second, and nothing is written for it.
async fn rests(stage: &RealHarness, process: &Process) {
    looks(stage).await;
    let written = updates(process);
    assert!(written > 0, "writes are counted");
    looks(stage).await;
    assert_eq!(updates(process), written);
}

async fn stored(stage: &RealHarness, name: &str) -> Value {
    let thing = stage.admin.get(&stage.path(name)).await.unwrap();
    thing["status"]["atProvider"].clone()
}

#[tokio::test]
async fn floats_nulls_undeclared_fields_and_defaults_are_written_once() {
    let stage = RealHarness::new().await;
    let status = json!({
        "ratio": 1.0, "note": null, "maybe": null, "undeclared": {"a": 1}, "free": {"load": 2.0, "none": null},
    });
    *stage.outside.status.lock() = status.as_object().cloned();
    let process = stage.process().await;
    stage.create("one", json!({names::POLL_INTERVAL: "1s"})).await;
    stage.value("one", "Ready", "Available").await;
    rests(&stage, &process).await;
    let expected = json!({"ratio": 1, "maybe": null, "colour": "red", "free": {"load": 2, "none": null}});
    assert_eq!(stored(&stage, "one").await, expected);
}

#[tokio::test]
async fn what_an_older_definition_prunes_is_not_written_again() {
    let stage = RealHarness::new().await;
    let status = json!({"ratio": 0.5, "note": "there"});
    *stage.outside.status.lock() = status.as_object().cloned();
    let process = stage.process().await;
    // As a definition of another version of the plugin has it.
    let group = &stage.kind.resource_type.group;
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.{group}");
    let mut definition = stage.admin.get(&path).await.unwrap();
    let versions = &mut definition["spec"]["versions"];
    let schema = versions[0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]["atProvider"]
        ["properties"]
        .as_object_mut()
        .unwrap();
    schema.remove("note").unwrap();
    schema.insert("added".to_owned(), json!({"type": "string", "default": "blue"}));
    let change = json!({"spec": {"versions": versions}});
    stage.admin.patch(&path, &change).await.unwrap();
    stage.create("probe", json!({names::PAUSED: "true"})).await;
    within(async {
        let status = format!("{}/status", stage.path("probe"));
        let noted = json!({"status": {"atProvider": {"note": "there"}}});
        while stage.admin.patch(&status, &noted).await.is_err()
            || stored(&stage, "probe").await["added"] != "blue"
        {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;

    stage.create("one", json!({names::POLL_INTERVAL: "1s"})).await;
    stage.value("one", "Ready", "Available").await;
    rests(&stage, &process).await;
    assert_eq!(
        stored(&stage, "one").await,
        json!({"ratio": 0.5, "colour": "red", "added": "blue"})
    );
}
