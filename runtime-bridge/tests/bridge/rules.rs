//! The CRDs on a real API server: accepted, and their rules hold.

use kube::api::{Api, DynamicObject, PostParams};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    cluster::{Cluster, create, is_true, merge, object, until},
    notes::Notes,
    program::run,
};

/// Applies what the command prints.
pub async fn apply_printed(cluster: &Cluster, endpoint: &str) {
    let printed = run(&["crds", "--plugin", endpoint]).await;
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    let definitions = cluster.definitions();
    let mut names = Vec::new();
    for document in serde_yaml_ng::Deserializer::from_str(&printed.stdout) {
        let crd = object(Value::deserialize(document).unwrap());
        names.push(crd.metadata.name.clone().unwrap());
        definitions.create(&PostParams::default(), &crd).await.unwrap();
    }
    for name in names {
        until(&definitions, &name, "established", |crd| {
            is_true(crd, "Established")
        })
        .await;
    }
}

fn note(name: &str, spec: impl Into<Value>) -> Value {
    let spec: Value = spec.into();
    json!({
        "apiVersion": "notes.example.org/v1alpha1",
        "kind": "Note",
        "metadata": { "name": name },
        "spec": spec,
    })
}

async fn refused(api: &Api<DynamicObject>, object: Value) -> String {
    create(api, object)
        .await
        .expect_err("the API server accepts what breaks the rules")
}

#[tokio::test]
async fn crds_are_accepted_and_their_rules_hold() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    apply_printed(&cluster, &notes.endpoint()).await;
    let api = cluster.namespaced("Note");

    let plain = create(&api, note("plain", json!({ "forProvider": { "title": "a" } })))
        .await
        .unwrap();
    assert_eq!(plain.data["spec"]["managementPolicies"], json!(["*"]));
    let default = json!({ "kind": "ClusterProviderConfig", "name": "default" });
    assert_eq!(plain.data["spec"]["providerConfigRef"], default);
    assert_eq!(plain.data["spec"].get("deletionPolicy"), None);

    let without = refused(&api, note("without", json!({ "forProvider": {} }))).await;
    assert!(
        without.contains("spec.forProvider.title is a required parameter"),
        "{without}"
    );
    let import = json!({ "forProvider": {}, "managementPolicies": ["Observe", "LateInitialize"] });
    create(&api, note("import", import)).await.unwrap();
    let unknown = json!({ "forProvider": { "title": "a" }, "managementPolicies": ["Fly"] });
    assert!(
        refused(&api, note("unknown", unknown))
            .await
            .contains("Unsupported value")
    );

    let paused = json!({ "forProvider": { "title": "a" }, "managementPolicies": [] });
    create(&api, note("paused", paused)).await.unwrap();
    let paused = merge(&api, "paused", json!({ "metadata": { "labels": { "a": "b" } } }))
        .await
        .unwrap();
    assert_eq!(paused.data["spec"]["managementPolicies"], json!([]));

    let half = json!({ "forProvider": { "title": "a", "passwordSecretRef": { "name": "a" } } });
    assert!(
        refused(&api, note("half", half))
            .await
            .contains("passwordSecretRef.key")
    );

    let coloured = |colour: Value| json!({ "spec": { "forProvider": { "colour": colour } } });
    merge(&api, "plain", coloured(json!("red"))).await.unwrap();
    for change in [json!("blue"), Value::Null] {
        let refused = merge(&api, "plain", coloured(change)).await.unwrap_err();
        assert!(
            refused.contains("colour cannot be changed once it is set"),
            "{refused}"
        );
    }
    merge(
        &api,
        "plain",
        json!({ "spec": { "forProvider": { "title": "b" } } }),
    )
    .await
    .unwrap();
}

#[tokio::test]
async fn the_cluster_scoped_envelope_and_the_configs_are_accepted() {
    let (cluster, notes) = (Cluster::start().await, Notes::start());
    apply_printed(&cluster, &notes.endpoint()).await;

    let boards = cluster.cluster_scoped("Board");
    let mut board = note("wall", json!({ "forProvider": { "title": "a" } }));
    board["kind"] = json!("Board");
    let board = create(&boards, board).await.unwrap();
    assert_eq!(board.data["spec"]["deletionPolicy"], "Delete");
    assert_eq!(
        board.data["spec"]["providerConfigRef"],
        json!({ "name": "default" })
    );
    let reference = json!({ "passwordSecretRef": { "name": "a", "key": "b" } });
    let refused_reference = merge(&boards, "wall", json!({ "spec": { "forProvider": reference } })).await;
    assert!(
        refused_reference
            .unwrap_err()
            .contains("passwordSecretRef.namespace")
    );

    let configs = cluster.cluster_scoped("ClusterProviderConfig");
    let config = |credentials: Value| {
        json!({
            "apiVersion": "notes.example.org/v1alpha1",
            "kind": "ClusterProviderConfig",
            "metadata": { "name": "default" },
            "spec": { "settings": { "author": "me" }, "credentials": credentials },
        })
    };
    let no_reference = refused(&configs, config(json!({ "source": "Secret" }))).await;
    assert!(
        no_reference.contains("source Secret needs secretRef"),
        "{no_reference}"
    );
    let secret = json!({ "source": "Secret", "secretRef": { "namespace": "default", "name": "a" } });
    create(&configs, config(secret)).await.unwrap();

    let configs = cluster.namespaced("ProviderConfig");
    let mut config = config(json!({ "source": "Secret", "secretRef": { "name": "a", "key": "b" } }));
    config["kind"] = json!("ProviderConfig");
    create(&configs, config.clone()).await.unwrap();
    config["metadata"]["name"] = json!("other");
    config["spec"]["settings"] = json!({});
    assert!(refused(&configs, config).await.contains("settings.author"));
}
