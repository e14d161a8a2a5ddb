//! What takes more than a kill: told to stop, cut off, lied to, restored. Real processes, a real API server, and a cloud that counts.
#![allow(clippy::unwrap_used, reason = "helpers of tests may, as tests do")]

use std::time::Duration;

use crash_matrix::{
    cluster::{Handle, annotation, condition, is_well},
    stage::{LIMIT, Programs, Stage},
};
use fake_cloud::{
    cloud::External,
    fault::{Fate, Fault, Rpc},
    kinds,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const NAMESPACE: &str = "team";
const MANY: usize = 100;

async fn stage(call_seconds: Option<u32>) -> Stage {
    let flags = [
        "--clock-skew",
        "200ms",
        "--max-concurrent-reconciles",
        "800",
        "--drain-timeout",
        "20s",
    ];
    let programs = Programs {
        call_seconds,
        ..Programs::beside("runtime-bridge", &flags).unwrap()
    };
    let stage = Stage::start(programs).await.unwrap();
    stage.cluster.namespace(NAMESPACE).await.unwrap();
    stage
}

async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !holds().await {
        assert!(Instant::now() < end, "not within {LIMIT:?}: {what}");
        sleep(Duration::from_millis(50)).await;
    }
}

fn object() -> Value {
    json!({"spec": {"forProvider": {"size": 1}}})
}

fn handle(stage: &Stage, kind: &str, name: &str) -> Handle {
    stage.cluster.object(kind, NAMESPACE, name)
}

async fn until_well(handle: &Handle) -> Value {
    let mut last = Value::Null;
    until("it is ready", async || {
        last = handle.get().await.unwrap().unwrap_or_default();
        is_well(&last)
    })
    .await;
    last
}

/// Calls of this kind that reached the cloud, by those who made them.
async fn calls(stage: &Stage, rpc: Rpc) -> usize {
    let entries = stage.cloud.entries().await.unwrap();
    entries.iter().filter(|entry| entry.rpc == rpc).count()
}

/// What there is of this object, which is all that was ever made for it.
async fn only_one(stage: &Stage, object: &Value) -> External {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let mut made = stage.cloud.made_for(uid).await.unwrap();
    let removed = stage.cloud.removed().await.unwrap();
    assert!(
        removed.iter().all(|one| one.external.made_for != uid),
        "one was removed: {removed:?}"
    );
    assert_eq!(made.len(), 1, "{made:?}");
    let external = made.remove(0);
    assert_eq!(annotation(object, "crossplane.io/external-name"), external.name);
    external
}

/// Creations that take effect at once and are answered late.
async fn slow_creations(stage: &Stage, wait: Duration, times: usize) {
    let fate = Fate::Slow(u32::try_from(wait.as_millis()).unwrap());
    let times = u32::try_from(times).unwrap();
    stage
        .cloud
        .inject(&Fault::once(Rpc::Create, fate).times(times))
        .await
        .unwrap();
}

/// A kind that cannot be asked what became of its creation: whatever is lost of it, somebody would be asked.
async fn many_under_way(stage: &Stage, wait: Duration) -> Vec<Handle> {
    slow_creations(stage, wait, MANY).await;
    let handles: Vec<Handle> = (0..MANY)
        .map(|i| handle(stage, "Nothing", &format!("one-{i}")))
        .collect();
    for handle in &handles {
        handle.create(object()).await.unwrap();
    }
    until("all creations have reached the cloud", async || {
        calls(stage, Rpc::Create).await == MANY
    })
    .await;
    handles
}

#[tokio::test]
async fn told_to_stop_with_a_hundred_creations_under_way_it_stores_every_answer() {
    let mut stage = stage(Some(60)).await;
    let handles = many_under_way(&stage, Duration::from_secs(15)).await;
    stage.tell_bridge_to_stop();
    assert_eq!(stage.stopped_bridge().await.unwrap(), Some(0));
    for handle in &handles {
        let stored = handle.get().await.unwrap().unwrap();
        assert!(!annotation(&stored, "crossplane.io/external-create-succeeded").is_empty());
        only_one(&stage, &stored).await;
    }
    stage.start_bridge(None).unwrap();
    for handle in &handles {
        let well = until_well(handle).await;
        only_one(&stage, &well).await;
    }
    assert_eq!(calls(&stage, Rpc::Create).await, MANY);
}

#[tokio::test]
async fn answers_that_cannot_be_stored_are_told_by_the_exit_code() {
    let mut stage = stage(Some(60)).await;
    slow_creations(&stage, Duration::from_secs(3), 1).await;
    let lost = handle(&stage, "Nothing", "lost");
    lost.create(object()).await.unwrap();
    until("the creation has reached the cloud", async || {
        calls(&stage, Rpc::Create).await == 1
    })
    .await;
    stage.plane.stop_api_server();
    stage.tell_bridge_to_stop();
    assert_eq!(stage.stopped_bridge().await.unwrap(), Some(1));
    stage.plane.start_api_server().await.unwrap();
    // The name is in the log, and a person is asked: nothing is guessed.
    let name = stage.cloud.objects().await.unwrap()[0].name.clone();
    let logged = std::fs::read_to_string(stage.folder().join("bridge-0.log")).unwrap();
    assert!(
        logged.contains(&format!("external_name=\"{name}\"")),
        "{name} is not in the log"
    );
    let unanswered = lost.get().await.unwrap().unwrap();
    assert_eq!(
        annotation(&unanswered, "crossplane.io/external-create-succeeded"),
        ""
    );
}

#[tokio::test]
async fn an_api_server_that_is_away_for_a_minute_right_after_a_creation_costs_nothing() {
    let mut stage = stage(Some(60)).await;
    let kinds = ["Token", "Nothing", "Marked", "Cluster", "Job"];
    slow_creations(&stage, Duration::from_secs(2), kinds.len()).await;
    let handles: Vec<Handle> = kinds.iter().map(|kind| handle(&stage, kind, "one")).collect();
    for handle in &handles {
        handle.create(object()).await.unwrap();
    }
    until("the creations have reached the cloud", async || {
        calls(&stage, Rpc::Create).await == kinds.len()
    })
    .await;
    stage.plane.stop_api_server();
    sleep(Duration::from_mins(1)).await;
    stage.plane.start_api_server().await.unwrap();
    for handle in &handles {
        let well = until_well(handle).await;
        only_one(&stage, &well).await;
    }
    assert_eq!(calls(&stage, Rpc::Create).await, kinds.len());
}

#[tokio::test]
async fn a_resource_that_reads_as_absent_once_is_not_made_again() {
    let stage = stage(None).await;
    let subjects = kinds::all();
    let handles: Vec<Handle> = subjects
        .iter()
        .map(|subject| handle(&stage, subject.name(), "blip"))
        .collect();
    for handle in &handles {
        handle.create(object()).await.unwrap();
    }
    for handle in &handles {
        until_well(handle).await;
    }
    let creations = calls(&stage, Rpc::Create).await;
    for (i, handle) in handles.iter().enumerate() {
        stage
            .cloud
            .inject(&Fault::once(Rpc::Observe, Fate::Lie))
            .await
            .unwrap();
        let request = format!("look-{i}");
        handle
            .merge(json!({"metadata": {"annotations": {"crossplane.io/reconcile-requested-at": request}}}))
            .await
            .unwrap();
        until("it was looked at", async || {
            let object = handle.get().await.unwrap().unwrap();
            object["status"]["lastHandledReconcileAt"] == request.as_str() && is_well(&object)
        })
        .await;
    }
    let entries = stage.cloud.entries().await.unwrap();
    let lies = entries.iter().filter(|entry| entry.fate == Fate::Lie).count();
    assert_eq!(lies, handles.len());
    assert_eq!(calls(&stage, Rpc::Create).await, creations);
    for handle in &handles {
        only_one(&stage, &handle.get().await.unwrap().unwrap()).await;
    }
}

#[tokio::test]
async fn an_object_from_an_old_backup_finds_its_resource_or_asks() {
    let mut stage = stage(None).await;
    let subjects = kinds::all();
    let handles: Vec<Handle> = subjects
        .iter()
        .map(|subject| handle(&stage, subject.name(), "backup"))
        .collect();
    for handle in &handles {
        handle.create(object()).await.unwrap();
    }
    let mut before = Vec::new();
    for handle in &handles {
        before.push(until_well(handle).await);
    }
    // The bridge does not see how they go and come back.
    stage.kill_bridge().await;
    for (handle, old) in handles.iter().zip(&before) {
        handle
            .merge(json!({"metadata": {"finalizers": null}}))
            .await
            .unwrap();
        handle.delete().await.unwrap();
        let mut restored = object();
        restored["metadata"]["annotations"] = old["metadata"]["annotations"].clone();
        handle.create(restored).await.unwrap();
    }
    let creations = calls(&stage, Rpc::Create).await;
    stage.start_bridge(None).unwrap();
    for ((handle, old), subject) in handles.iter().zip(&before).zip(&subjects) {
        if subject.kind.capabilities.holds_marker {
            until("it asks whose the resource is", async || {
                let object = handle.get().await.unwrap().unwrap();
                condition(&object, "Synced")["reason"] == "DoublyOwned"
            })
            .await;
            let uid = old["metadata"]["uid"].as_str().unwrap_or_default();
            let marker = stage.cloud.made_for(uid).await.unwrap()[0].marker.clone();
            handle
                .merge(json!({"metadata": {"annotations": {"crossbridge.dev/adopt": marker}}}))
                .await
                .unwrap();
        }
        let well = until_well(handle).await;
        assert_ne!(well["metadata"]["uid"], old["metadata"]["uid"]);
        let mut of_old = old.clone();
        of_old["metadata"]["annotations"] = well["metadata"]["annotations"].clone();
        only_one(&stage, &of_old).await;
    }
    assert_eq!(calls(&stage, Rpc::Create).await, creations);
}
