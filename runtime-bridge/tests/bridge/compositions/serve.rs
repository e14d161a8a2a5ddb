//! `serve --compositions`: a crash between two writes of nobody, a function of the cluster, and whose the CRDs and the compositions are.

use std::{collections::BTreeMap, time::Duration};

use bridge_core::crd::CROSSPLANE;
use kube::api::{Api, DynamicObject, ListParams};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    admin::Bridge,
    cluster::{Cluster, is_true, merge, until, until_gone},
    compositions::{
        CRDS, Function, LIMIT, api, composed, create, crossplane, define, order, orders, ready, remove,
        values,
    },
    program::run,
};

/// Everything that the bridge may have written for compositions, as it is now, without the order `but`.
async fn everything(cluster: &Cluster, but: &str) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for api in [
        cluster.definitions(),
        crossplane(cluster, "v2", "CompositeResourceDefinition"),
        crossplane(cluster, "v1", "Composition"),
        crossplane(cluster, "v1", "CompositionRevision"),
        orders(cluster),
        api(cluster, "", "v1", "ConfigMap", true),
    ] {
        for one in api.list(&ListParams::default()).await.unwrap() {
            let name = one.metadata.name.clone().unwrap();
            if name != but {
                let url = api.resource_url();
                all.insert(format!("{url}/{name}"), serde_json::to_value(one).unwrap());
            }
        }
    }
    all
}

/// Writes of this process, by verb and resource, without events.
async fn writes(bridge: &Bridge) -> BTreeMap<String, u64> {
    let mut writes = BTreeMap::new();
    for line in bridge.get("/metrics").await.1.lines() {
        let label = |name: &str| line.split(&format!("{name}=\"")).nth(1)?.split('"').next();
        let (true, Some(verb), Some(resource)) = (
            line.contains("api_requests_total{"),
            label("verb"),
            label("resource"),
        ) else {
            continue;
        };
        if !["get", "list", "watch"].contains(&verb) && resource != "events" {
            let count: u64 = line.rsplit(' ').next().unwrap().parse().unwrap();
            *writes.entry(format!("{verb} {resource}")).or_default() += count;
        }
    }
    writes
}

#[tokio::test]
async fn compositions_are_served_without_plugins_and_survive_a_kill() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let flag = function.flag();
    let flags = ["--compositions", "--function", &flag];
    let bridge = Bridge::start_without_plugins(&cluster, &flags).await;
    define(&cluster).await;
    bridge.until_ready().await;
    create(&orders(&cluster), order("a", 2)).await;
    ready(&cluster, "a").await;
    assert_eq!(values(&composed(&cluster).await), ["1", "2"]);
    let before = everything(&cluster, "b").await;
    bridge.process.kill();
    bridge.process.wait().await;
    drop(bridge);
    let calls = function.fake.received().len();
    let bridge = Bridge::start_without_plugins(&cluster, &flags).await;
    bridge.until_ready().await;
    // What comes later is ready: then what was there before has had its turn.
    create(&orders(&cluster), order("b", 0)).await;
    ready(&cluster, "b").await;
    let has_run = |_: u16, _: &str| {
        let received = function.fake.received();
        let mut again = received[calls..].iter();
        again.any(|call| call.request.observed.composite.object["metadata"]["name"] == "a")
    };
    bridge.until("/livez", has_run).await;
    bridge
        .until("/debug/state", |_, text| {
            let state: Value = serde_json::from_str(text).unwrap_or_default();
            state["engine"]["in_flight"].as_array().is_some_and(Vec::is_empty)
        })
        .await;
    assert_eq!(everything(&cluster, "b").await, before);
    let mut written = writes(&bridge).await;
    // The trial of the guard of usages: a ConfigMap is created, cannot be deleted, is let go and deleted.
    for (trial, times) in [
        ("create configmaps", 1),
        ("delete configmaps", 2),
        ("patch configmaps", 1),
    ] {
        assert_eq!(written.remove(trial), Some(times), "{trial}");
    }
    assert_eq!(written, [("update orders".to_owned(), 2)].into());

    merge(&orders(&cluster), "b", json!({ "spec": { "size": 2 } }))
        .await
        .unwrap();
    until(&orders(&cluster), "b", "composed", |order| {
        let refs = order.data.pointer("/spec/crossplane/resourceRefs");
        refs.and_then(Value::as_array).is_some_and(|refs| refs.len() == 2) && is_true(order, "Ready")
    })
    .await;
    assert_eq!(values(&composed(&cluster).await), ["1", "1", "2", "2"]);
    let counted = [
        "composed_writes_total{kind=\"Order.shop.example.org\",write=\"create\"} 2\n",
        "runs_total{kind=\"Order.shop.example.org\",outcome=\"succeeded\"} ",
        "run_desired_resources_total{kind=\"Order.shop.example.org\"} ",
    ];
    let all_counted = |_: u16, text: &str| counted.iter().all(|count| text.contains(count));
    bridge.until("/metrics", all_counted).await;
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn a_function_of_the_cluster_is_reached_once_it_is_annotated() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let mut theirs: Value = serde_yaml_ng::from_str(CROSSPLANE[3]).unwrap();
    theirs["spec"]["names"]["shortNames"] = json!(["theirs"]);
    create(&cluster.definitions(), theirs).await;
    let bridge = Bridge::start_without_plugins(&cluster, &["--compositions"]).await;
    define(&cluster).await;
    let theirs = cluster.definitions().get(CRDS[4]).await.unwrap();
    assert_eq!(theirs.data["spec"]["names"]["shortNames"], json!(["theirs"]));
    assert_eq!(theirs.metadata.generation, Some(1));
    create(&orders(&cluster), order("a", 2)).await;
    until(&orders(&cluster), "a", "waiting", |order| {
        format!("{:?}", order.data).contains("cannot find an active FunctionRevision")
    })
    .await;
    let annotated = json!({
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "Function",
        "metadata": {
            "name": "f",
            "annotations": { "crossbridge.dev/endpoint": function.endpoint() },
        },
        "spec": { "package": "registry.example.org/f:v1" },
    });
    create(
        &api(&cluster, "pkg.crossplane.io", "v1", "Function", false),
        annotated,
    )
    .await;
    ready(&cluster, "a").await;
    let says = |function: &DynamicObject, type_: &str, reason: &str| {
        let conditions = function.data["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|condition| condition["type"] == type_ && condition["reason"] == reason)
    };
    let functions = api(&cluster, "pkg.crossplane.io", "v1", "Function", false);
    until(&functions, "f", "healthy", |function| {
        says(function, "Installed", "ActivePackageRevision")
            && says(function, "Healthy", "HealthyPackageRevision")
    })
    .await;
    let healthy = functions.get("f").await.unwrap();

    remove(orders(&cluster), "a").await;
    assert_eq!(values(&composed(&cluster).await), [""; 0]);
    let elsewhere = json!({"crossbridge.dev/endpoint": "unix:///nowhere/f.sock"});
    merge(&functions, "f", json!({"metadata": {"annotations": elsewhere}}))
        .await
        .unwrap();
    create(&orders(&cluster), order("b", 2)).await;
    until(&functions, "f", "unhealthy", |function| {
        says(function, "Healthy", "UnhealthyPackageRevision")
    })
    .await;
    let unhealthy = functions.get("f").await.unwrap();
    let written = |function: &DynamicObject| function.metadata.managed_fields.iter().flatten().count();
    assert_eq!(written(&unhealthy), written(&healthy), "one writer");
    remove(orders(&cluster), "b").await;
    let name = "orders.shop.example.org";
    remove(crossplane(&cluster, "v2", "CompositeResourceDefinition"), name).await;
    until_gone(cluster.definitions(), name).await;
    assert_eq!(bridge.stop().await, Some(0));
}

#[tokio::test]
async fn check_mode_leaves_the_crds_of_compositions_to_others() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let flag = function.flag();
    let flags = ["--compositions", "--function", &flag, "--crds", "check"];
    let bridge = Bridge::start_without_plugins(&cluster, &flags).await;
    // Kinds that are not installed keep nothing from being ready.
    bridge.until_ready().await;
    let definitions = cluster.definitions();
    assert_eq!(
        definitions
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .len(),
        0
    );
    let printed = run(&["crds", "--compositions"]).await;
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let mut names = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(&printed.stdout) {
        let crd = Value::deserialize(document).unwrap();
        names.push(crd["metadata"]["name"].as_str().unwrap().to_owned());
        create(&definitions, crd).await;
    }
    names.sort_unstable();
    assert_eq!(names, CRDS);
    define(&cluster).await;
    create(&orders(&cluster), order("a", 2)).await;
    ready(&cluster, "a").await;
    assert_eq!(bridge.stop().await, Some(0));
}

fn lease(holder: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "name": "crossplane-leader-election-core" },
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 60,
            "renewTime": jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string(),
        },
    })
}

#[tokio::test]
async fn compositions_are_off_while_the_core_of_crossplane_runs() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let leases: Api<DynamicObject> = api(&cluster, "coordination.k8s.io", "v1", "Lease", true);
    create(&leases, lease("crossplane-0")).await;
    let flag = function.flag();
    let mut flags = vec![
        "--compositions",
        "--crossplane-namespace=default",
        "--function",
        &flag,
    ];
    let bridge = Bridge::start_without_plugins(&cluster, &flags).await;
    let off = bridge
        .until("/readyz?verbose", |_, text| text.contains("compositions: off: "))
        .await;
    assert!(
        off.contains("crossplane-0 renews the lease default/crossplane-leader-election-core"),
        "{off}"
    );
    bridge.until_ready().await;
    // The bridge's own Secret alone.
    assert_eq!(writes(&bridge).await, [("create secrets".to_owned(), 1)].into());
    // Its core is stopped, and gives its lease away.
    let released = json!({ "spec": { "holderIdentity": "" } });
    merge(&leases, "crossplane-leader-election-core", released)
        .await
        .unwrap();
    define(&cluster).await;
    create(&orders(&cluster), order("a", 2)).await;
    ready(&cluster, "a").await;

    // And begins again: what was composed stays as it is.
    let renewed = json!({ "spec": lease("crossplane-1")["spec"] });
    merge(&leases, "crossplane-leader-election-core", renewed)
        .await
        .unwrap();
    bridge
        .until("/debug/state", |_, text| {
            text.contains("off: Crossplane's core runs (crossplane-1")
        })
        .await;
    let before = writes(&bridge).await;
    merge(&orders(&cluster), "a", json!({ "spec": { "size": 0 } }))
        .await
        .unwrap();
    assert_eq!(writes(&bridge).await, before);
    assert_eq!(bridge.stop().await, Some(0));
    assert!(!composed(&cluster).await.is_empty());

    flags.push("--beside-crossplane");
    let bridge = Bridge::start_without_plugins(&cluster, &flags).await;
    let end = Instant::now() + LIMIT;
    while !composed(&cluster).await.is_empty() {
        assert!(Instant::now() < end, "nothing composes though it is told to");
        sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bridge.stop().await, Some(0));
}
