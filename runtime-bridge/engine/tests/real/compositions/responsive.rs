//! Composite resources whose inputs change without end.

use std::time::Duration;

use bridge_core::composite::{CircuitSettings, Settings};
use serde_json::{Value, json};

use super::stage::{Bridge, COMPOSITIONS, Stage, order, orders};

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

const OBSERVED: &str = "Too many watch events from its metadata or status, composed or required resources, or Secrets. Allowing events periodically.";

fn settings() -> Settings {
    Settings {
        circuit: CircuitSettings {
            burst: 5,
            refill: Duration::from_secs(1),
            cooldown: Duration::from_secs(6),
        },
        ..Settings::default()
    }
}

/// Value of a metric of the circuits of orders.
fn counted(bridge: &Bridge, name: &str, result: &str) -> u64 {
    let controller = r#"controller="composite/orders.shop.example.org""#;
    let line = format!("circuit_breaker_{name}_total{{{controller}{result}}} ");
    let metrics = bridge.engine.encode_metrics();
    let value = metrics.lines().find_map(|one| one.strip_prefix(&line));
    value.map_or(0, |value| value.parse().unwrap())
}

#[tokio::test]
async fn what_changes_without_end_is_followed_more_slowly_and_never_lost() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start_with(&stage.plane, settings()).await;
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
    assert_eq!(message(&open), OBSERVED);
    stage.condition(&path, "Responsive", "WatchCircuitClosed").await;

    let edit = |round: u32| json!({"spec": {"values": {"first": round.to_string()}}});
    // An edit is followed by a change of what it composes: either may be the one too many.
    let open = until_open(&stage, &path, &path, edit).await;
    let itself = format!("Too many watch events from Order/a ({namespace}). Allowing events periodically.");
    assert!(
        [itself.as_str(), OBSERVED].contains(&message(&open)),
        "{}",
        message(&open)
    );
    // What is desired meanwhile comes late, and comes.
    let changed = json!({"spec": {"values": {"first": "one"}}});
    stage.admin.patch(&path, &changed).await.unwrap();
    let config_map = |object: &Value| object["data"]["value"] == "one";
    stage.object(&composed, config_map).await;
    stage.condition(&path, "Responsive", "WatchCircuitClosed").await;
    bridge.rests().await;
    assert_eq!(
        (counted(&bridge, "opens", ""), counted(&bridge, "closes", "")),
        (2, 2)
    );
    let [allowed, half_open] = ["Allowed", "HalfOpenAllowed"]
        .map(|result| counted(&bridge, "events", &format!(",result=\"{result}\"")));
    // Twice the whole budget, and one more that opens the circuit each time.
    assert!(allowed > 10, "{allowed}");
    assert!(
        half_open <= 2,
        "runs are 30 s apart, and it is open for 6 s: {half_open}"
    );
    bridge.end().await;
}

#[tokio::test]
async fn a_secret_that_changes_without_end_is_followed_more_slowly() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start_with(&stage.plane, settings()).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "credentials"}});
    stage.create(&secrets, &secret).await;
    let composition = format!("{COMPOSITIONS}/orders");
    let mut pipeline = stage.admin.get(&composition).await.unwrap()["spec"]["pipeline"].clone();
    pipeline[0]["credentials"] = json!([{
        "name": "credentials", "source": "Secret", "secretRef": {"namespace": namespace, "name": "credentials"},
    }]);
    let change = json!({"spec": {"pipeline": pipeline}});
    stage.admin.patch(&composition, &change).await.unwrap();
    let path = format!("{}/a", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"first": "1"})))
        .await;
    stage.ready(&path).await;
    bridge.rests().await;

    let rotated = |round: u32| json!({"stringData": {"password": round.to_string()}});
    let secret = format!("{secrets}/credentials");
    let open = until_open(&stage, &path, &secret, rotated).await;
    assert_eq!(message(&open), OBSERVED);
    stage.condition(&path, "Responsive", "WatchCircuitClosed").await;
    bridge.rests().await;
    bridge.end().await;
}
