//! What a bridge that serves compositions may do: `deploy/compositions.yaml`, and what `runtime-bridge rbac` prints beside it.

use bridge_control_plane::Options;
use kube::{
    Api,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    admin::Bridge,
    cluster::{Cluster, merge, until, until_gone},
    compositions::{
        Function, composed, composition, create, crossplane, define, definition, order, orders, ready,
        remove, values,
    },
    life::apply_manifests,
    program::run,
};

const MANIFESTS: &str = include_str!("../../../deploy/compositions.yaml");

fn documents(text: &str) -> Vec<Value> {
    let documents = serde_yaml_ng::Deserializer::from_str(text);
    documents.map(|one| Value::deserialize(one).unwrap()).collect()
}

fn cluster_roles(cluster: &Cluster) -> Api<DynamicObject> {
    let gvk = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", "ClusterRole");
    Api::all_with(cluster.client.clone(), &ApiResource::from_gvk(&gvk))
}

#[tokio::test]
async fn printed_and_deployed_roles_are_the_same() {
    let printed = run(&["rbac", "--compositions"]).await;
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let deployed: Vec<Value> = documents(MANIFESTS)
        .into_iter()
        .filter(|one| one["kind"] == "ClusterRole")
        .collect();
    assert_eq!(documents(&printed.stdout), deployed);
}

#[tokio::test]
async fn a_file_without_definitions_has_no_roles() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("composition.json");
    std::fs::write(&file, composition().to_string()).unwrap();
    let printed = run(&["rbac", "--compositions", "--definition", file.to_str().unwrap()]).await;
    assert_eq!((printed.code, printed.stdout.as_str()), (Some(1), ""));
    assert!(
        printed.stderr.contains("has no CompositeResourceDefinition"),
        "{}",
        printed.stderr
    );
}

#[tokio::test]
async fn the_rights_that_deploy_and_rbac_give_are_enough() {
    let options = Options {
        controller_manager: true,
        ..Options::default()
    };
    let (mut cluster, function) = (Cluster::start_with(options).await, Function::start());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("definition.json");
    std::fs::write(&file, definition().to_string()).unwrap();
    let printed = run(&[
        "rbac",
        "--compositions",
        "--definition",
        file.to_str().unwrap(),
        "--composes",
        "configmaps",
    ])
    .await;
    apply_manifests(&cluster, MANIFESTS).await;
    // The controller manager owns the rules of an aggregated role.
    let additional = documents(&printed.stdout).into_iter().skip(1);
    let additional: Vec<String> = additional.map(|one| one.to_string()).collect();
    apply_manifests(&cluster, &additional.join("\n---\n")).await;
    until(
        &cluster_roles(&cluster),
        "crossbridge-compositions",
        "aggregated",
        |role| {
            let rules = role.data["rules"].to_string();
            rules.contains("configmaps") && rules.contains("orders/status") && rules.contains("apiservices")
        },
    )
    .await;

    let account = "system:serviceaccount:crossbridge-system:bridge-compositions";
    let kubeconfig = cluster.plane.user_kubeconfig(account, None).unwrap();
    let flag = function.flag();
    let bridge = Bridge::spawn(
        &kubeconfig,
        &[
            "--compositions",
            "--function",
            &flag,
            "--namespace",
            "crossbridge-system",
            "--leader-election",
            "--leader-election-name",
            "bridge-compositions",
        ],
    )
    .await;
    define(&cluster).await;
    bridge.until_ready().await;
    create(&orders(&cluster), order("a", 2)).await;
    ready(&cluster, "a").await;
    assert_eq!(values(&composed(&cluster).await), ["1", "2"]);

    // A composed object is changed, and one is removed.
    let mut changed = composition()["spec"]["pipeline"].clone();
    let resources = &mut changed[0]["input"]["resources"];
    resources["first"]["object"]["data"]["value"] = json!("3");
    resources["second"]["when"] = json!("never");
    let compositions = crossplane(&cluster, "v1", "Composition");
    merge(
        &compositions,
        "orders",
        json!({ "spec": { "pipeline": changed } }),
    )
    .await
    .unwrap();
    for _ in 0..600 {
        if values(&composed(&cluster).await) == ["3"] {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(values(&composed(&cluster).await), ["3"]);
    ready(&cluster, "a").await;

    let name = "orders.shop.example.org";
    remove(crossplane(&cluster, "v2", "CompositeResourceDefinition"), name).await;
    until_gone(cluster.definitions(), name).await;
    let metrics = bridge.get("/metrics").await.1;
    let forbidden: Vec<&str> = metrics
        .lines()
        .filter(|line| line.contains("code=\"403\""))
        .collect();
    assert_eq!(forbidden, Vec::<&str>::new());
    assert_eq!(bridge.stop().await, Some(0));
}
