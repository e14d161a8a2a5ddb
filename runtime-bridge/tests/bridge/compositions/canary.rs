//! What Secrets hold is in Secrets alone: a canary that is a credential, published and composed is looked for everywhere else.

use base64::{Engine, prelude::BASE64_STANDARD};
use kube::{
    Api,
    api::{DynamicObject, ListParams},
    discovery::{Discovery, verbs},
};
use serde_json::{Value, json};

use crate::{
    admin::Bridge,
    cluster::{Cluster, is_true, until},
    compositions::{CRDS, Function, api, create, crossplane},
    program::run,
};

/// Reads as base64, too.
const CANARY: &str = "canaryInTheCoalMine0";

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "CompositeResourceDefinition",
        "metadata": {"name": "xmines.shop.example.org"},
        "spec": {
            "group": "shop.example.org",
            "names": {"kind": "XMine", "plural": "xmines"},
            "connectionSecretKeys": ["password"],
            "versions": [{
                "name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object"}}}},
            }],
        },
    })
}

fn composition() -> Value {
    json!({
        "apiVersion": "apiextensions.crossplane.io/v1",
        "kind": "Composition",
        "metadata": {"name": "mines"},
        "spec": {
            "compositeTypeRef": {"apiVersion": "shop.example.org/v1", "kind": "XMine"},
            "mode": "Pipeline",
            "pipeline": [{
                "step": "compose",
                "functionRef": {"name": "f"},
                "credentials": [{
                    "name": "login", "source": "Secret", "secretRef": {"namespace": "default", "name": "login"},
                }],
                "input": {"apiVersion": "fn.example.org/v1", "kind": "Program", "credential": "login", "ttlSeconds": 1},
            }],
        },
    })
}

fn mine() -> Value {
    json!({
        "apiVersion": "shop.example.org/v1", "kind": "XMine", "metadata": {"name": "a"},
        "spec": {"writeConnectionSecretToRef": {"namespace": "default", "name": "published"}},
    })
}

/// All objects that are no Secrets, as text.
async fn objects(cluster: &Cluster) -> Vec<(String, String)> {
    let discovery = Discovery::new(cluster.client.clone()).run().await.unwrap();
    let mut all = Vec::new();
    for (resource, capabilities) in discovery
        .groups()
        .flat_map(kube::discovery::ApiGroup::recommended_resources)
    {
        if resource.kind == "Secret" || !capabilities.supports_operation(verbs::LIST) {
            continue;
        }
        let api: Api<DynamicObject> = Api::all_with(cluster.client.clone(), &resource);
        let Ok(list) = api.list(&ListParams::default()).await else {
            continue;
        };
        for one in list {
            let name = format!(
                "{} {}",
                resource.kind,
                one.metadata.name.as_deref().unwrap_or_default()
            );
            all.push((name, serde_json::to_string(&one).unwrap()));
        }
    }
    all
}

async fn trace(cluster: &Cluster, bridge: &Bridge, more: &[&str]) -> String {
    let kubeconfig = cluster.plane.kubeconfig();
    let flags = [
        "trace",
        "xmine/a",
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
        "--admin-address",
        &bridge.address,
    ];
    let ran = run(&[&flags, more].concat()).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout + &ran.stderr
}

#[tokio::test]
async fn what_secrets_hold_is_shown_nowhere_else() {
    let (cluster, function) = (Cluster::own().await, Function::start());
    let flag = function.flag();
    let flags = ["--compositions", "--function", &flag, "--log-level", "trace"];
    let bridge = Bridge::start_without_plugins(&cluster, &flags).await;
    for name in CRDS {
        until(&cluster.definitions(), name, "established", |crd| {
            is_true(crd, "Established")
        })
        .await;
    }
    let login = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login"},
        "stringData": {"password": CANARY, "hidden": CANARY},
    });
    create(&cluster.secrets(), login).await;
    create(
        &crossplane(&cluster, "v1", "CompositeResourceDefinition"),
        definition(),
    )
    .await;
    create(&crossplane(&cluster, "v1", "Composition"), composition()).await;
    let mines = api(&cluster, "shop.example.org", "v1", "XMine", false);
    create(&mines, mine()).await;
    let mine = until(&mines, "a", "ready", |mine| {
        is_true(mine, "Ready") && mine.data["status"]["connectionDetails"]["lastPublishedTime"].is_string()
    })
    .await;

    // It was there to be seen: in the published Secret, and in the composed one.
    let encoded = BASE64_STANDARD.encode(CANARY);
    let published = cluster.secrets().get("published").await.unwrap();
    assert_eq!(published.data["data"], json!({"password": encoded}));
    let composed = mine.data["spec"]["resourceRefs"][0]["name"].as_str().unwrap();
    let composed = cluster.secrets().get(composed).await.unwrap();
    assert_eq!(composed.data["data"]["hidden"], CANARY);

    let uid = mine.metadata.uid.as_deref().unwrap();
    let mut seen = objects(&cluster).await;
    for path in [
        "/metrics".to_owned(),
        "/readyz?verbose".to_owned(),
        "/debug/state".to_owned(),
        format!("/debug/objects/shop.example.org/XMine/-/a/{uid}"),
    ] {
        let (status, text) = bridge.get(&path).await;
        assert_eq!(status, 200, "{path}: {text}");
        seen.push((path, text));
    }
    for more in [&[][..], &["-o", "json"], &["--all-kinds"]] {
        seen.push((format!("trace {more:?}"), trace(&cluster, &bridge, more).await));
    }
    let log = bridge.log.clone();
    assert_eq!(bridge.stop().await, Some(0));
    let log = log.lock().unwrap().join("\n");
    assert!(
        log.contains("\"TRACE\"") || log.contains("\"DEBUG\""),
        "the log is a full one"
    );
    seen.push(("log".to_owned(), log));
    for (what, text) in seen {
        for canary in [CANARY, &encoded] {
            assert!(!text.contains(canary), "{what} shows it");
        }
    }
}
