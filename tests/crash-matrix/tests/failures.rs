//! Failures beyond a kill: SIGTERM, lost connectivity, false answers, restored backups. Real processes, a real API server, and a cloud that counts.
#![allow(clippy::unwrap_used, reason = "helpers of tests may, as tests do")]

use std::time::Duration;

use crash_matrix::{
    cluster::{Handle, annotation, condition, is_ready_and_synced},
    testbed::{LIMIT, Programs, Testbed},
};
use fake_cloud::{
    cloud::External,
    fault::{Fault, FaultOutcome, Rpc},
    kinds,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const NAMESPACE: &str = "team";
const MANY: usize = 100;

async fn testbed(call_seconds: Option<u32>) -> Testbed {
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
        ..Programs::from_build("runtime-bridge", &flags).unwrap()
    };
    let testbed = Testbed::start(programs).await.unwrap();
    testbed.cluster.namespace(NAMESPACE).await.unwrap();
    testbed
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

fn handle(testbed: &Testbed, kind: &str, name: &str) -> Handle {
    testbed.cluster.object(kind, NAMESPACE, name)
}

async fn until_ready_and_synced(handle: &Handle) -> Value {
    let mut last = Value::Null;
    until("it is ready", async || {
        last = handle.get().await.unwrap().unwrap_or_default();
        is_ready_and_synced(&last)
    })
    .await;
    last
}

/// Calls of this kind that reached the cloud, whoever sent them.
async fn calls(testbed: &Testbed, rpc: Rpc) -> usize {
    let entries = testbed.cloud.entries().await.unwrap();
    entries.iter().filter(|entry| entry.rpc == rpc).count()
}

/// What there is of this object, which is all that was ever created for it.
async fn single_external_object(testbed: &Testbed, object: &Value) -> External {
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let mut made = testbed.cloud.created_for(uid).await.unwrap();
    let removed = testbed.cloud.removed().await.unwrap();
    assert!(
        removed.iter().all(|one| one.external.created_for != uid),
        "one was removed: {removed:?}"
    );
    assert_eq!(made.len(), 1, "{made:?}");
    let external = made.remove(0);
    assert_eq!(annotation(object, "crossplane.io/external-name"), external.name);
    external
}

/// Creations that take effect at once and are answered late.
async fn delay_creations(testbed: &Testbed, wait: Duration, times: usize) {
    let fate = FaultOutcome::Slow(u32::try_from(wait.as_millis()).unwrap());
    let times = u32::try_from(times).unwrap();
    testbed
        .cloud
        .inject(&Fault::once(Rpc::Create, fate).times(times))
        .await
        .unwrap();
}

/// A kind without recovery: a lost answer would become a question to a person.
async fn begin_many_creations(testbed: &Testbed, wait: Duration) -> Vec<Handle> {
    delay_creations(testbed, wait, MANY).await;
    let handles: Vec<Handle> = (0..MANY)
        .map(|i| handle(testbed, "Nothing", &format!("one-{i}")))
        .collect();
    for handle in &handles {
        handle.create(object()).await.unwrap();
    }
    until("all creations have reached the cloud", async || {
        calls(testbed, Rpc::Create).await == MANY
    })
    .await;
    handles
}

#[tokio::test]
async fn sigterm_with_100_pending_creates_stores_every_answer() {
    let mut testbed = testbed(Some(60)).await;
    let handles = begin_many_creations(&testbed, Duration::from_secs(15)).await;
    testbed.terminate_bridge();
    assert_eq!(testbed.wait_for_bridge_exit().await.unwrap(), Some(0));
    for handle in &handles {
        let stored = handle.get().await.unwrap().unwrap();
        assert!(!annotation(&stored, "crossplane.io/external-create-succeeded").is_empty());
        single_external_object(&testbed, &stored).await;
    }
    testbed.start_bridge(None).unwrap();
    for handle in &handles {
        let well = until_ready_and_synced(handle).await;
        single_external_object(&testbed, &well).await;
    }
    assert_eq!(calls(&testbed, Rpc::Create).await, MANY);
}

#[tokio::test]
async fn unstored_answers_fail_the_exit_code() {
    let mut testbed = testbed(Some(60)).await;
    delay_creations(&testbed, Duration::from_secs(3), 1).await;
    let lost = handle(&testbed, "Nothing", "lost");
    lost.create(object()).await.unwrap();
    until("the creation has reached the cloud", async || {
        calls(&testbed, Rpc::Create).await == 1
    })
    .await;
    testbed.plane.stop_api_server();
    testbed.terminate_bridge();
    assert_eq!(testbed.wait_for_bridge_exit().await.unwrap(), Some(1));
    testbed.plane.start_api_server().await.unwrap();
    // The name is in the log, and a person is asked: nothing is guessed.
    let name = testbed.cloud.objects().await.unwrap()[0].name.clone();
    let logged = std::fs::read_to_string(testbed.folder().join("bridge-0.log")).unwrap();
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
async fn an_api_outage_after_create_loses_nothing() {
    let mut testbed = testbed(Some(60)).await;
    let kinds = ["Token", "Nothing", "Marked", "Cluster", "Job"];
    delay_creations(&testbed, Duration::from_secs(2), kinds.len()).await;
    let handles: Vec<Handle> = kinds.iter().map(|kind| handle(&testbed, kind, "one")).collect();
    for handle in &handles {
        handle.create(object()).await.unwrap();
    }
    until("the creations have reached the cloud", async || {
        calls(&testbed, Rpc::Create).await == kinds.len()
    })
    .await;
    testbed.plane.stop_api_server();
    sleep(Duration::from_mins(1)).await;
    testbed.plane.start_api_server().await.unwrap();
    for handle in &handles {
        let well = until_ready_and_synced(handle).await;
        single_external_object(&testbed, &well).await;
    }
    assert_eq!(calls(&testbed, Rpc::Create).await, kinds.len());
}

#[tokio::test]
async fn a_single_false_absence_creates_no_second_resource() {
    let testbed = testbed(None).await;
    let subjects = kinds::all();
    let handles: Vec<Handle> = subjects
        .iter()
        .map(|subject| handle(&testbed, subject.name(), "blip"))
        .collect();
    for handle in &handles {
        handle.create(object()).await.unwrap();
    }
    for handle in &handles {
        until_ready_and_synced(handle).await;
    }
    let creations = calls(&testbed, Rpc::Create).await;
    for (i, handle) in handles.iter().enumerate() {
        testbed
            .cloud
            .inject(&Fault::once(Rpc::Observe, FaultOutcome::Lie))
            .await
            .unwrap();
        let request = format!("observe-{i}");
        handle
            .merge(json!({"metadata": {"annotations": {"crossplane.io/reconcile-requested-at": request}}}))
            .await
            .unwrap();
        until("it was observed", async || {
            let object = handle.get().await.unwrap().unwrap();
            object["status"]["lastHandledReconcileAt"] == request.as_str() && is_ready_and_synced(&object)
        })
        .await;
    }
    let entries = testbed.cloud.entries().await.unwrap();
    let lies = entries
        .iter()
        .filter(|entry| entry.fate == FaultOutcome::Lie)
        .count();
    assert_eq!(lies, handles.len());
    assert_eq!(calls(&testbed, Rpc::Create).await, creations);
    for handle in &handles {
        single_external_object(&testbed, &handle.get().await.unwrap().unwrap()).await;
    }
}

#[tokio::test]
async fn a_restored_object_finds_its_resource_or_asks() {
    let mut testbed = testbed(None).await;
    let subjects = kinds::all();
    let handles: Vec<Handle> = subjects
        .iter()
        .map(|subject| handle(&testbed, subject.name(), "backup"))
        .collect();
    for handle in &handles {
        handle.create(object()).await.unwrap();
    }
    let mut before = Vec::new();
    for handle in &handles {
        before.push(until_ready_and_synced(handle).await);
    }
    // The bridge does not see how they go and come back.
    testbed.kill_bridge().await;
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
    let creations = calls(&testbed, Rpc::Create).await;
    testbed.start_bridge(None).unwrap();
    for ((handle, old), subject) in handles.iter().zip(&before).zip(&subjects) {
        if subject.kind.capabilities.holds_marker {
            until("it reports DoublyOwned", async || {
                let object = handle.get().await.unwrap().unwrap();
                condition(&object, "Synced")["reason"] == "DoublyOwned"
            })
            .await;
            let uid = old["metadata"]["uid"].as_str().unwrap_or_default();
            let marker = testbed.cloud.created_for(uid).await.unwrap()[0].marker.clone();
            handle
                .merge(json!({"metadata": {"annotations": {"crossbridge.dev/adopt": marker}}}))
                .await
                .unwrap();
        }
        let well = until_ready_and_synced(handle).await;
        assert_ne!(well["metadata"]["uid"], old["metadata"]["uid"]);
        let mut of_old = old.clone();
        of_old["metadata"]["annotations"] = well["metadata"]["annotations"].clone();
        single_external_object(&testbed, &of_old).await;
    }
    assert_eq!(calls(&testbed, Rpc::Create).await, creations);
}
