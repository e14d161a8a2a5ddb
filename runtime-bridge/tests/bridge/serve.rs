//! The bridge at work on a real API server, with a real plugin.

use std::{sync::atomic::Ordering, time::Duration};

use bridge_control_plane::process::{Output, Spawn};
use serde_json::{Value, json};

use crate::{
    admin::Bridge,
    cluster::{Cluster, condition, configure, create, is_true, merge, note, until, until_served},
    notes::{Notes, SLOW},
    program::{BRIDGE, run},
    rules::apply_printed,
};

const LIMIT: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_first_start_and_an_orderly_stop_log_lines_and_no_warning() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    let (send, lines) = std::sync::mpsc::channel();
    let bridge = Spawn::new(BRIDGE)
        .args([
            "serve",
            "--admin-address",
            "127.0.0.1:0",
            "--leader-election",
            "--compositions",
        ])
        .args(["--plugin", &notes.endpoint(), "--kubeconfig"])
        .arg(cluster.plane.kubeconfig())
        .stderr(Output::lines(move |line| drop(send.send(line.to_owned()))))
        .spawn()
        .unwrap();
    until_served(&cluster.namespaced("Note")).await;
    configure(&cluster, json!({ "token": "canary" })).await;
    let api = cluster.namespaced("Note");
    create(&api, note()).await.unwrap();
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    assert_eq!(bridge.stop(LIMIT).await.code(), Some(0));
    let lines: Vec<String> = lines.iter().collect();
    let is_asked = |line: &String| line.contains("received a signal to stop");
    assert!(lines.iter().any(is_asked), "it says that it stops");
    for line in &lines {
        let mut words = line.split_whitespace();
        let is_time = words
            .next()
            .is_some_and(|time| time.ends_with('Z') && time.contains('T'));
        // Kinds wait until their new CRDs are established, which is no reason to warn anybody.
        let is_of_level = words.next() == Some("INFO");
        assert!(is_time && is_of_level, "{line:?} in\n{}", lines.join("\n"));
    }
}

#[tokio::test]
async fn a_kind_is_served_to_ready_and_after_a_restart() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    let state = bridge.state().await;
    assert_eq!(state["plugins"][0]["name"], "notes.example.org");
    assert_eq!(state["kinds"]["Note.notes.example.org/v1alpha1"], "served");

    configure(&cluster, json!({ "token": "canary" })).await;
    let notes_api = cluster.namespaced("Note");
    create(&notes_api, note()).await.unwrap();
    let ready = until(&notes_api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    assert!(is_true(&ready, "Synced"), "{ready:?}");
    let config = cluster.cluster_scoped("ClusterProviderConfig");
    let usable = until(&config, "default", "usable", |config| is_true(config, "Ready")).await;
    let said = condition(&usable, "Ready").unwrap();
    assert_eq!(
        (&said["reason"], &said["message"]),
        (&json!("Usable"), &json!("authenticated as desk"))
    );

    let (status, metrics) = bridge.get("/metrics").await;
    assert_eq!(status, 200);
    for metric in ["crossbridge_plugin_calls_total", "crossbridge_api_requests_total"] {
        assert!(metrics.contains(metric), "{metric} is not among the metrics");
    }
    let uid = ready.metadata.uid.clone().unwrap();
    let namespace = ready.metadata.namespace.clone().unwrap();
    let (_, paths) = bridge.get("/").await;
    assert_eq!(paths.lines().count(), 5, "{paths}");
    for line in paths.lines() {
        let path = line.split(' ').next().unwrap_or_default();
        let path = path
            .replace("GROUP/KIND", "notes.example.org/Note")
            .replace("NAMESPACE/NAME/UID", &format!("{namespace}/groceries/{uid}"));
        assert_eq!(bridge.get(&path).await.0, 200, "{path}");
    }
    assert_eq!(
        run(&["healthcheck", "--admin-address", &bridge.address])
            .await
            .code,
        Some(0)
    );
    assert_eq!(bridge.stop().await, Some(0));

    let versions = |cluster: &Cluster| {
        let definitions = cluster.definitions();
        async move {
            let all = definitions.list(&kube::api::ListParams::default()).await.unwrap();
            all.into_iter()
                .map(|crd| crd.metadata.resource_version)
                .collect::<Vec<_>>()
        }
    };
    let before = versions(&cluster).await;
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    assert_eq!(
        versions(&cluster).await,
        before,
        "CRDs that are as they should be are not written"
    );
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn an_object_reports_its_config_error_until_fixed() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    let api = cluster.namespaced("Note");
    create(&api, note()).await.unwrap();
    let says = |reason: &'static str, words: &'static str| {
        move |note: &kube::api::DynamicObject| {
            let synced = condition(note, "Synced");
            synced.is_some_and(|synced| {
                synced["status"] == "False"
                    && synced.to_string().contains(words)
                    && synced.to_string().contains(reason)
            })
        }
    };
    until(
        &api,
        "groceries",
        "without a config",
        says("ProviderConfigNotFound", "does not exist: create it"),
    )
    .await;
    configure(&cluster, json!({ "wrong": "canary" })).await;
    let lacking = until(
        &api,
        "groceries",
        "without a credential",
        says("CredentialMissing", "has no credential"),
    )
    .await;
    assert!(!format!("{lacking:?}").contains("canary"));
    merge(
        &cluster.secrets(),
        "keys",
        json!({ "stringData": { "token": "canary" } }),
    )
    .await
    .unwrap();
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn check_mode_serves_a_kind_once_its_crd_is_applied() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &["--crds", "check"]).await;
    let missing = |_: u16, text: &str| text.contains("the CRD notes.notes.example.org is not installed");
    bridge.until("/debug/state", missing).await;
    assert!(
        cluster
            .definitions()
            .get_opt("notes.notes.example.org")
            .await
            .unwrap()
            .is_none()
    );
    apply_printed(&cluster, &notes.endpoint()).await;
    let served = |_: u16, text: &str| {
        let state: Value = serde_json::from_str(text).unwrap_or_default();
        state["kinds"]["Note.notes.example.org/v1alpha1"] == "served"
    };
    bridge.until("/debug/state", served).await;
    bridge.until_ready().await;
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn an_upgraded_plugin_serves_new_kinds_without_a_restart() {
    let (cluster, mut notes) = (Cluster::start().await, Notes::start());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &[]).await;
    bridge.until_ready().await;
    configure(&cluster, json!({ "token": "canary" })).await;
    let api = cluster.namespaced("Note");
    create(&api, note()).await.unwrap();
    until(&api, "groceries", "ready", |note| is_true(note, "Ready")).await;

    notes.upgrade().await;
    let served = |_: u16, text: &str| {
        let state: Value = serde_json::from_str(text).unwrap_or_default();
        state["kinds"]["Sticker.notes.example.org/v1alpha1"] == "served"
    };
    bridge.until("/debug/state", served).await;
    bridge.until_ready().await;
    let mut sticker = note();
    sticker["kind"] = json!("Sticker");
    create(&cluster.namespaced("Sticker"), sticker).await.unwrap();
    until(&cluster.namespaced("Sticker"), "groceries", "ready", |note| {
        is_true(note, "Ready")
    })
    .await;
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
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn a_changed_plugin_stops_no_kind_of_another() {
    let (cluster, mut notes, memos) = (Cluster::start().await, Notes::start(), Notes::memos());
    let bridge = Bridge::start(&cluster, &notes.endpoint(), &["--plugin", &memos.endpoint()]).await;
    bridge.until_ready().await;
    cluster.configure_memos().await;
    let memo = |name: &str, title: &str| {
        let mut memo = note();
        memo["apiVersion"] = json!("memos.example.org/v1alpha1");
        memo["kind"] = json!("Memo");
        memo["metadata"]["name"] = json!(name);
        memo["spec"]["forProvider"]["title"] = json!(title);
        memo
    };
    let api = cluster.memos();
    create(&api, memo("slow", SLOW)).await.unwrap();
    tokio::time::timeout(LIMIT, memos.wall.called.notified())
        .await
        .expect("the plugin is called");

    // The creation of the slow one goes on and on.
    notes.upgrade().await;
    let served = |_: u16, text: &str| {
        let state: Value = serde_json::from_str(text).unwrap_or_default();
        state["kinds"]["Sticker.notes.example.org/v1alpha1"] == "served"
    };
    bridge.until("/debug/state", served).await;
    create(&api, memo("quick", "Buy milk")).await.unwrap();
    until(&api, "quick", "ready", |memo| is_true(memo, "Ready")).await;
    assert!(!is_true(&api.get("slow").await.unwrap(), "Ready"));

    memos.wall.released.notify_one();
    until(&api, "slow", "ready", |memo| is_true(memo, "Ready")).await;
    assert_eq!(memos.wall.creates.load(Ordering::SeqCst), 2);
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn sigterm_during_startup_stops_the_bridge() {
    let cluster = Cluster::start().await;
    let bridge = Bridge::start(
        &cluster,
        "unix:///no/such/plugin.sock",
        &["--startup-timeout", "1h"],
    )
    .await;
    assert_eq!(bridge.get("/livez").await.0, 200);
    let (status, text) = bridge.get("/readyz").await;
    assert_eq!((status, text.as_str()), (503, "[-] startup: not finished\n"));
    let asked = run(&["healthcheck", "--admin-address", &bridge.address]).await;
    assert_eq!(asked.code, Some(1));
    assert!(
        asked.stderr.contains("is not ready: [-] startup: not finished"),
        "{}",
        asked.stderr
    );
    assert_eq!(bridge.stop().await, Some(0));
}
