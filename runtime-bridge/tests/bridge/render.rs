//! `runtime-bridge render` as a person uses it, and beside what a bridge composes of the same.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use kube::api::{DeleteParams, DynamicObject, ListParams};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

use crate::{
    admin::Bridge,
    cluster::{Cluster, is_true, until, until_gone},
    compositions::{
        Function, LIMIT, api, composed, composition, create, crossplane, define, order, orders, ready,
    },
    program::{BRIDGE, Ran, run},
};

/// Files of one test.
struct Files(TempDir);

impl Files {
    fn new(composite: &Value, composition: &Value) -> Self {
        let files = Self(tempfile::tempdir().unwrap());
        files.write("xr.yaml", &[composite]);
        files.write("composition.yaml", &[composition]);
        files
    }

    fn write(&self, name: &str, objects: &[&Value]) -> PathBuf {
        let path = self.0.path().join(name);
        let documents: Vec<String> = objects.iter().map(ToString::to_string).collect();
        fs::write(&path, documents.join("\n---\n")).unwrap();
        path
    }

    async fn render(&self, flags: &[&str]) -> Ran {
        let path = |name: &str| self.0.path().join(name).to_str().unwrap().to_owned();
        let (xr, composition) = (path("xr.yaml"), path("composition.yaml"));
        let command = [&["render", xr.as_str(), composition.as_str()], flags].concat();
        run(&command).await
    }
}

fn documents(ran: &Ran) -> Vec<Value> {
    let documents = serde_yaml_ng::Deserializer::from_str(&ran.stdout);
    documents.map(|one| Value::deserialize(one).unwrap()).collect()
}

fn condition(kind: &str, reason: &str) -> Value {
    json!({
        "type": kind, "status": "True", "reason": reason, "lastTransitionTime": "2024-01-01T00:00:00Z"
    })
}

/// In the order in which they are shown.
fn conditions() -> Value {
    json!([
        condition("Responsive", "WatchCircuitClosed"),
        condition("Synced", "ReconcileSuccess"),
        condition("Ready", "Available"),
    ])
}

#[tokio::test]
async fn rendered_documents_are_those_of_upstream() {
    let function = Function::start();
    let mut program = composition();
    program["spec"]["pipeline"][0]["input"]["status"] = json!({ "total": 2 });
    let mut xr = order("a", 2);
    xr["metadata"]["namespace"] = json!("default");
    xr["metadata"]["uid"] = json!("the-uid");
    let files = Files::new(&xr, &program);
    let ran = files.render(&["--function", &function.flag(), "-r", "-c"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // sha256("the-uid" + name), the first twelve digits.
    let names = ["a-4ba7f6d49fe7", "a-44b8c2ecf2da"];
    let map = |resource: &str, name: &str, value: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "generateName": "a-",
                "namespace": "default",
                "labels": { "crossplane.io/composite": "a" },
                "annotations": { "crossplane.io/composition-resource-name": resource },
                "ownerReferences": [{
                    "apiVersion": "shop.example.org/v1", "kind": "Order", "name": "a", "uid": "the-uid",
                    "controller": true, "blockOwnerDeletion": true,
                }],
            },
            "data": { "value": value },
        })
    };
    let mut refs = names.map(|name| json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": name }));
    refs.sort_by_key(|one| one["name"].to_string());
    let mut rendered = documents(&ran);
    let context = rendered.pop().unwrap();
    assert_eq!(
        (&context["kind"], &context["apiVersion"]),
        (&json!("Context"), &json!("render.crossplane.io/v1beta1"))
    );
    assert_eq!(
        rendered,
        [
            json!({
                "apiVersion": "shop.example.org/v1",
                "kind": "Order",
                "metadata": { "name": "a", "namespace": "default" },
                "spec": { "crossplane": { "resourceRefs": refs } },
                "status": { "total": 2, "conditions": conditions() },
            }),
            map("first", names[0], "1"),
            map("second", names[1], "2"),
            json!({
                "apiVersion": "render.crossplane.io/v1beta1",
                "kind": "Result",
                "severity": "Normal",
                "reason": "SelectComposition",
                "message": "Successfully selected composition: orders",
            }),
        ]
    );

    // A second time: what was composed is observed, and so keeps its name.
    let mut renamed = map("first", "kept", "0");
    renamed["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("generateName");
    let observed = files.write("observed.yaml", &[&renamed]);
    let again = files
        .render(&[
            "--function",
            &function.flag(),
            "-x",
            "-o",
            observed.to_str().unwrap(),
        ])
        .await;
    let again = documents(&again);
    assert_eq!(again[0]["spec"]["size"], 2);
    assert_eq!(again[0]["metadata"]["uid"], "the-uid");
    assert_eq!(again[1]["metadata"]["name"], "kept");
    assert_eq!(again[1]["data"]["value"], "1");
    assert_eq!(again.len(), 3);
}

#[tokio::test]
async fn a_command_is_a_function_for_as_long_as_it_is_needed() {
    let files = Files::new(&order("a", 2), &composition());
    let program = Path::new(BRIDGE).with_file_name("fake-function");
    let command = format!("f='{}' --address {{address}}", program.display());
    let ran = files.render(&["--function-command", &command]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(documents(&ran).len(), 3);
    let ran = files.render(&["--function-command", "f=false"]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("before it listened"), "{}", ran.stderr);
    let ran = files
        .render(&["--function-command", "f=sleep 1000", "--timeout", "300ms"])
        .await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("not rendered within 0.3 s"), "{}", ran.stderr);
}

#[tokio::test]
async fn what_cannot_be_rendered_is_an_error_without_output() {
    let function = Function::start();
    let mut other = order("a", 2);
    other["kind"] = json!("Invoice");
    let files = Files::new(&other, &composition());
    let ran = files.render(&["--function", &function.flag()]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    let expected = "the Composition is for shop.example.org/v1 Order, and the composite resource is a shop.example.org/v1 Invoice";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);

    let mut broken = order("a", 2);
    broken["spec"] = json!("x");
    let files = Files::new(&broken, &composition());
    let ran = files.render(&["--function", &function.flag()]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    let expected = "composite_resource: spec must be an object, and is a string";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);

    let files = Files::new(&order("a", 2), &composition());
    let ran = files.render(&[]).await;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(
        ran.stderr
            .contains("cannot run Function \"f\": no endpoint is known"),
        "{}",
        ran.stderr
    );
}

#[tokio::test]
async fn a_paused_composite_resource_is_shown_as_it_is() {
    let mut xr = order("a", 2);
    xr["metadata"]["annotations"] = json!({ "crossplane.io/paused": "true" });
    xr["metadata"]["uid"] = json!("the-uid");
    let files = Files::new(&xr, &composition());
    let ran = files.render(&["-r"]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut rendered = documents(&ran);
    let event = rendered.pop().unwrap();
    assert_eq!(event["reason"], "ReconciliationPaused");
    let conditions = rendered[0]["status"]["conditions"].take();
    let reasons: Vec<&str> = conditions
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|condition| condition["reason"].as_str())
        .collect();
    assert_eq!(reasons, ["WatchCircuitClosed", "ReconcilePaused"]);
    rendered[0].as_object_mut().unwrap().remove("status");
    xr["metadata"]["resourceVersion"] = json!("999");
    assert_eq!(rendered, [xr]);
}

/// Without what the API server and the live path alone add.
fn comparable(object: &DynamicObject, kind: &str) -> Value {
    let mut object = serde_json::to_value(object).unwrap();
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["creationTimestamp", "managedFields", "resourceVersion", "uid"] {
        metadata.remove(field);
    }
    let annotations = metadata["annotations"].as_object_mut().unwrap();
    annotations.remove("crossbridge.dev/applied").expect("a digest");
    object["apiVersion"] = json!("v1");
    object["kind"] = json!(kind);
    object
}

#[tokio::test]
async fn a_bridge_composes_what_is_rendered() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let flag = function.flag();
    let bridge = Bridge::start_without_plugins(&cluster, &["--compositions", "--function", &flag]).await;
    define(&cluster).await;
    create(&orders(&cluster), order("a", 2)).await;
    ready(&cluster, "a").await;
    let stored = serde_json::to_value(orders(&cluster).get("a").await.unwrap()).unwrap();
    let mut given = order("a", 2);
    given["metadata"]["namespace"] = json!("default");
    given["metadata"]["uid"] = stored["metadata"]["uid"].clone();
    let ran = Files::new(&given, &composition())
        .render(&["--function", &flag])
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut rendered = documents(&ran);
    let xr = rendered.remove(0);
    assert_eq!(
        xr["spec"]["crossplane"]["resourceRefs"],
        stored["spec"]["crossplane"]["resourceRefs"]
    );
    let mut live: Vec<Value> = composed(&cluster)
        .await
        .iter()
        .map(|object| comparable(object, "ConfigMap"))
        .collect();
    live.sort_by_key(|one| one["data"]["value"].to_string());
    assert_eq!(rendered, live);
    assert_eq!(bridge.stop().await, Some(0));
}

/// Of a required object, and in a second step of what the first composed: three objects of two kinds.
fn composition_of_two_steps() -> Value {
    let mut composition = composition();
    let base =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "matchName": "base", "namespace": "default" });
    composition["spec"]["pipeline"] = json!([
        {
            "step": "first",
            "functionRef": { "name": "f" },
            "input": {
                "apiVersion": "fn.example.org/v1", "kind": "Program",
                "requires": { "base": base },
                "resources": {
                    "settings": {
                        "object": { "apiVersion": "v1", "kind": "ConfigMap", "data": {} },
                        "copies": { "/data/value": { "of": "base", "path": "/data/value" } },
                        "ready": "always",
                    },
                    "account": {
                        "object": {
                            "apiVersion": "v1", "kind": "ServiceAccount", "automountServiceAccountToken": false,
                            "metadata": { "name": "shopkeeper", "labels": { "tier": "a" }, "annotations": { "seen": "by-all" } },
                        },
                        "ready": { "exists": "account" },
                    },
                },
            },
        },
        {
            "step": "second",
            "functionRef": { "name": "f" },
            "input": {
                "apiVersion": "fn.example.org/v1", "kind": "Program",
                "resources": {
                    "after": {
                        "object": { "apiVersion": "v1", "kind": "ConfigMap", "data": { "value": "after" } },
                        "when": { "equals": { "of": "settings", "path": "/data/value", "value": "from base" } },
                        "ready": "always",
                    },
                    "never": { "object": { "apiVersion": "v1", "kind": "ConfigMap" }, "when": "never" },
                },
                "conditions": [{ "type": "Zonal", "status": "True", "reason": "Zoned", "message": "in zone a" }],
            },
        },
    ]);
    composition
}

/// By type, without the times, and without the generation, which no file has. A message that is empty is stored as such, and is not printed.
fn conditions_of(object: &Value) -> Vec<Value> {
    let mut conditions = object["status"]["conditions"].as_array().unwrap().clone();
    for condition in &mut conditions {
        let condition = condition.as_object_mut().unwrap();
        condition.remove("lastTransitionTime");
        condition.remove("observedGeneration");
        if condition.get("message").is_some_and(|message| message == "") {
            condition.remove("message");
        }
    }
    conditions.sort_by_key(|condition| condition["type"].to_string());
    conditions
}

fn names(objects: &[Value]) -> Vec<String> {
    let name = |object: &Value| format!("{}/{}", object["kind"], object["metadata"]["name"]);
    let mut names: Vec<String> = objects.iter().map(name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_bridge_composes_in_two_runs_what_is_rendered_twice() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let flag = function.flag();
    let bridge = Bridge::start_without_plugins(&cluster, &["--compositions", "--function", &flag]).await;
    define(&cluster).await;
    let compositions = crossplane(&cluster, "v1", "Composition");
    compositions
        .delete("orders", &DeleteParams::default())
        .await
        .unwrap();
    until_gone(compositions.clone(), "orders").await;
    create(&compositions, composition_of_two_steps()).await;
    // A run of the former revision would leave its references for a while.
    let revisions = crossplane(&cluster, "v1", "CompositionRevision");
    let begun = Instant::now();
    loop {
        let all = revisions.list(&ListParams::default()).await.unwrap();
        if all
            .iter()
            .any(|one| one.data["spec"]["pipeline"][0]["step"] == "first")
        {
            break;
        }
        assert!(begun.elapsed() < LIMIT, "no revision of two steps");
        sleep(Duration::from_millis(50)).await;
    }
    let base = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "base", "namespace": "default" },
        "data": { "value": "from base" },
    });
    create(&api(&cluster, "", "v1", "ConfigMap", true), base.clone()).await;
    create(&orders(&cluster), order("a", 2)).await;
    let stored = until(&orders(&cluster), "a", "composed in two runs", |order| {
        let references = &order.data["spec"]["crossplane"]["resourceRefs"];
        references.as_array().is_some_and(|all| all.len() == 3) && is_true(order, "Ready")
    })
    .await;
    let stored = serde_json::to_value(stored).unwrap();
    let mut given = order("a", 2);
    given["metadata"]["namespace"] = json!("default");
    given["metadata"]["uid"] = stored["metadata"]["uid"].clone();
    let files = Files::new(&given, &composition_of_two_steps());
    let required = files.write("required.yaml", &[&base]);
    let required = ["--required-resources", required.to_str().unwrap()];

    let mut live = Vec::new();
    let mut observed = Vec::new();
    for kind in ["ConfigMap", "ServiceAccount"] {
        let of_composites = ListParams::default().labels("crossplane.io/composite");
        let found = api(&cluster, "", "v1", kind, true)
            .list(&of_composites)
            .await
            .unwrap();
        for object in found.items {
            let mut whole = serde_json::to_value(&object).unwrap();
            whole["apiVersion"] = json!("v1");
            whole["kind"] = json!(kind);
            observed.push(whole);
            live.push(comparable(&object, kind));
        }
    }
    live.sort_by_key(|object| object["metadata"]["name"].to_string());

    // The first run: the second step does not see yet what the first desires.
    let ran = files
        .render(&[&["--function", &flag], required.as_slice()].concat())
        .await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let first = names(&documents(&ran)[1..]);
    let all = names(&live);
    assert_eq!((first.len(), all.len()), (2, 3));
    assert!(first.iter().all(|name| all.contains(name)), "{first:?} {all:?}");

    // The second, with what is there by then, and so all after it.
    let observed: Vec<&Value> = observed.iter().collect();
    let observed = files.write("observed.yaml", &observed);
    let observed = ["--observed-resources", observed.to_str().unwrap()];
    let flags = [&["--function", &flag], required.as_slice(), observed.as_slice()].concat();
    let ran = files.render(&flags).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut rendered = documents(&ran);
    let xr = rendered.remove(0);
    rendered.sort_by_key(|object| object["metadata"]["name"].to_string());
    assert_eq!(rendered, live);
    assert_eq!(
        xr["spec"]["crossplane"]["resourceRefs"],
        stored["spec"]["crossplane"]["resourceRefs"]
    );
    assert_eq!(conditions_of(&xr), conditions_of(&stored));
    assert_eq!(bridge.stop().await, Some(0));
}
