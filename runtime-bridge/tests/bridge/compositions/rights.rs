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

const MANIFESTS: &str = include_str!("../../../../deploy/compositions.yaml");

fn documents(text: &str) -> Vec<Value> {
    let documents = serde_yaml_ng::Deserializer::from_str(text);
    documents.map(|one| Value::deserialize(one).unwrap()).collect()
}

pub fn cluster_roles(cluster: &Cluster) -> Api<DynamicObject> {
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
    until_guarded(&bridge).await;
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
    assert_eq!(forbidden(&bridge).await, [TRIAL]);
    assert_eq!(bridge.stop().await, Some(0));

    // The webhook takes the place of the policy.
    let bridge = Bridge::spawn(
        &kubeconfig,
        &[
            "--compositions",
            "--namespace",
            "crossbridge-system",
            "--usage-guard=webhook",
            "--webhook-port=0",
            "--webhook-host=127.0.0.1",
        ],
    )
    .await;
    until_guarded(&bridge).await;
    // An API server may still refuse by the former policy for a moment.
    let forbidden = forbidden(&bridge).await;
    assert!(forbidden.iter().all(|one| one == TRIAL), "{forbidden:?}");
    assert_eq!(bridge.stop().await, Some(0));
}

/// The one request that is to be refused with 403: the trial of the policy.
const TRIAL: &str = "delete configmaps";

/// What was refused with 403, by verb and resource.
async fn forbidden(bridge: &Bridge) -> Vec<String> {
    let metrics = bridge.get("/metrics").await.1;
    let lines = metrics.lines().filter(|line| line.contains("code=\"403\""));
    lines
        .map(|line| {
            let label = |name: &str| {
                let value = line.split(&format!("{name}=\"")).nth(1);
                value.and_then(|value| value.split('"').next()).unwrap_or(line)
            };
            format!("{} {}", label("verb"), label("resource"))
        })
        .collect()
}

async fn until_guarded(bridge: &Bridge) {
    let mut checks = String::new();
    for _ in 0..600 {
        checks = bridge.get("/readyz").await.1;
        if checks.contains("[+] usage guard: in force") {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the guard is not in force: {checks}");
}
