//! The plugin in this process: a file lives and goes, and a kill inside Create leaves one.

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
    let plugin = || Plugin::new("files.example.org", "1.0.0").settings::<Settings>();
    let harness = Harness::new(move || plugin().resource(File)).settings(&json!({"folder": folder.path()}));
    (folder, harness)
}

fn file<'harness>(harness: &'harness Harness, name: &str, content: &str) -> TestResource<'harness, File> {
    let content = content.to_owned();
    harness.resource(&Parameters { content }).named(name)
}

#[tokio::test]
async fn a_file_lives_and_goes() {
    let (_folder, harness) = harness();
    let mut notes = file(&harness, "notes.txt", "Buy milk.");
    notes.observe().await.absent();
    notes.create().await.completed();
    notes.set_parameters(&json!({"content": "Tea."}));
    notes.update().await.completed();
    let found = notes.observe().await.found();
    assert_eq!(found.parameters.content, "Tea.");
    assert_eq!(found.status.map(|status| status.bytes), Some(4));
    notes.delete().await.completed();
    assert!(notes.delete().await.completed().already_done);
}

#[tokio::test]
async fn an_existing_file_is_reported_and_not_overwritten() {
    let (_folder, harness) = harness();
    file(&harness, "notes.txt", "Mine.").create().await.completed();
    let mut second = file(&harness, "notes.txt", "Mine too.");
    assert_eq!(second.create().await.failure().code, FailureCode::AlreadyExists);
    assert_eq!(second.observe().await.found().parameters.content, "Mine.");
}

#[tokio::test]
async fn a_folder_that_is_away_is_no_absence() {
    let (folder, harness) = harness();
    let mut notes = file(&harness, "notes.txt", "Buy milk.");
    folder.close().expect("it is removed");
    let failure = notes.observe().await.failure();
    assert_eq!(failure.code, FailureCode::InvalidConfig);
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
