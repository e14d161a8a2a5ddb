//! Required schemas: read once for all, and followed.

use bridge_core::function::SchemaSelector;
use serde_json::{Value, json};

use super::stage::{Bridge, GROUP, Stage, order, orders};
use crate::admin::DEFINITIONS;

/// The kind whose schema orders are shown.
pub fn selector() -> SchemaSelector {
    SchemaSelector {
        api_version: format!("widgets.{GROUP}/v1"),
        kind: "Widget".to_owned(),
    }
}

fn widgets(description: &str) -> Value {
    let group = format!("widgets.{GROUP}");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("widgets.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "description": description}},
            }],
        },
    })
}

/// Requests for schemas so far.
fn read(bridge: &Bridge) -> u64 {
    let metrics = bridge.engine.encode_metrics();
    let lines = metrics
        .lines()
        .filter(|line| line.contains("api_requests_total{") && line.contains("resource=\"openapi\""));
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum()
}

#[tokio::test]
async fn a_required_schema_is_read_once_for_all_and_followed() {
    let stage = Stage::installed().await;
    let bridge = Bridge::start(&stage.plane).await;
    stage.define().await;
    let namespace = stage.admin.namespace("one").await;
    let path = |name: &str| format!("{}/{name}", orders(&namespace));
    stage
        .create(&orders(&namespace), &order("a", &json!({"schema": "yes"})))
        .await;
    stage.ready(&path("a")).await;
    stage.values_become(&namespace, &[""]).await;

    // Nothing of the order changes: what it was shown does.
    stage.create(DEFINITIONS, &widgets("first")).await;
    stage.values_become(&namespace, &["first"]).await;
    let change = json!({"spec": {"versions": widgets("second")["spec"]["versions"]}});
    let definition = format!("{DEFINITIONS}/widgets.widgets.{GROUP}");
    stage.admin.patch(&definition, &change).await.unwrap();
    stage.values_become(&namespace, &["second"]).await;
    bridge.rests().await;

    let before = read(&bridge);
    for name in ["b", "c", "d"] {
        let wanted = order(name, &json!({"schema": "yes"}));
        stage.create(&orders(&namespace), &wanted).await;
        stage.ready(&path(name)).await;
    }
    stage.values_become(&namespace, &["second"; 4]).await;
    let more = read(&bridge) - before;
    // What was changed last may be asked for some times more, until it is certain that it was published.
    assert!(more <= 7, "{more} requests for four orders");
    bridge.end().await;
}
