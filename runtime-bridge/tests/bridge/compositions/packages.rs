//! Functions where a package manager runs: the active `FunctionRevision` says where they listen.

use fake_function::FakeFunction;
use kube::{
    Api,
    api::{DynamicObject, Patch, PatchParams},
};
use serde_json::{Value, json};

use crate::{
    admin::Bridge,
    cluster::{Cluster, merge, until},
    compositions::{Function, api, create, define, order, orders, ready},
};

fn revision(number: u32) -> Value {
    json!({
        "apiVersion": "pkg.crossplane.io/v1",
        "kind": "FunctionRevision",
        "metadata": {"name": format!("f-{number}"), "labels": {"pkg.crossplane.io/package": "f"}},
        "spec": {"desiredState": "Active", "revision": number, "image": format!("registry.example.org/f:v{number}")},
    })
}

/// What the package manager writes once the function's Deployment is up.
async fn listens(revisions: &Api<DynamicObject>, name: &str, function: &Function) {
    let status = Patch::Merge(json!({"status": {"endpoint": function.endpoint()}}));
    let patched = revisions
        .patch_status(name, &PatchParams::default(), &status)
        .await;
    patched.unwrap();
}

async fn until_taken_up(bridge: &Bridge, function: &Function) {
    let endpoint = function.endpoint();
    let is_taken_up = |_: u16, text: &str| {
        let state: Value = serde_json::from_str(text).unwrap_or_default();
        state["functions"][0]["endpoint"] == endpoint.as_str()
    };
    bridge.until("/debug/state", is_taken_up).await;
}

/// Names of the orders that were shown.
fn shown(function: &FakeFunction) -> Vec<String> {
    let name = |request: &bridge_core::function::RunRequest| {
        let name = &request.observed.composite.object["metadata"]["name"];
        name.as_str().unwrap_or_default().to_owned()
    };
    let mut names: Vec<String> = function
        .received()
        .iter()
        .map(|call| name(&call.request))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[tokio::test]
async fn the_endpoint_of_the_active_revision_is_followed_without_a_restart() {
    let (cluster, first, second) = (Cluster::own().await, Function::start(), Function::start());
    let bridge = Bridge::start_without_plugins(&cluster, &["--compositions"]).await;
    define(&cluster).await;
    let revisions = api(&cluster, "pkg.crossplane.io", "v1", "FunctionRevision", false);
    create(&revisions, revision(1)).await;
    create(&orders(&cluster), order("a", 2)).await;
    until(&orders(&cluster), "a", "waiting", |order| {
        format!("{:?}", order.data)
            .contains("active FunctionRevision \\\"f-1\\\" has an empty status.endpoint")
    })
    .await;
    listens(&revisions, "f-1", &first).await;
    ready(&cluster, "a").await;

    // The Service of the function has another name.
    listens(&revisions, "f-1", &second).await;
    until_taken_up(&bridge, &second).await;
    create(&orders(&cluster), order("b", 2)).await;
    ready(&cluster, "b").await;
    assert!(!shown(&first.fake).contains(&"b".to_owned()));
    assert!(shown(&second.fake).contains(&"b".to_owned()));

    // An upgrade of the package, and what is left active by it.
    create(&revisions, revision(2)).await;
    listens(&revisions, "f-2", &first).await;
    until_taken_up(&bridge, &first).await;
    let inactive = json!({"spec": {"desiredState": "Inactive"}});
    merge(&revisions, "f-1", inactive.clone()).await.unwrap();
    create(&orders(&cluster), order("c", 2)).await;
    ready(&cluster, "c").await;
    assert!(shown(&first.fake).contains(&"c".to_owned()));
    assert!(!shown(&second.fake).contains(&"c".to_owned()));

    // And taken back.
    let active = json!({"spec": {"desiredState": "Active"}});
    merge(&revisions, "f-2", inactive).await.unwrap();
    merge(&revisions, "f-1", active).await.unwrap();
    until_taken_up(&bridge, &second).await;
    create(&orders(&cluster), order("d", 2)).await;
    ready(&cluster, "d").await;
    assert!(!shown(&first.fake).contains(&"d".to_owned()));
    assert_eq!(bridge.stop().await, Some(0));
}
