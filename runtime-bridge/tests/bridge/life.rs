//! Ends and interruptions: asked to stop amid a call, a plugin that goes away, rights that are just enough.

use std::{sync::atomic::Ordering, time::Duration};

use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    admin::Bridge,
    cluster::{Cluster, condition, configure, create, is_true, note, object, until, until_gone},
    notes::{Notes, SLOW},
};

const LIMIT: Duration = Duration::from_mins(1);

/// A cluster in which a slow creation has just been begun.
async fn amid_a_creation(flags: &[&str]) -> (Cluster, Notes, Bridge) {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), flags).await;
    bridge.until_ready().await;
    configure(&cluster, json!({ "token": "canary" })).await;
    let mut slow = note();
    slow["spec"]["forProvider"]["title"] = json!(SLOW);
    create(&cluster.namespaced("Note"), slow).await.unwrap();
    timeout(LIMIT, notes.wall.called.notified())
        .await
        .expect("the plugin is called");
    (cluster, notes, bridge)
}

#[tokio::test]
async fn an_answer_that_comes_while_it_stops_is_stored() {
    let (cluster, notes, bridge) = amid_a_creation(&[]).await;
    bridge.process.signal(bridge_control_plane::process::Signal::TERM);
    let closed = |_: u16, text: &str| text.contains("\"dispatching\": false");
    bridge.until("/debug/state", closed).await;
    notes.wall.released.notify_one();
    let ended = bridge.process.wait_for(LIMIT).await.unwrap();
    assert_eq!(ended.code(), Some(0));

    let api = cluster.namespaced("Note");
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    assert_eq!(notes.wall.creates.load(Ordering::SeqCst), 1);
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn an_unfinished_call_fails_the_exit_code() {
    let (_cluster, _notes, bridge) = amid_a_creation(&["--drain-timeout", "500ms"]).await;
    assert_eq!(bridge.stop().await, Some(1));
}

#[tokio::test]
async fn a_lost_plugin_is_reported_and_reconnected() {
    let (cluster, mut notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    configure(&cluster, json!({ "token": "canary" })).await;
    notes.stop().await;
    let away = |status: u16, text: &str| {
        status == 503 && text.contains("[-] plugin notes.example.org: no answer since")
    };
    bridge.until("/readyz", away).await;
    let api = cluster.namespaced("Note");
    create(&api, note()).await.unwrap();
    notes.start_again();
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    bridge.until_ready().await;
    assert_eq!(notes.wall.creates.load(Ordering::SeqCst), 1);
    assert_eq!(bridge.stop().await, Some(0));
}

/// Events of all namespaces: what they are about, their type and their reason.
async fn events(cluster: &Cluster) -> Vec<(String, String, String)> {
    let api = Api::<DynamicObject>::all_with(
        cluster.client.clone(),
        &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Event")),
    );
    let all = api.list(&kube::api::ListParams::default()).await.unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    all.into_iter()
        .map(|event| {
            let data = &event.data;
            (
                text(&data["involvedObject"]["kind"]),
                text(&data["type"]),
                text(&data["reason"]),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_plugin_that_is_away_is_one_event_and_not_one_per_object() {
    let (cluster, mut notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    configure(&cluster, json!({ "token": "canary" })).await;
    let configs = cluster.cluster_scoped("ClusterProviderConfig");
    until(&configs, "default", "usable", |config| is_true(config, "Ready")).await;
    notes.stop().await;
    let api = cluster.namespaced("Note");
    for number in 0..5 {
        let mut note = note();
        note["metadata"]["name"] = json!(format!("note-{number}"));
        create(&api, note).await.unwrap();
    }
    for number in 0..5 {
        let is_told = |note: &DynamicObject| {
            condition(note, "Synced").is_some_and(|synced| synced["status"] == "False")
        };
        until(&api, &format!("note-{number}"), "told", is_told).await;
    }
    let away = (
        "ClusterProviderConfig".to_owned(),
        "Warning".to_owned(),
        "PluginUnavailable".to_owned(),
    );
    let end = tokio::time::Instant::now() + LIMIT;
    loop {
        let events = events(&cluster).await;
        let of_notes = events
            .iter()
            .filter(|(kind, level, _)| kind == "Note" && level == "Warning")
            .count();
        assert_eq!(of_notes, 0, "{events:?}");
        match events.iter().filter(|event| **event == away).count() {
            1 => break,
            count => assert!(count == 0 && tokio::time::Instant::now() < end, "{events:?}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn a_config_stays_while_it_is_used() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    configure(&cluster, json!({ "token": "canary" })).await;
    let (api, configs) = (
        cluster.namespaced("Note"),
        cluster.cluster_scoped("ClusterProviderConfig"),
    );
    create(&api, note()).await.unwrap();
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    let held = |config: &DynamicObject| {
        config.metadata.finalizers.as_deref() == Some(&["in-use.crossplane.io".to_owned()])
    };
    until(&configs, "default", "held", held).await;

    let delete = DeleteParams::default();
    configs.delete("default", &delete).await.unwrap();
    let told = until(&configs, "default", "told", |config| {
        condition(config, "Terminating").is_some()
    })
    .await;
    let told = condition(&told, "Terminating").unwrap();
    assert_eq!(
        ["status", "reason", "message"].map(|field| told[field].as_str().unwrap()),
        ["False", "InUse", "Blocking deletion while usages still exist"]
    );
    // With its config, the note can still be taken off the wall.
    api.delete("groceries", &delete).await.unwrap();
    until_gone(api, "groceries").await;
    until_gone(configs, "default").await;
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn a_deleted_crd_is_reinstalled() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    configure(&cluster, json!({ "token": "canary" })).await;
    let (definitions, name) = (cluster.definitions(), "notes.notes.example.org");
    let first = definitions.get(name).await.unwrap().metadata.uid;
    definitions.delete(name, &DeleteParams::default()).await.unwrap();
    until(&definitions, name, "installed anew", |crd| {
        crd.metadata.uid != first && is_true(crd, "Established")
    })
    .await;
    let api = cluster.namespaced("Note");
    create(&api, note()).await.unwrap();
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    assert_eq!(bridge.stop().await, Some(0));
}

const MANIFESTS: &str = include_str!("../../../deploy/bridge.yaml");

pub async fn apply_manifests(cluster: &Cluster, text: &str) {
    for document in serde_yaml_ng::Deserializer::from_str(text) {
        let applied = object(Value::deserialize(document).unwrap());
        let types = applied.types.clone().unwrap();
        let (group, version) = types
            .api_version
            .split_once('/')
            .unwrap_or(("", &types.api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &types.kind));
        let api: Api<DynamicObject> = match &applied.metadata.namespace {
            Some(namespace) => Api::namespaced_with(cluster.client.clone(), namespace, &resource),
            None => Api::all_with(cluster.client.clone(), &resource),
        };
        let name = applied.metadata.name.clone().unwrap();
        let params = PatchParams::apply("test").force();
        api.patch(&name, &params, &Patch::Apply(&applied)).await.unwrap();
    }
}

#[tokio::test]
async fn the_rights_that_deploy_gives_are_enough() {
    let (mut cluster, notes) = (Cluster::start().await, Notes::start());
    apply_manifests(
        &cluster,
        &MANIFESTS.replace("- aws.crossbridge.dev", "- notes.example.org"),
    )
    .await;
    let account = "system:serviceaccount:crossbridge-system:bridge-aws";
    let kubeconfig = cluster.plane.user_kubeconfig(account, None).unwrap();
    let bridge = Bridge::start_as(
        &kubeconfig,
        &notes.endpoint(),
        &[
            "--namespace",
            "crossbridge-system",
            "--leader-election",
            "--leader-election-name",
            "bridge-aws",
        ],
    )
    .await;
    bridge.until_ready().await;
    configure(&cluster, json!({ "token": "canary" })).await;
    let api = cluster.namespaced("Note");
    let mut published = note();
    published["spec"]["writeConnectionSecretToRef"] = json!({ "name": "where" });
    create(&api, published).await.unwrap();
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    let secret = until(&cluster.secrets(), "where", "written", |secret| {
        secret.data["data"]["url"].is_string()
    })
    .await;
    assert_eq!(secret.data["type"], "connection.crossplane.io/v1alpha1");
    let config = cluster.cluster_scoped("ClusterProviderConfig");
    until(&config, "default", "usable", |config| is_true(config, "Ready")).await;
    api.delete("groceries", &DeleteParams::default()).await.unwrap();
    until_gone(api, "groceries").await;
    let metrics = bridge.get("/metrics").await.1;
    let forbidden: Vec<&str> = metrics
        .lines()
        .filter(|line| line.contains("code=\"403\""))
        .collect();
    assert_eq!(forbidden, Vec::<&str>::new());
    assert_eq!(bridge.stop().await, Some(0));
}
