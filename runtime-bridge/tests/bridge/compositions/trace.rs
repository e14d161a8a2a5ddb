//! `runtime-bridge trace` of a composite resource, as a person uses it.

use std::time::Duration;

use kube::{
    Api,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    admin::Bridge,
    cluster::{Cluster, condition, is_true, until, until_gone},
    compositions::{
        Function, api, composition, create, crossplane, define, definition, order, orders, ready,
    },
    program::run,
};

const LIMIT: Duration = Duration::from_secs(30);

/// A kind whose objects are composed by orders, and compose themselves.
fn parts() -> Value {
    let mut parts = definition();
    parts["metadata"]["name"] = json!("parts.shop.example.org");
    parts["spec"]["names"] = json!({ "kind": "Part", "plural": "parts" });
    parts
}

/// Of a part one `ConfigMap`.
fn composition_of_parts() -> Value {
    let mut composition = composition();
    composition["metadata"]["name"] = json!("parts");
    composition["spec"]["compositeTypeRef"]["kind"] = json!("Part");
    let program = &mut composition["spec"]["pipeline"][0]["input"];
    program["resources"] = json!({ "label": program["resources"]["first"] });
    program["resources"]["label"]["when"]["equals"] = json!({ "path": "/spec/size", "value": 7 });
    composition
}

/// Of an order of size 3 a part and a `ConfigMap`.
fn composition_of_orders() -> Value {
    let mut composition = composition();
    let program = &mut composition["spec"]["pipeline"][0]["input"];
    let note = json!({
        "object": { "apiVersion": "v1", "kind": "ConfigMap", "data": { "value": "note" } },
        "ready": "always",
    });
    let part = json!({
        "object": { "apiVersion": "shop.example.org/v1", "kind": "Part", "spec": { "size": 7 } },
        "ready": { "equals": { "of": "part", "path": "/status/conditions/2/status", "value": "True" } },
    });
    program["resources"] = json!({ "note": note, "part": part });
    composition
}

fn config_maps(cluster: &Cluster) -> Api<DynamicObject> {
    api(cluster, "", "v1", "ConfigMap", true)
}

async fn trace(cluster: &Cluster, bridge: &str, more: &[&str]) -> String {
    let kubeconfig = cluster.plane.kubeconfig();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let flags = [
        "trace",
        "order/a",
        "--kubeconfig",
        kubeconfig,
        "--admin-address",
        bridge,
    ];
    let ran = run(&[&flags, more].concat()).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

/// Once its last run has ended, and nobody reads what is remembered of it.
async fn trace_at_rest(cluster: &Cluster, bridge: &str) -> Value {
    trace_until(cluster, bridge, |json| {
        let composition = &json["composition"];
        let has_ended = composition["run"]["state"] == "succeeded" && composition["memory"].is_object();
        has_ended && json["next"]["purpose"].is_null()
    })
    .await
}

/// Once it shows that.
async fn trace_until(cluster: &Cluster, bridge: &str, shows: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let json: Value = serde_json::from_str(&trace(cluster, bridge, &["-o", "json"]).await).unwrap();
        if shows(&json) {
            return json;
        }
        assert!(began.elapsed() < LIMIT, "{json:#}");
        sleep(Duration::from_millis(50)).await;
    }
}

async fn patch(api: &Api<DynamicObject>, name: &str, patch: Value) {
    let params = PatchParams::default();
    api.patch(name, &params, &Patch::Merge(patch)).await.unwrap();
}

/// The line of a table that names this composed resource.
fn line<'a>(table: &'a str, resource: &str) -> &'a str {
    let named = format!(" {resource} ");
    let found = table.lines().find(|line| line.contains(&named));
    found.unwrap_or_else(|| panic!("no {resource} in\n{table}"))
}

/// While the order is paused. `rested`: the trace of before.
async fn a_change_that_nobody_may_mend_is_named(cluster: &Cluster, bridge: &str, rested: &Value) {
    let pause = json!({ "metadata": { "annotations": { "crossplane.io/paused": "true" } } });
    patch(&orders(cluster), "a", pause).await;
    until(&orders(cluster), "a", "paused", |order| {
        condition(order, "Synced").is_some_and(|synced| synced["reason"] == "ReconcilePaused")
    })
    .await;
    let note = rested["children"][1]["name"].as_str().unwrap();
    patch(
        &config_maps(cluster),
        note,
        json!({ "data": { "value": "other" } }),
    )
    .await;
    // Nothing is compared while a reconcile has what is remembered.
    trace_until(cluster, bridge, |json| {
        let children = &json["children"];
        let (part, note) = (&children[0]["compared"], &children[1]["compared"]);
        let label = &children[0]["children"][0]["compared"];
        let states = [part, note, label].map(|compared| &compared["state"]);
        states == ["asDesired", "differs", "asDesired"]
            && note["fields"] == json!(["/data/value"])
            && json["desired"] == json!({ "resources": 2, "asDesired": 1, "notCompared": 0 })
    })
    .await;
    let began = Instant::now();
    loop {
        let table = trace(cluster, bridge, &[]).await;
        if line(&table, "note").ends_with("differs from what is desired at /data/value") {
            return;
        }
        assert!(began.elapsed() < LIMIT, "{table}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_trace_of_an_order_shows_what_exists_and_what_does_not() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let flag = function.flag();
    let flags = ["--compositions", "--function", &flag];
    let bridge = Bridge::start_without_plugins(&cluster, &flags).await;
    define(&cluster).await;
    let compositions = crossplane(&cluster, "v1", "Composition");
    compositions
        .delete("orders", &DeleteParams::default())
        .await
        .unwrap();
    until_gone(compositions.clone(), "orders").await;
    create(
        &crossplane(&cluster, "v2", "CompositeResourceDefinition"),
        parts(),
    )
    .await;
    create(&compositions, composition_of_orders()).await;
    create(&compositions, composition_of_parts()).await;
    until(
        &cluster.definitions(),
        "parts.shop.example.org",
        "established",
        |crd| is_true(crd, "Established"),
    )
    .await;
    create(&orders(&cluster), order("a", 3)).await;
    ready(&cluster, "a").await;

    let json = trace_at_rest(&cluster, &bridge.address).await;
    assert_eq!(json["composition"]["steps"][0]["desiredResources"], 2);
    assert_eq!(json["composition"]["memory"]["runsUponChanges"]["of"], 100);
    let table = trace(&cluster, &bridge.address, &[]).await;
    assert!(table.starts_with("NAME "), "{table}");
    for (resource, shown) in [
        ("note", "└─ ConfigMap/a-"),
        ("part", "├─ Part/a-"),
        ("label", "│  └─ ConfigMap/a-"),
    ] {
        assert!(line(&table, resource).starts_with(shown), "{table}");
    }
    assert!(
        line(&table, "part").contains("True     True    Available"),
        "{table}"
    );
    assert!(table.contains("composition: orders, revision orders-"), "{table}");
    assert!(table.contains("next: nothing is planned"), "{table}");
    let (_, run) = table.split_once("\nlast run: succeeded ").unwrap();
    let mut run = run.lines().skip(1);
    let step = run.next().unwrap();
    assert!(
        step.starts_with("└─ ") && step.ends_with(", 2 desired resources"),
        "{table}"
    );
    assert!(
        table.contains("searched in ConfigMap, Part.shop.example.org;"),
        "{table}"
    );

    assert!(table.contains("\n2 desired resources, 2 as desired\n"), "{table}");

    a_change_that_nobody_may_mend_is_named(&cluster, &bridge.address, &json).await;

    // What nobody mends while no bridge runs.
    bridge.process.kill();
    bridge.process.wait().await;
    let json: Value = serde_json::from_str(&trace(&cluster, &bridge.address, &["-o", "json"]).await).unwrap();
    let note = json["children"][1]["name"].as_str().unwrap();
    assert_eq!(json["children"][1]["resourceName"], "note");
    assert_eq!(json["children"][0]["children"][0]["existence"], "exists");
    config_maps(&cluster)
        .delete(note, &DeleteParams::default())
        .await
        .unwrap();
    let owner = json!([{
        "apiVersion": "shop.example.org/v1", "kind": "Order", "name": "a", "uid": json["uid"], "controller": true
    }]);
    create(
        &config_maps(&cluster),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "stray", "ownerReferences": owner } }),
    )
    .await;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "far", "ownerReferences": owner }
    });
    create(&api(&cluster, "coordination.k8s.io", "v1", "Lease", true), lease).await;
    let table = trace(&cluster, &bridge.address, &[]).await;
    let gone = table.lines().find(|line| line.contains(note)).unwrap();
    assert!(gone.ends_with("does not exist"), "{table}");
    let stray = table
        .lines()
        .find(|line| line.contains("ConfigMap/stray"))
        .unwrap();
    assert!(stray.ends_with("is not among the references"), "{table}");
    assert!(
        table.contains("next: unavailable: no bridge answers at ") && !table.contains("Lease/far"),
        "{table}"
    );
    let table = trace(&cluster, &bridge.address, &["--all-kinds"]).await;
    assert!(table.contains("Lease/far (default)"), "{table}");
}
