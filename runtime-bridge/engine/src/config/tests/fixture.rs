//! All that a resolver can see, as a test has it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, mpsc},
    time::Duration,
};

use async_trait::async_trait;
use bridge_core::{
    back_off::policies,
    external::{Answer, Call, CallError, Config, DesiredState, Failure, ObserveResult, Secrets, Target},
    kind::{CredentialKey, PluginInfo},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    api_error::ApiError,
    clock::Clock,
    config::{
        ConfigObjects, ConfigOptions, ConfigPolicy, ConfigResolver, Host, HostError, SecretSource,
        cluster_config_api, config_api, host::Content,
    },
    engine::Lookup,
    object::{ApiType, Key, Object},
    ports::External,
    secret::{SecretData, SecretError},
};

pub(super) const PLUGIN: &str = "test.example.org";

/// All that a resolver can see.
#[derive(Default)]
pub(super) struct Fixture {
    pub(super) objects: BTreeMap<String, Arc<Object>>,
    pub(super) secrets: BTreeMap<String, (u64, Secrets)>,
    pub(super) files: BTreeMap<String, Content>,
    pub(super) verdict: Option<Result<Result<String, Failure>, CallError>>,
    pub(super) now: Timestamp,
    pub(super) reads: usize,
    pub(super) checks: usize,
    /// Conditions that were written.
    pub(super) reported: Vec<Value>,
    /// What becomes of writing one, first to last; then it works.
    pub(super) refusals: VecDeque<ApiError>,
    /// Reading a Secret takes so long.
    pub(super) slow: Duration,
    /// Reading a file waits for this.
    pub(super) hangs: Option<mpsc::Receiver<()>>,
    /// Objects whose turn was asked for, and when.
    pub(super) woken: Vec<String>,
}

#[derive(Clone, Default)]
pub(super) struct Shared(Arc<Mutex<Fixture>>);

impl Shared {
    pub(super) fn fixture(&self) -> MutexGuard<'_, Fixture> {
        self.0.lock().unwrap()
    }

    /// Reads of Secrets, and checks.
    pub(super) fn counts(&self) -> (usize, usize) {
        let world = self.fixture();
        (world.reads, world.checks)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.fixture().now
    }

    pub(super) fn wait(&self, seconds: u64) {
        let mut world = self.fixture();
        world.now += Duration::from_secs(seconds);
    }

    pub(super) fn config(&self, namespace: Option<&str>, generation: i64, spec: &Value) {
        let api = if namespace.is_some() {
            config_api(PLUGIN)
        } else {
            cluster_config_api(PLUGIN)
        };
        let config = object(&api, namespace, generation, spec);
        self.fixture()
            .objects
            .insert(config.key().to_string(), Arc::new(config));
    }

    pub(super) fn secret(&self, version: u64, data: &[(&str, &str)]) {
        let data = data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        self.fixture()
            .secrets
            .insert("team/keys".to_owned(), (version, Secrets(data.collect())));
    }

    pub(super) fn resolver(&self, namespaced_host: bool) -> ConfigResolver {
        self.resolver_by(ConfigPolicy {
            namespaced_host,
            ..ConfigPolicy::default()
        })
    }

    pub(super) fn resolver_by(&self, policy: ConfigPolicy) -> ConfigResolver {
        ConfigResolver::new(ConfigOptions {
            plugin: PluginInfo {
                name: PLUGIN.to_owned(),
                version: "1.0.0".to_owned(),
                contract_versions: vec!["v1alpha1".to_owned()],
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
            policy,
            backoff: policies::CONFIG,
            clock: Arc::new(self.clone()),
        })
    }
}

#[async_trait]
impl ConfigObjects for Shared {
    async fn get(&self, key: &Key) -> Lookup {
        Lookup::Live(self.fixture().objects.get(&key.to_string()).map(Arc::clone))
    }

    async fn put_status(&self, config: &Object) -> Result<(), ApiError> {
        let mut world = self.fixture();
        if let Some(error) = world.refusals.pop_front() {
            return Err(error);
        }
        world
            .reported
            .push(config.status_value()["conditions"][0].clone());
        world
            .objects
            .insert(config.key().to_string(), Arc::new(config.clone()));
        Ok(())
    }

    fn wake(&self, object: &Key, at: Timestamp) {
        let mut world = self.fixture();
        let after = at.duration_since(world.now).as_secs();
        world.woken.push(format!("{} in {after} s", object.name()));
    }
}

#[async_trait]
impl SecretSource for Shared {
    async fn read(&self, namespace: &str, name: &str) -> Result<Arc<SecretData>, SecretError> {
        let slow = self.fixture().slow;
        tokio::time::sleep(slow).await;
        let mut world = self.fixture();
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
            controller: None,
        }))
    }

    fn version(&self, key: &Key) -> Option<u64> {
        let path = format!("{}/{}", key.namespace().unwrap_or_default(), key.name());
        self.fixture().secrets.get(&path).map(|(version, _)| *version)
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
        let hangs = self.fixture().hangs.take();
        if let Some(hangs) = hangs {
            let _ = hangs.recv_timeout(Duration::from_secs(30));
        }
        let files = &self.fixture().files;
        files.get(path).cloned().ok_or_else(|| HostError::FileMissing {
            path: path.to_owned(),
        })
    }
}

impl Clock for Shared {
    fn now(&self) -> Timestamp {
        self.fixture().now
    }
}

#[async_trait]
impl External for Shared {
    async fn observe(&self, _: &Target, _: &DesiredState, _: Timestamp) -> Result<ObserveResult, CallError> {
        unreachable!()
    }

    async fn execute(&self, _: &Call) -> Answer {
        unreachable!()
    }

    async fn check_config(&self, _: &Config, _: Timestamp) -> Result<Result<String, Failure>, CallError> {
        let mut world = self.fixture();
        world.checks += 1;
        world
            .verdict
            .clone()
            .unwrap_or_else(|| Ok(Ok("account".to_owned())))
    }
}

pub(super) fn object(api: &ApiType, namespace: Option<&str>, generation: i64, spec: &Value) -> Object {
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
pub(super) fn bucket(kind: &str) -> Object {
    let api = config_api("bucket.example.org");
    object(
        &api,
        Some("team"),
        1,
        &json!({ "providerConfigRef": { "kind": kind, "name": "default" } }),
    )
}

pub(super) fn cluster_wide() -> Object {
    bucket("ClusterProviderConfig")
}
