//! The plugin in this process: a file is prepared and goes, and a kill inside Create leaves one.

use crossbridge_sdk::{
    FailureCode,
    serde_json::json,
    testing::{Harness, TestResource},
};
use tempfile::TempDir;

use super::*;

/// A plugin whose files are in a folder of the test's own.
fn harness() -> (TempDir, Harness) {
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = || Plugin::new("__NAME__.example.org", "1.0.0").settings::<Settings>();
    let harness = Harness::new(move || plugin().resource(__KIND__)).settings(&json!({"folder": folder.path()}));
    (folder, harness)
}

fn file<'harness>(harness: &'harness Harness, name: &str, content: &str) -> TestResource<'harness, __KIND__> {
    let content = content.to_owned();
    harness.resource(&Parameters { content }).named(name)
}

#[tokio::test]
async fn a_file_is_prepared_and_goes() {
    let (_folder, harness) = harness();
    let mut notes = file(&harness, "notes.txt", "Buy milk.");
    notes.observe().await.absent();
    let preparing = notes.create().await;
    harness.restart();
    notes.follow(preparing).await.completed();
    assert!(notes.observe().await.found().observation.ready);
    notes.set_parameters(&json!({"content": "Tea."}));
    notes.update().await.completed();
    assert_eq!(notes.observe().await.found().parameters.content, "Tea.");
    notes.delete().await.completed();
    assert!(notes.delete().await.completed().already_done);
}

#[tokio::test]
async fn an_existing_file_is_reported_and_not_overwritten() {
    let (_folder, harness) = harness();
    file(&harness, "notes.txt", "Mine.").create().await.operation();
    let mut second = file(&harness, "notes.txt", "Mine too.");
    assert_eq!(second.create().await.failure().code, FailureCode::AlreadyExists);
    assert_eq!(second.observe().await.found().parameters.content, "Mine.");
}

#[tokio::test]
async fn a_kill_anywhere_in_create_leaves_one_file() {
    let (folder, harness) = harness();
    harness
        .killed_in_create(
            |number| file(&harness, &format!("notes-{number}.txt"), "Buy milk."),
            |notes| usize::from(folder.path().join(notes.external_name()).exists()),
        )
        .await;
}
