use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use bridge_core::{
    external::{
        Answer, CallError, Config, DesiredState, Effect, Failure, FailureCode, Look, Secrets, Target,
    },
    kind::{CredentialKey, PluginInfo},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    ConfigError, ConfigObjects, ConfigOptions, ConfigResolver, Host, HostError, SecretSource,
    cluster_config_api, config_api, host::Content, secret_of,
};
use crate::{
    api_error::ApiError,
    clock::Clock,
    engine::Lookup,
    managed::ConfigSource,
    object::{ApiType, Key, Object},
    ports::External,
    secret::{SecretData, SecretError},
};

const PLUGIN: &str = "test.example.org";

/// All that a resolver can see.
#[derive(Default)]
struct World {
    objects: BTreeMap<String, Arc<Object>>,
    secrets: BTreeMap<String, (u64, Secrets)>,
    files: BTreeMap<String, Content>,
    verdict: Option<Result<Result<String, Failure>, CallError>>,
    now: Timestamp,
    reads: usize,
    checks: usize,
    /// Conditions that were written.
    told: Vec<Value>,
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<World>>);

impl Shared {
    fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }

    /// Reads of Secrets, and checks.
    fn counts(&self) -> (usize, usize) {
        let world = self.world();
        (world.reads, world.checks)
    }

    fn wait(&self, seconds: u64) {
        let mut world = self.world();
        world.now += Duration::from_secs(seconds);
    }

    fn config(&self, namespace: Option<&str>, generation: i64, spec: &Value) {
        let api = if namespace.is_some() {
            config_api(PLUGIN)
        } else {
            cluster_config_api(PLUGIN)
        };
        let config = object(&api, namespace, generation, spec);
        self.world()
            .objects
            .insert(config.key().to_string(), Arc::new(config));
    }

    fn secret(&self, version: u64, data: &[(&str, &str)]) {
        let data = data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        self.world()
            .secrets
            .insert("team/keys".to_owned(), (version, Secrets(data.collect())));
    }

    fn resolver(&self, namespaced_host: bool) -> ConfigResolver {
        ConfigResolver::new(ConfigOptions {
            plugin: PluginInfo {
                name: PLUGIN.to_owned(),
                version: "1.0.0".to_owned(),
                instance_id: "a".to_owned(),
                max_concurrent_calls: 1,
                max_message_bytes: 1,
                config_schema: None,
                credential_keys: vec![CredentialKey {
                    name: "token".to_owned(),
                    description: String::new(),
                    required: true,
                }],
                lists_external: false,
            },
            external: Arc::new(self.clone()),
            objects: Arc::new(self.clone()),
            secrets: Arc::new(self.clone()),
            host: Arc::new(self.clone()),
            namespaced_host,
            clock: Arc::new(self.clone()),
        })
    }
}

#[async_trait]
impl ConfigObjects for Shared {
    async fn get(&self, key: &Key) -> Lookup {
        Lookup::Live(self.world().objects.get(&key.to_string()).map(Arc::clone))
    }

    async fn put_status(&self, config: &Object) -> Result<(), ApiError> {
        let mut world = self.world();
        world.told.push(config.status_value()["conditions"][0].clone());
        world
            .objects
            .insert(config.key().to_string(), Arc::new(config.clone()));
        Ok(())
    }
}

#[async_trait]
impl SecretSource for Shared {
    async fn read(&self, namespace: &str, name: &str) -> Result<Arc<SecretData>, SecretError> {
        let mut world = self.world();
        world.reads += 1;
        let found = world.secrets.get(&format!("{namespace}/{name}"));
        let (version, data) = found.ok_or_else(|| SecretError::NotFound {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })?;
        Ok(Arc::new(SecretData {
            uid: "secret".to_owned(),
            version: *version,
            data: data.clone(),
        }))
    }

    fn version(&self, key: &Key) -> Option<u64> {
        let path = format!("{}/{}", key.namespace().unwrap_or_default(), key.name());
        self.world().secrets.get(&path).map(|(version, _)| *version)
    }
}

impl Host for Shared {
    fn variable(&self, name: &str) -> Result<Vec<u8>, HostError> {
        match self.content(name) {
            Ok(Content::File(value)) => Ok(value),
            _ => Err(HostError::VariableMissing {
                name: name.to_owned(),
            }),
        }
    }

    fn content(&self, path: &str) -> Result<Content, HostError> {
        let files = &self.world().files;
        files.get(path).cloned().ok_or_else(|| HostError::FileMissing {
            path: path.to_owned(),
        })
    }
}

impl Clock for Shared {
    fn now(&self) -> Timestamp {
        self.world().now
    }
}

#[async_trait]
impl External for Shared {
    async fn observe(&self, _: &Target, _: &DesiredState, _: Timestamp) -> Result<Look, CallError> {
        unreachable!()
    }

    async fn create(&self, _: &Target, _: &DesiredState, _: &str, _: bool, _: Timestamp) -> Answer {
        unreachable!()
    }

    async fn update(&self, _: &Target, _: &DesiredState, _: &[String], _: &str, _: Timestamp) -> Answer {
        unreachable!()
    }

    async fn delete(&self, _: &Target, _: &DesiredState, _: &str, _: Timestamp) -> Answer {
        unreachable!()
    }

    async fn poll(&self, _: &Target, _: &str, _: &DesiredState, _: Timestamp) -> Answer {
        unreachable!()
    }

    async fn check_config(&self, _: &Config, _: Timestamp) -> Result<Result<String, Failure>, CallError> {
        let mut world = self.world();
        world.checks += 1;
        world
            .verdict
            .clone()
            .unwrap_or_else(|| Ok(Ok("account".to_owned())))
    }
}

fn object(api: &ApiType, namespace: Option<&str>, generation: i64, spec: &Value) -> Object {
    let text = json!({
        "metadata": {
            "name": "default",
            "namespace": namespace,
            "uid": "uid",
            "resourceVersion": "1",
            "generation": generation,
        },
        "spec": spec,
    });
    Object::decode(&Arc::new(api.clone()), &text.to_string()).unwrap()
}

/// A managed resource that refers to a config of this kind.
fn bucket(kind: &str) -> Object {
    let api = config_api("bucket.example.org");
    object(
        &api,
        Some("team"),
        1,
        &json!({ "providerConfigRef": { "kind": kind, "name": "default" } }),
    )
}

fn cluster_wide() -> Object {
    bucket("ClusterProviderConfig")
}

fn with_secret(key: Option<&str>) -> Value {
    let reference = json!({ "namespace": "team", "name": "keys", "key": key });
    json!({ "settings": { "region": "north" }, "credentials": { "source": "Secret", "secretRef": reference } })
}

fn credentials(config: &Config) -> BTreeMap<&str, &str> {
    let text = |value| std::str::from_utf8(value).unwrap();
    config
        .credentials
        .0
        .iter()
        .map(|(key, value)| (key.as_str(), text(value)))
        .collect()
}

async fn reason(resolver: &ConfigResolver, object: &Object) -> String {
    resolver.config_of(object).await.unwrap_err().reason().to_owned()
}

#[tokio::test]
async fn a_config_is_read_and_checked_once_until_it_or_its_secret_changes() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    let first = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!((first.id.as_str(), first.identity.as_str()), ("uid", "account"));
    assert_eq!(credentials(&first), BTreeMap::from([("token", "canary")]));
    assert!(!format!("{first:?}").contains("canary"));
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(shared.counts(), (1, 1));

    shared.secret(2, &[("token", "other")]);
    let second = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_ne!(second.revision, first.revision);
    assert_eq!(second.settings_digest, first.settings_digest);

    let mut spec = with_secret(None);
    spec["settings"] = json!({ "region": "south" });
    shared.config(None, 2, &spec);
    let third = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_ne!(third.revision, second.revision);
    assert_ne!(third.settings_digest, second.settings_digest);
    assert_eq!(shared.counts(), (3, 3));
}

#[tokio::test]
async fn a_secret_that_changes_in_name_only_is_read_but_not_checked_again() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    let first = resolver.config_of(&cluster_wide()).await.unwrap();
    shared.secret(2, &[("token", "canary")]);
    let second = resolver.config_of(&cluster_wide()).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!(shared.counts(), (2, 1));
}

#[tokio::test]
async fn credentials_that_expired_are_read_afresh() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    resolver.config_of(&cluster_wide()).await.unwrap();
    resolver.forget("another");
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(shared.counts().0, 1);
    resolver.forget("uid");
    resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(shared.counts().0, 2);
}

#[tokio::test]
async fn one_value_is_a_json_object_of_credentials_or_one_credential() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(Some("json")));
    shared.secret(
        1,
        &[
            ("json", r#"{"token": "t", "port": 1, "nested": {"a": true}}"#),
            ("token", "plain"),
        ],
    );
    let resolver = shared.resolver(false);
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    let expected = BTreeMap::from([("token", "t"), ("port", "1"), ("nested", r#"{"a":true}"#)]);
    assert_eq!(credentials(&config), expected);
    shared.config(None, 2, &with_secret(Some("token")));
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(credentials(&config), BTreeMap::from([("token", "plain")]));
}

#[tokio::test]
async fn variables_files_and_folders_give_credentials_and_are_read_each_time() {
    let shared = Shared::default();
    let folder = BTreeMap::from([("token".to_owned(), b"in folder\n".to_vec())]);
    shared.world().files = BTreeMap::from([
        (
            "TOKENS".to_owned(),
            Content::File(br#"{"token":"in variable"}"#.to_vec()),
        ),
        ("/run/token".to_owned(), Content::File(b"in file\n".to_vec())),
        ("/run/folder".to_owned(), Content::Directory(folder)),
    ]);
    let resolver = shared.resolver(false);
    let sources = [
        (
            json!({ "source": "Environment", "env": { "name": "TOKENS" } }),
            "in variable",
        ),
        (
            json!({ "source": "Filesystem", "fs": { "path": "/run/token" } }),
            "in file",
        ),
        (
            json!({ "source": "Filesystem", "fs": { "path": "/run/folder" } }),
            "in folder",
        ),
    ];
    for (generation, (source, expected)) in (1..).zip(sources) {
        shared.config(None, generation, &json!({ "credentials": source }));
        let config = resolver.config_of(&cluster_wide()).await.unwrap();
        assert_eq!(credentials(&config), BTreeMap::from([("token", expected)]));
    }
    let folder = BTreeMap::from([("token".to_owned(), b"renewed".to_vec())]);
    shared
        .world()
        .files
        .insert("/run/folder".to_owned(), Content::Directory(folder));
    let config = resolver.config_of(&cluster_wide()).await.unwrap();
    assert_eq!(credentials(&config), BTreeMap::from([("token", "renewed")]));
}

#[tokio::test]
async fn ambient_identity_is_no_credentials_at_all() {
    let shared = Shared::default();
    let resolver = shared.resolver(false);
    for (generation, source) in (1..).zip(["None", "InjectedIdentity"]) {
        shared.config(None, generation, &json!({ "credentials": { "source": source } }));
        let config = resolver.config_of(&cluster_wide()).await.unwrap();
        assert_eq!(config.credentials, Secrets::default());
    }
}

#[tokio::test]
async fn a_config_of_a_namespace_reads_its_own_namespace_and_not_the_host() {
    let shared = Shared::default();
    let reference = json!({ "namespace": "other", "name": "keys" });
    let spec = json!({ "credentials": { "source": "Secret", "secretRef": reference } });
    shared.config(Some("team"), 1, &spec);
    shared.secret(1, &[("token", "of team")]);
    let resolver = shared.resolver(false);
    let config = resolver.config_of(&bucket("ProviderConfig")).await.unwrap();
    assert_eq!(credentials(&config), BTreeMap::from([("token", "of team")]));

    let spec = json!({ "credentials": { "source": "Environment", "env": { "name": "TOKEN" } } });
    shared.config(Some("team"), 2, &spec);
    shared.world().files.insert(
        "TOKEN".to_owned(),
        Content::File(b"{\"token\":\"of host\"}".to_vec()),
    );
    assert_eq!(
        reason(&resolver, &bucket("ProviderConfig")).await,
        "CredentialsSourceForbidden"
    );
    let config = shared
        .resolver(true)
        .config_of(&bucket("ProviderConfig"))
        .await
        .unwrap();
    assert_eq!(credentials(&config), BTreeMap::from([("token", "of host")]));
}

#[tokio::test]
async fn each_thing_that_can_be_missing_has_its_reason() {
    let shared = Shared::default();
    let resolver = shared.resolver(false);
    assert_eq!(
        reason(&resolver, &bucket("Something")).await,
        "InvalidProviderConfigReference"
    );
    assert_eq!(reason(&resolver, &cluster_wide()).await, "ProviderConfigNotFound");
    shared.config(None, 1, &with_secret(Some("json")));
    assert_eq!(reason(&resolver, &cluster_wide()).await, "SecretNotFound");
    shared.secret(1, &[("yaml", "canary")]);
    assert_eq!(reason(&resolver, &cluster_wide()).await, "SecretKeyMissing");
    shared.config(None, 2, &with_secret(None));
    assert_eq!(reason(&resolver, &cluster_wide()).await, "CredentialMissing");
    let cases = [
        (json!({ "source": "Secret" }), "InvalidProviderConfig"),
        (json!({ "source": "Moon" }), "InvalidProviderConfig"),
        (
            json!({ "source": "Environment", "env": { "name": "NONE" } }),
            "EnvironmentVariableMissing",
        ),
        (
            json!({ "source": "Filesystem", "fs": { "path": "/none" } }),
            "CredentialsFileMissing",
        ),
    ];
    for (generation, (source, expected)) in (3..).zip(cases) {
        shared.config(None, generation, &json!({ "credentials": source }));
        assert_eq!(reason(&resolver, &cluster_wide()).await, expected);
    }
}

fn refusal() -> Failure {
    Failure {
        code: FailureCode::Unauthenticated,
        effect: Effect::None,
        reason: "BadKey".to_owned(),
        message: "The key is refused.".to_owned(),
        retry_after: None,
        violations: Vec::new(),
        upstream_code: String::new(),
        existing_external_name: String::new(),
    }
}

#[tokio::test]
async fn a_refused_config_is_tried_less_and_less_often_and_at_once_when_it_changes() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "bad")]);
    shared.world().verdict = Some(Ok(Err(refusal())));
    let resolver = shared.resolver(false);
    let error = resolver.config_of(&cluster_wide()).await.unwrap_err();
    assert_eq!(error.reason(), "BadKey");
    assert!(
        error
            .to_string()
            .ends_with("is not accepted: The key is refused."),
        "{error}"
    );
    // 5 s, 10 s, 20 s, … at most 5 min.
    let steps = [
        (4, 1),
        (1, 2),
        (9, 2),
        (1, 3),
        (19, 3),
        (1, 4),
        (3600, 5),
        (300, 6),
        (300, 7),
        (300, 8),
        (299, 8),
        (1, 9),
    ];
    for (seconds, checks) in steps {
        shared.wait(seconds);
        assert_eq!(reason(&resolver, &cluster_wide()).await, "BadKey");
        assert_eq!(shared.counts().1, checks, "after {seconds} s more");
    }
    shared.secret(2, &[("token", "good")]);
    shared.world().verdict = None;
    assert_eq!(
        resolver.config_of(&cluster_wide()).await.unwrap().identity,
        "account"
    );
}

#[tokio::test]
async fn a_plugin_that_cannot_be_asked_is_asked_again_soon() {
    let shared = Shared::default();
    shared.config(None, 1, &json!({}));
    let unknown = CallError::Unknown {
        code: "UNAVAILABLE".to_owned(),
        message: "away".to_owned(),
    };
    shared.world().verdict = Some(Err(unknown));
    let resolver = shared.resolver(false);
    let error = resolver.config_of(&cluster_wide()).await.unwrap_err();
    assert!(matches!(error, ConfigError::NotChecked { .. }), "{error}");
    for _ in 0..3 {
        shared.wait(5);
        assert_eq!(
            reason(&resolver, &cluster_wide()).await,
            "ProviderConfigNotChecked"
        );
    }
    assert_eq!(shared.counts().1, 4);
}

#[tokio::test]
async fn a_plugin_that_checks_no_configs_knows_no_identity() {
    let shared = Shared::default();
    shared.config(None, 1, &json!({}));
    let unimplemented = CallError::Refused {
        code: "UNIMPLEMENTED".to_owned(),
        message: String::new(),
    };
    shared.world().verdict = Some(Err(unimplemented));
    assert_eq!(
        shared
            .resolver(false)
            .config_of(&cluster_wide())
            .await
            .unwrap()
            .identity,
        ""
    );
}

#[tokio::test]
async fn many_who_ask_at_once_cause_one_read_and_one_check() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    shared.secret(1, &[("token", "canary")]);
    let resolver = shared.resolver(false);
    let object = cluster_wide();
    let asked = (0..100).map(|_| resolver.config_of(&object));
    for answer in futures::future::join_all(asked).await {
        answer.unwrap();
    }
    assert_eq!(shared.counts(), (1, 1));
}

#[tokio::test]
async fn what_became_of_a_config_is_its_condition_written_once_per_change() {
    let shared = Shared::default();
    shared.config(None, 1, &with_secret(None));
    let resolver = shared.resolver(false);
    for _ in 0..3 {
        assert_eq!(reason(&resolver, &cluster_wide()).await, "SecretNotFound");
    }
    shared.secret(1, &[("token", "canary")]);
    for _ in 0..3 {
        resolver.config_of(&cluster_wide()).await.unwrap();
    }
    let told = shared.world().told.clone();
    let words: Vec<[&str; 3]> = told
        .iter()
        .map(|condition| ["status", "reason", "message"].map(|field| condition[field].as_str().unwrap()))
        .collect();
    let missing = "the ClusterProviderConfig.test.example.org default names a Secret for its credentials: the Secret team/keys does not exist";
    assert_eq!(
        words,
        [
            ["False", "SecretNotFound", missing],
            ["True", "Usable", "acts as account"]
        ]
    );
}

#[test]
fn what_depends_on_what() {
    let shared = Shared::default();
    let references = shared.resolver(false).references(&bucket("ProviderConfig"));
    let names: Vec<String> = references.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["ProviderConfig.test.example.org team/default"]);
    let config = object(&cluster_config_api(PLUGIN), None, 1, &with_secret(None));
    assert_eq!(secret_of(&config), Some(Key::secret("team", "keys")));
    let config = object(
        &cluster_config_api(PLUGIN),
        None,
        1,
        &json!({ "credentials": { "source": "None" } }),
    );
    assert_eq!(secret_of(&config), None);
}
