//! Composed kinds that cannot be watched: the orders that need them say so and wait, and nothing else does.

use std::time::Duration;

use kube::{
    Api,
    api::{DynamicObject, ListParams},
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{
    admin::Bridge,
    cluster::{Cluster, condition, merge, until},
    compositions::{Function, api, composition, create, crossplane, define, order, orders, ready},
};

const GROUP: &str = "parts.example.org";
const LIMIT: Duration = Duration::from_mins(1);
const USER: &str = "bridge";

/// Served as `v1`, and stored as `v2`.
fn definition(kind: &str, plural: &str) -> Value {
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v2",
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                "type": "object", "properties": {"size": {"type": "integer"}},
            }}}},
        })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase()},
            "versions": [version("v1"), version("v2")],
        },
    })
}

/// Of an order of size 2 a `ConfigMap`, of size 3 a gadget, of size 4 a widget.
fn pipeline() -> Value {
    let resource = |api_version: &str, kind: &str, size: u64| {
        let mut object = json!({"apiVersion": api_version, "kind": kind});
        if kind != "ConfigMap" {
            object["spec"] = json!({"size": size});
        }
        json!({
            "object": object, "ready": "always", "when": {"equals": {"path": "/spec/size", "value": size}},
        })
    };
    let mut pipeline = composition()["spec"]["pipeline"].clone();
    pipeline[0]["input"]["resources"] = json!({
        "map": resource("v1", "ConfigMap", 2),
        "gadget": resource(&format!("{GROUP}/v1"), "Gadget", 3),
        "widget": resource(&format!("{GROUP}/v1"), "Widget", 4),
    });
    pipeline
}

/// All that compositions need, and these verbs on gadgets.
fn rules(on_gadgets: &[&str]) -> Value {
    let all = ["*"];
    let groups = [
        "",
        "admissionregistration.k8s.io",
        "apiextensions.crossplane.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "events.k8s.io",
        "pkg.crossplane.io",
        "protection.crossplane.io",
        "shop.example.org",
    ];
    json!([
        {"apiGroups": groups, "resources": all, "verbs": all},
        {"apiGroups": [GROUP], "resources": ["widgets"], "verbs": all},
        {"apiGroups": [GROUP], "resources": ["gadgets"], "verbs": on_gadgets},
    ])
}

fn rbac(cluster: &Cluster, kind: &str) -> Api<DynamicObject> {
    api(cluster, "rbac.authorization.k8s.io", "v1", kind, false)
}

/// Waits until an order says in `Synced`, or in an event, that it waits for this.
async fn waits_for(cluster: &Cluster, name: &str, parts: &[&str]) {
    let is_unsynced =
        |order: &DynamicObject| condition(order, "Synced").is_some_and(|synced| synced["status"] == "False");
    let events = api(cluster, "", "v1", "Event", true);
    let end = Instant::now() + LIMIT;
    loop {
        let order = until(&orders(cluster), name, "unsynced", is_unsynced).await;
        let mut said = vec![condition(&order, "Synced").cloned().unwrap_or_default()];
        let events = events.list(&ListParams::default()).await.unwrap();
        let own = events
            .into_iter()
            .filter(|event| event.data["involvedObject"]["name"] == name);
        said.extend(own.map(|event| event.data));
        let mut messages = said.iter().filter_map(|one| one["message"].as_str());
        if messages.any(|message| parts.iter().all(|part| message.contains(part))) {
            return;
        }
        assert!(Instant::now() < end, "{name} does not say {parts:?}: {said:#?}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// One that is stored needs the conversion webhook to be read as `v1`: nobody serves it.
async fn break_conversion_of_widgets(cluster: &Cluster) {
    let stored = json!({
        "apiVersion": format!("{GROUP}/v2"), "kind": "Widget", "metadata": {"name": "stored"},
    });
    create(&api(cluster, GROUP, "v2", "Widget", true), stored).await;
    let webhook = json!({"spec": {"conversion": {"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"},
    }}}});
    merge(&cluster.definitions(), &format!("widgets.{GROUP}"), webhook)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_kind_that_cannot_be_watched_holds_up_its_own_orders_alone() {
    let (mut cluster, function) = (Cluster::own().await, Function::start());
    let kubeconfig = cluster.plane.user_kubeconfig(USER, None).unwrap();
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": USER}, "rules": rules(&["create", "patch", "delete"]),
    });
    create(&rbac(&cluster, "ClusterRole"), role).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": USER},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": USER},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}],
    });
    create(&rbac(&cluster, "ClusterRoleBinding"), binding).await;
    let flag = function.flag();
    let bridge = Bridge::spawn(&kubeconfig, &["--compositions", "--function", &flag]).await;
    define(&cluster).await;
    for (kind, plural) in [("Gadget", "gadgets"), ("Widget", "widgets")] {
        create(&cluster.definitions(), definition(kind, plural)).await;
    }
    break_conversion_of_widgets(&cluster).await;
    let compositions = crossplane(&cluster, "v1", "Composition");
    let change = json!({"spec": {"pipeline": pipeline()}});
    merge(&compositions, "orders", change).await.unwrap();

    create(&orders(&cluster), order("gadget", 3)).await;
    create(&orders(&cluster), order("widget", 4)).await;
    let not_permitted = ["cannot get composed resource Gadget", "check the RBAC rules"];
    waits_for(&cluster, "gadget", &not_permitted).await;
    let not_converted = ["cannot apply composed resource \"widget\"", "conversion webhook"];
    waits_for(&cluster, "widget", &not_converted).await;
    bridge
        .until("/readyz?verbose", |status, text| {
            status == 200
                && text.contains("[+] watch Gadget.parts.example.org: forbidden")
                && text.contains("[+] watch Widget.parts.example.org: syncing")
        })
        .await;
    create(&orders(&cluster), order("map", 2)).await;
    ready(&cluster, "map").await;

    let granted = json!({"rules": rules(&["*"])});
    merge(&rbac(&cluster, "ClusterRole"), USER, granted)
        .await
        .unwrap();
    ready(&cluster, "gadget").await;
    let none = json!({"spec": {"conversion": {"strategy": "None", "webhook": null}}});
    merge(&cluster.definitions(), &format!("widgets.{GROUP}"), none)
        .await
        .unwrap();
    ready(&cluster, "widget").await;
    bridge
        .until("/readyz?verbose", |status, text| {
            status == 200
                && text.contains("[+] watch Gadget.parts.example.org\n")
                && text.contains("[+] watch Widget.parts.example.org\n")
        })
        .await;
    assert_eq!(bridge.stop().await, Some(0));
}
