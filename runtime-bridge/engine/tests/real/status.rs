//! Statuses that a real API server does not store as they are sent: they are written, and then rest.

use std::{sync::atomic::Ordering, time::Duration};

use bridge_core::managed::names;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::{
    harness::{until, within},
    managed::not_stored,
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

#[derive(Deserialize)]
struct Stored {
    status: Box<RawValue>,
}

/// It may hold an operation: what is missing in a reading would be taken out by the next write.
#[tokio::test]
async fn a_status_that_is_nested_too_deeply_is_left_as_it_is() {
    let stage = RealHarness::new().await;
    let process = stage.process().await;
    stage.create("one", json!({})).await;
    stage.value("one", "Ready", "Available").await;
    process.all_wait(1).await;
    let (path, calls) = (stage.path("one"), stage.outside.calls.load(Ordering::SeqCst));
    let deep = (0..200).fold(json!("theirs"), |inner, _| json!({ "a": inner }));
    let status = json!({"status": {"atProvider": {"free": {"deep": deep}}}});
    stage.admin.patch_deeply(&format!("{path}/status"), &status).await;
    let before: Stored = stage.admin.read(&path).await.unwrap();
    let resized = json!({"spec": {"forProvider": {"size": 2}}});
    stage.admin.patch_deeply(&path, &resized).await;
    let events = format!("/api/v1/namespaces/{}/events", stage.namespace);
    within(async {
        loop {
            let events = stage.admin.get(&events).await.unwrap();
            let said = |event: &Value| {
                let message = event["message"].as_str().unwrap_or_default();
                event["reason"] == "ReconcileError" && message.contains("nested more than 127 levels deep")
            };
            if events["items"].as_array().unwrap().iter().any(said) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    process.all_wait(1).await;
    let after: Stored = stage.admin.read(&path).await.unwrap();
    assert_eq!(after.status.get(), before.status.get());
    assert_eq!(stage.outside.calls.load(Ordering::SeqCst), calls, "nobody asked");
    let shallow = json!({"status": {"atProvider": {"free": null}}});
    stage
        .admin
        .patch(&format!("{path}/status"), &shallow)
        .await
        .unwrap();
    until("the change that was made meanwhile is carried out", || {
        stage.outside.things.lock()["one"]["size"] == 2
    })
    .await;
}

/// Of a plugin whose answers are not what its own schema says.
#[tokio::test]
async fn at_provider_that_the_schema_refuses_hides_nothing_else() {
    let stage = RealHarness::new().await;
    *stage.outside.status.lock() = json!({"ratio": "a half"}).as_object().cloned();
    let process = stage.process().await;
    stage.create("one", json!({names::POLL_INTERVAL: "1s"})).await;
    let refused = not_stored(&stage, "one").await;
    assert!(refused.contains("ratio"), "{refused}");
    // A change ends the pause after a rejection.
    let touched = json!({"metadata": {"labels": {"touched": "true"}}});
    stage.admin.patch(&stage.path("one"), &touched).await.unwrap();
    stage.value("one", "Synced", "ReconcileError").await;
    let one = stage.admin.get(&stage.path("one")).await.unwrap();
    let condition = |kind: &str| {
        let mut conditions = one["status"]["conditions"].as_array().unwrap().iter();
        conditions
            .find(|condition| condition["type"] == kind)
            .cloned()
            .unwrap()
    };
    assert_eq!(condition("Ready")["reason"], "Available");
    let message = condition("Synced")["message"].as_str().unwrap().to_owned();
    assert!(
        message.contains("status.atProvider") && message.contains("ratio"),
        "{message}"
    );
    rests(&stage, &process).await;
    stage.admin.delete(&stage.path("one")).await.unwrap();
    within(async {
        while stage.admin.get(&stage.path("one")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(stage.outside.things.lock().is_empty());
}
