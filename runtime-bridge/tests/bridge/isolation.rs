//! A plugin that is hostile, broken or not there harms no other.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::{
    admin::Bridge,
    cluster::{Cluster, configure, create, is_true, note, until, until_served},
    notes::Notes,
};

const NOTE: &str = "Note.notes.example.org/v1alpha1";
const DECOY: &str = "Decoy.evil.example.org/v1alpha1";

/// Versions of all CRDs of the notes' plugin, by name.
async fn versions(cluster: &Cluster) -> Vec<(Option<String>, Option<String>)> {
    let definitions = cluster.definitions();
    let all = definitions.list(&kube::api::ListParams::default()).await.unwrap();
    let of_notes = all.into_iter().filter(|crd| {
        let name = crd.metadata.name.as_deref();
        name.is_some_and(|name| name.ends_with(".notes.example.org"))
    });
    of_notes
        .map(|crd| (crd.metadata.name, crd.metadata.resource_version))
        .collect()
}

async fn until_kind(bridge: &Bridge, name: &str, says: &str) {
    bridge
        .until("/debug/state", |_, text| {
            let state: Value = serde_json::from_str(text).unwrap_or_default();
            state["kinds"][name].to_string().contains(says)
        })
        .await;
}

#[tokio::test]
async fn no_plugin_takes_the_kinds_of_another_bridges_plugin() {
    let (cluster, notes, evil) = (Cluster::start().await, Notes::start(), Notes::evil());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    let before = versions(&cluster).await;
    assert_eq!(before.len(), 4);

    let other = Bridge::start(&cluster, &evil.endpoint(), &[]).await;
    until_kind(&other, NOTE, "--allow-group evil.example.org=notes.example.org").await;
    until_kind(&other, DECOY, "served").await;
    assert_eq!(other.stop().await, Some(0));

    // Also where its operator lets it have the group: the CRD is not its own.
    let allowed = ["--allow-group", "evil.example.org=notes.example.org"];
    let other = Bridge::start(&cluster, &evil.endpoint(), &allowed).await;
    until_kind(&other, NOTE, "belongs to the plugin notes.example.org").await;
    until_kind(&other, DECOY, "served").await;
    assert_eq!(other.stop().await, Some(0));
    assert_eq!(versions(&cluster).await, before);
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn a_plugin_that_is_listed_first_takes_no_kind_of_another() {
    let (cluster, notes, evil) = (Cluster::start().await, Notes::start(), Notes::evil());
    let bridge = Bridge::start(&cluster, &evil.endpoint(), &["--plugin", &notes.endpoint()]).await;
    until_kind(&bridge, NOTE, "served").await;
    until_kind(&bridge, DECOY, "served").await;
    configure(&cluster, json!({ "token": "canary" })).await;
    let api = cluster.namespaced("Note");
    until_served(&api).await;
    create(&api, note()).await.unwrap();
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    assert_eq!(notes.wall.creates.load(Ordering::SeqCst), 1);
    assert_eq!(evil.wall.creates.load(Ordering::SeqCst), 0);
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn a_plugin_that_is_not_there_keeps_no_other_from_being_served() {
    let (cluster, notes, mut memos) = (Cluster::start().await, Notes::start(), Notes::memos());
    memos.stop().await;
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &["--plugin", &memos.endpoint()]).await;
    until_kind(&bridge, NOTE, "served").await;
    let shown = bridge
        .until("/readyz", |status, text| {
            status == 200 && text.contains(&memos.endpoint())
        })
        .await;
    assert!(shown.contains("the others are served"), "{shown}");
    memos.serve_memos();
    until_kind(&bridge, "Memo.memos.example.org/v1alpha1", "served").await;
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn a_plugin_that_changes_its_kinds_again_and_again_is_served_as_it_was() {
    const STICKER: &str = "Sticker.notes.example.org/v1alpha1";
    let (cluster, mut notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    notes.upgrade().await;
    until_kind(&bridge, STICKER, "served").await;
    notes.stop().await;
    notes.start_again();
    until_kind(&bridge, STICKER, "null").await;
    notes.upgrade().await;
    until_kind(&bridge, STICKER, "served").await;
    // From here on its changes wait.
    notes.stop().await;
    notes.start_again();
    let seen = bridge
        .until("/debug/state", |_, text| {
            let state: Value = serde_json::from_str(text).unwrap_or_default();
            state["plugins"][0]["version"] == "1.0.0"
        })
        .await;
    let state: Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(state["kinds"][STICKER], "served", "{seen}");
    assert_eq!(bridge.stop().await, Some(0));
}
