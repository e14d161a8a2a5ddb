//! A tenant who may write objects, configs and Secrets of a namespace, of the kind that the good ones have.

use std::collections::BTreeMap;

use bridge_hostile::{Attack, GROUP, HOSTILE, HostilePlugin, MINE, Scene, UNKNOWN_KEYS, observed};
use crossbridge_proto::v1alpha1::{Observation, ObserveRequest, ObserveResponse};
use serde_json::{Value, json};
use tonic::Status;

const THEIRS: &str = "tenant";

async fn plant(scene: &Scene, name: &str, spec: Value) {
    let plant = json!({"metadata": {"name": name}, "spec": spec});
    scene.create(GROUP, "v1alpha1", "Plant", THEIRS, plant).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_config_of_a_tenant_acts_as_the_plugin_itself() {
    let scene = Scene::without_plugin().await;
    scene.namespace(THEIRS).await;
    scene
        .create("", "v1", "Secret", THEIRS, json!({"metadata": {"name": "empty"}}))
        .await;
    let credentials = [
        json!({"source": "None"}),
        json!({"source": "InjectedIdentity"}),
        json!({"source": "Environment", "env": {"name": "PATH"}}),
        json!({"source": "Filesystem", "fs": {"path": "/proc/self/environ"}}),
        json!({"source": "Secret", "secretRef": {"name": "empty"}}),
    ];
    for (at, credentials) in credentials.into_iter().enumerate() {
        let name = format!("config-{at}");
        let config = json!({"metadata": {"name": name}, "spec": {"credentials": credentials}});
        scene
            .create(GROUP, "v1alpha1", "ProviderConfig", THEIRS, config)
            .await;
        let spec = json!({
            "providerConfigRef": {"kind": "ProviderConfig", "name": name},
            "forProvider": {"variety": "weed"},
        });
        plant(&scene, &name, spec).await;
    }
    scene
        .until_all(GROUP, "Plant", THEIRS, "Synced", "CredentialsSourceForbidden")
        .await;
    scene.verdict("ambient-identity").await;
    assert_eq!(scene.neighbours.calls_of(THEIRS), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn rejected_keys_of_one_object_hold_no_other() {
    let scene = Scene::without_plugin().await;
    scene.namespace(THEIRS).await;
    for at in 0..10 {
        let spec = json!({"forProvider": {"variety": UNKNOWN_KEYS}});
        plant(&scene, &format!("weed-{at}"), spec).await;
    }
    scene
        .until_all(GROUP, "Plant", THEIRS, "Synced", "the keys are not known here")
        .await;
    scene.verdict("rejected-keys").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_secret_that_is_named_thousands_of_times_fills_no_memory() {
    let scene = Scene::without_plugin().await;
    scene.namespace(THEIRS).await;
    let secret = json!({"metadata": {"name": "big"}, "stringData": {"all": "x".repeat(900 << 10)}});
    scene.create("", "v1", "Secret", THEIRS, secret).await;
    let keys: BTreeMap<String, Value> = (0..4000)
        .map(|at| (format!("k{at}"), json!({"name": "big", "key": "all"})))
        .collect();
    for at in 0..3 {
        let spec = json!({"forProvider": {"variety": "ivy", "keysSecretRef": keys}});
        plant(&scene, &format!("ivy-{at}"), spec).await;
    }
    scene.until_all(GROUP, "Plant", THEIRS, "Synced", "False").await;
    scene.verdict("one-secret-4000-times").await;
    assert_eq!(scene.neighbours.calls_of(THEIRS), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_sensitive_values_stop_nobody() {
    let scene = Scene::without_plugin().await;
    scene.namespace(THEIRS).await;
    scene.many_values(THEIRS, 8_000).await;
    let refs = |count: usize| -> BTreeMap<String, Value> {
        let all = (0..count).map(|at| (format!("k{at}"), json!({"name": "many", "key": format!("k{at}")})));
        all.collect()
    };
    for at in 0..4 {
        let spec = json!({"forProvider": {"variety": "fern", "keysSecretRef": refs(8_000)}});
        plant(&scene, &format!("fern-{at}"), spec).await;
    }
    scene
        .until_all(GROUP, "Plant", THEIRS, "Synced", "TooManySecrets")
        .await;
    assert_eq!(scene.neighbours.calls_of(THEIRS), 0);
    // As many as there may be, in answers with as many texts as there may be.
    let beds: Vec<String> = (0..30_000).map(|at| format!("bed-{at}")).collect();
    for at in 0..4 {
        let spec = json!({"forProvider": {"variety": "moss", "beds": beds, "keysSecretRef": refs(1_000)}});
        plant(&scene, &format!("moss-{at}"), spec).await;
    }
    scene.verdict("many-sensitive-values").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lists_stop_nobody() {
    let scene = Scene::without_plugin().await;
    scene.namespace(THEIRS).await;
    let beds: Vec<String> = (0..30_000).map(|at| format!("bed-{at}")).collect();
    // Each write of one keeps the API server busy for two seconds: more of them would attack that alone.
    for at in 0..2 {
        let spec = json!({"forProvider": {"variety": "moss", "beds": beds}});
        plant(&scene, &format!("moss-{at}"), spec).await;
    }
    scene.until_all(GROUP, "Plant", THEIRS, "Synced", "True").await;
    scene.verdict("long-lists").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_spec_that_is_nested_deeply_is_not_acted_upon() {
    let scene = Scene::without_plugin().await;
    scene.namespace(THEIRS).await;
    let mut notes = json!({});
    for _ in 0..70 {
        notes = json!({ "deeper": notes });
    }
    let spec = json!({
        "managementPolicies": ["Observe"],
        "forProvider": {"variety": "vine", "notes": notes},
    });
    plant(&scene, "vine", spec).await;
    scene.until_all(GROUP, "Plant", THEIRS, "Synced", "False").await;
    scene.verdict("deep-spec").await;
    assert_eq!(scene.neighbours.calls_of(THEIRS), 0);
}

/// A config with as many credentials as a Secret holds, used once and deleted, again and again.
#[tokio::test(flavor = "multi_thread")]
async fn configs_that_come_and_go_fill_no_memory() {
    const AT_ONCE: usize = 40;
    let scene = Scene::without_plugin().await;
    scene.namespace(THEIRS).await;
    for round in 0..10 {
        let name = |at: usize| format!("weed-{round}-{at}");
        for at in 0..AT_ONCE {
            let (name, token) = (name(at), "x".repeat(900 << 10));
            let secret = json!({"metadata": {"name": name}, "stringData": {"token": token}});
            scene.create("", "v1", "Secret", THEIRS, secret).await;
            let credentials = json!({"source": "Secret", "secretRef": {"name": name}});
            let config = json!({"metadata": {"name": name}, "spec": {"credentials": credentials}});
            scene
                .create(GROUP, "v1alpha1", "ProviderConfig", THEIRS, config)
                .await;
            let spec = json!({
                "providerConfigRef": {"kind": "ProviderConfig", "name": name},
                "forProvider": {"variety": "weed"},
            });
            plant(&scene, &name, spec).await;
        }
        scene.until_all(GROUP, "Plant", THEIRS, "Synced", "True").await;
        for at in 0..AT_ONCE {
            scene.delete(GROUP, "v1alpha1", "Plant", THEIRS, &name(at)).await;
        }
        scene.until_none(GROUP, "Plant", THEIRS).await;
        for at in 0..AT_ONCE {
            scene
                .delete(GROUP, "v1alpha1", "ProviderConfig", THEIRS, &name(at))
                .await;
            scene.delete("", "v1", "Secret", THEIRS, &name(at)).await;
        }
    }
    scene.verdict("configs-come-and-go").await;
}

/// A plugin that has connection details: what is published where is the tenant's choice.
struct WithDetails;

#[tonic::async_trait]
impl Attack for WithDetails {
    async fn observe(&self, request: ObserveRequest) -> Result<ObserveResponse, Status> {
        let observation = Observation {
            ready: true,
            connection_details: [("url".to_owned(), b"https://evil.example.org".to_vec())].into(),
            ..Observation::default()
        };
        Ok(observed(&request, observation))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_secret_of_another_owner_is_taken_over() {
    let scene = Scene::with_plugin(|socket| HostilePlugin::serve(socket, WithDetails)).await;
    scene.namespace("evil").await;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "other"});
    let owned = json!({
        "metadata": {"name": "trap-0-connection", "ownerReferences": [owner]},
        "type": "connection.crossplane.io/v1alpha1",
        "stringData": {"url": "https://good.example.org"},
    });
    scene.create("", "v1", "Secret", "evil", owned).await;
    let secret = async || {
        let all = scene.list("", "v1", "Secret").await;
        let all = all["items"].as_array().expect("items").clone();
        let mut ours = all
            .into_iter()
            .filter(|secret| secret["metadata"]["name"] == "trap-0-connection");
        ours.next().expect("the Secret")
    };
    let before = secret().await;
    scene.config_of(HOSTILE, "evil").await;
    scene.traps_of(HOSTILE, MINE, "evil", 1).await;
    scene
        .until_all(
            HOSTILE,
            MINE,
            "evil",
            "Synced",
            "existing secret is not controlled by UID",
        )
        .await;
    scene.verdict("secret-of-another").await;
    assert_eq!(secret().await, before);
}
