//! Composite resources whose inputs change without end.

use std::time::Duration;

use bridge_core::composite::{CircuitSettings, Settings};
use serde_json::{Value, json};

use super::stage::{Bridge, Stage, order, orders};

/// Changes something again and again until the composite resource says that it follows more slowly.
async fn until_open(stage: &Stage, path: &str, changed: &str, annotation: &str) -> Value {
    let mut round = 0;
    let changing = async {
        loop {
            round += 1;
            let patch = json!({"metadata": {"annotations": {annotation: round.to_string()}}});
            stage.admin.patch(changed, &patch).await.unwrap();
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

    let open = until_open(&stage, &path, &composed, "example.org/noise").await;
    assert_eq!(
        message(&open),
        "Too many watch events from composed or required resources. Allowing events periodically."
    );
    stage.condition(&path, "Responsive", "WatchCircuitClosed").await;

    let open = until_open(&stage, &path, &path, "example.org/noise").await;
    assert_eq!(
        message(&open),
        format!("Too many watch events from Order/a ({namespace}). Allowing events periodically.")
    );
    // What is desired meanwhile comes late, and comes.
    let changed = json!({"spec": {"values": {"first": "one"}}});
    stage.admin.patch(&path, &changed).await.unwrap();
    let config_map = |object: &Value| object["data"]["value"] == "one";
    stage.object(&composed, config_map).await;
    stage.condition(&path, "Responsive", "WatchCircuitClosed").await;
    bridge.rests().await;
    bridge.end().await;
}
