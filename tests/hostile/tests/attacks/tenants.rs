//! A tenant who may write objects, configs and Secrets of a namespace, of the kind that the good ones have.

use std::collections::BTreeMap;

use bridge_hostile::{GROUP, Scene, UNKNOWN_KEYS};
use serde_json::{Value, json};

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
    for at in 0..4 {
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
