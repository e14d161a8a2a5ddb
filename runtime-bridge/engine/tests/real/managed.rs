//! The shell of the machine on a real API server, before an external system of the test's own.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bridge_core::{external::Secrets, managed::names, queue::Priority, watch_plan::GroupKind};
use bridge_engine::object::Key;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    harness::{until, within},
    things::{PLACES, POLL, RealHarness},
};

#[tokio::test]
async fn a_deleted_connection_secret_is_recreated() {
    let stage = RealHarness::new().await;
    let _process = stage.process().await;
    stage.create("one", json!({})).await;
    stage.value("one", "Ready", "Available").await;
    let path = format!("/api/v1/namespaces/{}/secrets/one", stage.namespace);
    let first = stage.admin.get(&path).await.unwrap();
    stage.admin.delete(&path).await.unwrap();
    let second = within(async {
        loop {
            if let Ok(second) = stage.admin.get(&path).await {
                return second;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert_ne!(second["metadata"]["uid"], first["metadata"]["uid"]);
    assert_eq!(second["data"], first["data"]);
}

#[tokio::test]
async fn deleting_is_shown_though_the_config_cannot_be_read() {
    let stage = RealHarness::new().await;
    let process = stage.process().await;
    stage.create("one", json!({})).await;
    stage.value("one", "Ready", "Available").await;
    process.configs.0.send_replace(false);
    stage.admin.delete(&stage.path("one")).await.unwrap();
    stage.value("one", "Ready", "Deleting").await;
    process.configs.0.send_replace(true);
    within(async {
        while stage.admin.get(&stage.path("one")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(stage.outside.things.lock().is_empty());
}

/// Its usages are another process's to see to: the mark of its object tells.
#[tokio::test]
async fn what_is_in_use_keeps_its_external_resource() {
    let stage = RealHarness::new().await;
    let usages: Value =
        serde_yaml_ng::from_str(include_str!("../../../core/src/crd/crossplane/usage.yaml")).unwrap();
    // Other tests of this control plane may have created it.
    drop(stage.admin.create(crate::admin::DEFINITIONS, &usages).await);
    let process = stage.process().await;
    stage.create("one", json!({})).await;
    stage.value("one", "Ready", "Available").await;
    let kind = GroupKind::new("protection.crossplane.io", "Usage");
    until("the definition is known", || {
        process.engine.watches.is_defined(&kind) == Some(true)
    })
    .await;
    let mark = |label: Value, by: Value| {
        json!({"metadata": {
            "labels": {"crossplane.io/in-use": label}, "annotations": {"crossbridge.dev/in-use-by": by},
        }})
    };
    let held = mark(json!("true"), json!("Usage team/keep: why"));
    stage.admin.patch(&stage.path("one"), &held).await.unwrap();
    stage.admin.delete(&stage.path("one")).await.unwrap();
    stage.value("one", "Ready", "Deleting").await;
    let object = stage.admin.get(&stage.path("one")).await.unwrap();
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|one| one["type"] == "Ready").unwrap();
    assert_eq!(ready["message"], "in use by Usage team/keep: why");
    assert!(stage.outside.things.lock().contains_key("one"));
    let free = mark(Value::Null, Value::Null);
    stage.admin.patch(&stage.path("one"), &free).await.unwrap();
    within(async {
        while stage.admin.get(&stage.path("one")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(stage.outside.things.lock().is_empty());
}

#[tokio::test]
async fn after_a_restart_whoever_is_recorded_keeps_the_resource() {
    let stage = RealHarness::new().await;
    let first = stage.process().await;
    stage.create("mine", json!({})).await;
    stage.value("mine", "Ready", "Available").await;
    // Whose turn comes first after the restart: not its own.
    let paused = json!({"metadata": {"annotations": {names::PAUSED: "true"}}});
    stage.admin.patch(&stage.path("mine"), &paused).await.unwrap();
    stage.value("mine", "Synced", "ReconcilePaused").await;
    drop(first);
    the_newcomer_is_refused(&stage).await;
}

#[tokio::test]
async fn after_a_restart_the_creator_keeps_the_resource() {
    let stage = RealHarness::new().await;
    let first = stage.process().await;
    stage.create("mine", json!({})).await;
    stage.value("mine", "Ready", "Available").await;
    let paused = json!({"metadata": {"annotations": {names::PAUSED: "true"}}});
    stage.admin.patch(&stage.path("mine"), &paused).await.unwrap();
    stage.value("mine", "Synced", "ReconcilePaused").await;
    drop(first);
    // As if the process had died before the status: its create is not confirmed.
    let path = format!("{}/status", stage.path("mine"));
    let unconfirmed = json!({"status": {"crossbridge": null}});
    stage.admin.patch(&path, &unconfirmed).await.unwrap();
    the_newcomer_is_refused(&stage).await;
}

/// Another object that wants the name of `mine` gets nothing, and its deletion takes nothing away.
async fn the_newcomer_is_refused(stage: &RealHarness) {
    let _second = stage.process().await;
    stage.create("other", json!({names::EXTERNAL_NAME: "mine"})).await;
    stage.value("other", "Synced", "DoublyOwned").await;
    stage.admin.delete(&stage.path("other")).await.unwrap();
    within(async {
        while stage.admin.get(&stage.path("other")).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    assert!(stage.outside.things.lock().contains_key("mine"));
}

#[tokio::test]
async fn a_permit_is_acquired_before_an_intent_is_recorded() {
    let stage = RealHarness::new().await;
    let process = stage.process().await;
    let all = u32::try_from(PLACES).unwrap();
    let taken = Arc::clone(&stage.outside.permits)
        .acquire_many_owned(all)
        .await
        .unwrap();
    stage.create("one", json!({})).await;
    process.all_wait(1).await;
    let one = stage.admin.get(&stage.path("one")).await.unwrap();
    assert_eq!(one["metadata"]["annotations"][names::RECORD], Value::Null);
    assert_eq!(stage.outside.calls.load(Ordering::SeqCst), 0);
    drop(taken);
    stage.value("one", "Ready", "Available").await;
    assert_eq!(stage.outside.permits.available_permits(), PLACES);
}

#[tokio::test]
async fn objects_that_wait_for_a_hanging_plugin_take_no_place_of_others() {
    let mut stage = RealHarness::new().await;
    // Longer than the test waits for anything: none of them gives up.
    Arc::make_mut(&mut stage.kind).timeouts.call = Duration::from_mins(10);
    let process = stage.process().await;
    let all = u32::try_from(PLACES).unwrap();
    let hanging = Arc::clone(&stage.outside.permits)
        .acquire_many_owned(all)
        .await
        .unwrap();
    let objects: Vec<String> = (0..3 * PLACES).map(|number| format!("waits-{number}")).collect();
    for name in &objects {
        stage.create(name, json!({})).await;
    }
    process.all_wait(objects.len()).await;
    assert_eq!(stage.outside.calls.load(Ordering::SeqCst), 0);
    // One of them goes while it waits: what was acquired for it is not lost.
    stage.admin.delete(&stage.path(&objects[0])).await.unwrap();
    drop(hanging);
    for name in &objects[1..] {
        stage.value(name, "Ready", "Available").await;
    }
    until("every permit is given back", || {
        stage.outside.permits.available_permits() == PLACES
    })
    .await;
}

#[tokio::test]
async fn after_a_restart_objects_at_rest_wait_for_their_poll() {
    let stage = RealHarness::new().await;
    let first = stage.process().await;
    stage.create("one", json!({})).await;
    stage.value("one", "Ready", "Available").await;
    drop(first);

    let second = stage.process().await;
    let key = Key::new(second.controller.api.kind.clone(), Some(&stage.namespace), "one");
    let one = second.engine.store.get(&key).unwrap();
    let reconciler = &second.controller.reconciler;
    assert_eq!(
        reconciler.flow(&one),
        "ClusterProviderConfig.plugin.crossbridge.dev account"
    );
    let now = Timestamp::now();
    let turns = (0..20).map(|_| reconciler.initial_schedule(&one, now));
    let (at, priorities): (BTreeSet<_>, Vec<_>) = turns.map(|turn| (turn.at, turn.priority)).unzip();
    assert!(at.len() > 1, "not all at one moment: {at:?}");
    // And a slot, as polls come together.
    assert!(at.iter().all(|at| *at <= now + POLL + Duration::from_millis(250)));
    assert_eq!(priorities, [Priority::InitialList; 20]);
}

/// Refuses what says this in the record of a thing; in force when this returns.
pub(crate) async fn a_policy_against(stage: &RealHarness, word: &str) -> String {
    let group = &stage.kind.resource_type.group;
    let record = format!("object.metadata.?annotations[?'{}'].orValue('')", names::RECORD);
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": group},
        "spec": {
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [group], "apiVersions": ["*"], "resources": ["things"], "operations": ["UPDATE"],
            }]},
            "validations": [{"expression": format!("!{record}.contains('{word}')"), "message": "no such word"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": group},
        "spec": {"policyName": group, "validationActions": ["Deny"]},
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic";
    stage.admin.create(&format!("{path}ies"), &policy).await.unwrap();
    let bindings = format!("{path}ybindings");
    stage.admin.create(&bindings, &binding).await.unwrap();
    stage.create("probe", json!({names::PAUSED: "true"})).await;
    within(async {
        for turn in 0.. {
            let said = json!({"metadata": {"annotations": {names::RECORD: format!("{word} {turn}")}}});
            if stage.admin.patch(&stage.path("probe"), &said).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    format!("{bindings}/{group}")
}

/// What an event says of the answer that cannot be stored, once there is one.
pub(crate) async fn not_stored(stage: &RealHarness, name: &str) -> String {
    let events = format!("/api/v1/namespaces/{}/events", stage.namespace);
    within(async {
        loop {
            let events = stage.admin.get(&events).await.unwrap();
            let mut events = events["items"].as_array().unwrap().iter();
            let refused = |event: &&Value| {
                event["reason"] == "CannotUpdateManagedResource" && event["involvedObject"]["name"] == name
            };
            if let Some(event) = events.find(refused) {
                return event["message"].as_str().unwrap_or_default().to_owned();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

#[tokio::test]
async fn an_answer_denied_by_a_webhook_is_stored_later() {
    let stage = RealHarness::new().await;
    let _process = stage.process().await;
    let binding = a_policy_against(&stage, "told-once").await;
    stage.outside.told.lock().0 = "told-once".to_owned();
    stage.create("one", json!({})).await;
    let told = not_stored(&stage, "one").await;
    assert!(
        told.contains("external name \"one\"") && told.contains("no such word"),
        "{told}"
    );
    stage.admin.delete(&binding).await.unwrap();
    stage.value("one", "Ready", "Available").await;
    let one = stage.admin.get(&stage.path("one")).await.unwrap();
    let record = one["metadata"]["annotations"][names::RECORD].as_str().unwrap();
    assert!(record.contains("told-once"), "{record}");
}

#[tokio::test]
async fn a_foreign_connection_secret_does_not_delay_shutdown() {
    let stage = RealHarness::new().await;
    let process = stage.process().await;
    let secrets = format!("/api/v1/namespaces/{}/secrets", stage.namespace);
    let theirs = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}});
    stage.admin.create(&secrets, &theirs).await.unwrap();
    stage.outside.told.lock().1 = Secrets(BTreeMap::from([("endpoint".to_owned(), "one".into())]));
    let closed = stage.outside.open.acquire().await.unwrap();
    stage.create("one", json!({})).await;
    until("its creation is on its way", || {
        stage.outside.calls.load(Ordering::SeqCst) == 2
    })
    .await;
    process.gate.send_replace(false);
    process.shared.stop_acting();
    drop(closed);
    let left = process.shared.drain(Duration::from_secs(20)).await;
    assert_eq!(left, 0, "what a look shows again keeps nobody");
    assert!(stage.outside.things.lock().contains_key("one"));
}

/// Else it would observe in vain, turn by turn, where an observation is not kept and others wait.
#[tokio::test]
async fn an_observation_keeps_its_permit_for_the_call_that_follows() {
    let stage = RealHarness::new().await;
    let process = stage.process().await;
    stage.create("one", json!({})).await;
    stage.value("one", "Ready", "Available").await;
    process.all_wait(1).await;
    let before = stage.outside.calls.load(Ordering::SeqCst);
    let more = || stage.outside.calls.load(Ordering::SeqCst) - before;
    let closed = stage.outside.observing.acquire_many(u32::MAX).await.unwrap();
    stage.outside.observing.forget_permits(usize::MAX);
    let resized = json!({"spec": {"forProvider": {"size": 2}}});
    stage.admin.patch(&stage.path("one"), &resized).await.unwrap();
    until("it is being observed", || more() == 1).await;
    // All other permits are taken, and whoever is next waits already.
    let rest = stage.outside.permits.available_permits();
    let _taken = Arc::clone(&stage.outside.permits)
        .acquire_many_owned(u32::try_from(rest).unwrap())
        .await
        .unwrap();
    let permits = Arc::clone(&stage.outside.permits);
    let waits = tokio::spawn(async move { permits.acquire_owned().await });
    tokio::task::yield_now().await;
    drop(closed);
    until("it was updated", || {
        stage.outside.things.lock()["one"]["size"] == 2
    })
    .await;
    let _next = within(waits).await.unwrap();
}
