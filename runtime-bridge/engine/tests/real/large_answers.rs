//! Large answers: a plugin may make so many be held at once, and whoever holds one cannot stop the others.
use std::sync::{Arc, atomic::Ordering};

use serde_json::{Value, json};

use crate::{
    harness::until,
    managed::{a_policy_against, not_stored},
    things::RealHarness,
};

/// What is observed is large from now on.
fn answer_large(stage: &RealHarness) {
    let large = json!({"note": "x".repeat(600 << 10)});
    *stage.outside.status.lock() = large.as_object().cloned();
}

async fn until_all_room_is_free(stage: &RealHarness) {
    until("all room is given back", || {
        stage.outside.room.available_permits() == 1
    })
    .await;
}

#[tokio::test]
async fn a_large_answer_without_room_is_asked_for_again_in_its_turn() {
    let stage = RealHarness::new().await;
    let _process = stage.process().await;
    answer_large(&stage);
    let taken = Arc::clone(&stage.outside.room).acquire_owned().await.unwrap();
    let calls = || stage.outside.calls.load(Ordering::SeqCst);
    // That of a creation saves a read, and is dropped; the read waits for room.
    stage.create("one", json!({})).await;
    until("it was created", || calls() == 2).await;
    // One that nobody expected is discarded.
    let two = stage.outside.things.lock().get("one").cloned().unwrap();
    stage.outside.things.lock().insert("two".to_owned(), two);
    stage.create("two", json!({})).await;
    until("the other was observed", || calls() == 3).await;
    let conditions = |object: &Value| object["status"]["conditions"].as_array().map_or(0, Vec::len);
    for name in ["one", "two"] {
        let object = stage.admin.get(&stage.path(name)).await.unwrap();
        let conditions = conditions(&object);
        assert_eq!(conditions, 0, "{object}");
    }
    drop(taken);
    for name in ["one", "two"] {
        stage.value(name, "Ready", "Available").await;
    }
    until_all_room_is_free(&stage).await;
}

#[tokio::test]
async fn a_large_answer_that_cannot_be_stored_holds_no_room() {
    let stage = RealHarness::new().await;
    let _process = stage.process().await;
    let binding = a_policy_against(&stage, "told-once").await;
    answer_large(&stage);
    stage.outside.told.lock().0 = "told-once".to_owned();
    stage.create("one", json!({})).await;
    not_stored(&stage, "one").await;
    until_all_room_is_free(&stage).await;
    // Nothing that must be stored: it needs room alone.
    stage.outside.told.lock().0 = String::new();
    stage.create("two", json!({})).await;
    stage.value("two", "Ready", "Available").await;
    stage.admin.delete(&binding).await.unwrap();
    stage.value("one", "Ready", "Available").await;
    until_all_room_is_free(&stage).await;
}

/// That of an update is decided from an observation, for which there was room.
#[tokio::test]
async fn a_large_observation_is_given_up_before_the_call_that_follows() {
    let stage = RealHarness::new().await;
    let process = stage.process().await;
    let binding = a_policy_against(&stage, "told-once").await;
    stage.create("one", json!({})).await;
    stage.value("one", "Ready", "Available").await;
    process.all_wait(1).await;
    answer_large(&stage);
    stage.outside.told.lock().0 = "told-once".to_owned();
    let resized = json!({"spec": {"forProvider": {"size": 2}}});
    stage.admin.patch(&stage.path("one"), &resized).await.unwrap();
    not_stored(&stage, "one").await;
    assert_eq!(stage.outside.things.lock()["one"]["size"], 2);
    until_all_room_is_free(&stage).await;
    stage.admin.delete(&binding).await.unwrap();
}
