//! Composite resources whose inputs change without end.

use std::time::Duration;

use bridge_core::composite::{CircuitSettings, Settings};
use serde_json::{Value, json};

use super::stage::{Bridge, Stage, order, orders};

/// Changes something again and again until the composite resource says that it follows more slowly.
async fn until_open(stage: &Stage, path: &str, changed: &str, patch: impl Fn(u32) -> Value) -> Value {
    let mut round = 0;
    let changing = async {
        loop {
            round += 1;
            stage.admin.patch(changed, &patch(round)).await.unwrap();
            // Faster than runs follow one another.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::select! {
        opened = stage.condition(path, "Responsive", "WatchCircuitOpen") => opened,
        () = changing => unreachable!("it goes on"),
    }
}

fn message(object: &Value) -> &str {
    let conditions = object["status"]["conditions"].as_array().unwrap();
    let mut conditions = conditions.iter();
    let responsive = conditions.find(|condition| condition["type"] == "Responsive");
    responsive.unwrap()["message"].as_str().unwrap()
}

#[tokio::test]
async fn what_changes_without_end_is_followed_more_slowly_and_never_lost() {
    let stage = Stage::new().await;
    let settings = Settings {
        circuit: CircuitSettings {
            burst: 5,
            refill: Duration::from_secs(1),
            cooldown: Duration::from_secs(6),
        },
        ..Settings::default()
    };
    let bridge = Bridge::start_with(&stage.plane, settings).await;
    stage.install().await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = format!("{}/a", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    let ready = stage.ready(&path).await;
    let name = ready["spec"]["crossplane"]["resourceRefs"][0]["name"]
        .as_str()
        .unwrap();
    let composed = format!("/api/v1/namespaces/{namespace}/configmaps/{name}");

    let noise = |round: u32| json!({"metadata": {"annotations": {"example.org/noise": round.to_string()}}});
    let open = until_open(&stage, &path, &composed, noise).await;
    assert_eq!(
        message(&open),
        "Too many watch events from composed or required resources. Allowing events periodically."
    );
    stage.condition(&path, "Responsive", "WatchCircuitClosed").await;

    let edit = |round: u32| json!({"spec": {"values": {"first": round.to_string()}}});
    // An edit is followed by a change of what it composes: either may be the one too many.
    let open = until_open(&stage, &path, &path, edit).await;
    let (itself, others) = (format!("Order/a ({namespace})"), "composed or required resources");
    let says = |source: &str| {
        message(&open) == format!("Too many watch events from {source}. Allowing events periodically.")
    };
    assert!(says(&itself) || says(others), "{}", message(&open));
    // What is desired meanwhile comes late, and comes.
    let changed = json!({"spec": {"values": {"first": "one"}}});
    stage.admin.patch(&path, &changed).await.unwrap();
    let config_map = |object: &Value| object["data"]["value"] == "one";
    stage.object(&composed, config_map).await;
    stage.condition(&path, "Responsive", "WatchCircuitClosed").await;
    bridge.rests().await;
    bridge.end().await;
}
