//! Resolves configs, each read and checked once per change, whoever asks.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use bridge_core::{
    external::{CallError, Config, Secrets},
    kind::PluginInfo,
    managed::{Problem, Says, Status},
};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::{
    ConfigError, Host,
    credentials::{self, Place},
    reference::{self, cluster_config_api, config_api},
    revision::{RevisionKey, settings_digest},
    spec::ConfigSpec,
};
use crate::{
    api_error::ApiError,
    clock::Clock,
    engine::{Engine, Lookup},
    managed::ConfigSource,
    object::{Key, Object},
    ports::External,
    secret::{SecretData, SecretError, SecretReader},
};

/// How long one `CheckConfig` may take.
const CHECK_WITHIN: Duration = Duration::from_secs(30);

/// First wait after a config was refused or could not be checked; it doubles.
const FIRST_WAIT: Duration = Duration::from_secs(5);

/// Longest wait.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// Reads Secrets, and knows their versions.
#[async_trait]
pub trait SecretSource: Send + Sync + 'static {
    /// The data of one.
    async fn read(&self, namespace: &str, name: &str) -> Result<Arc<SecretData>, SecretError>;

    /// Its newest known version; `None`: not known, or there is none.
    fn version(&self, key: &Key) -> Option<u64>;
}

#[async_trait]
impl SecretSource for SecretReader {
    async fn read(&self, namespace: &str, name: &str) -> Result<Arc<SecretData>, SecretError> {
        SecretReader::read(self, namespace, name).await
    }

    fn version(&self, key: &Key) -> Option<u64> {
        SecretReader::version(self, key)
    }
}

/// Knows the config objects.
#[async_trait]
pub trait ConfigObjects: Send + Sync + 'static {
    /// One of them.
    async fn get(&self, key: &Key) -> Lookup;

    /// Replaces its status.
    async fn put_status(&self, config: &Object) -> Result<(), ApiError>;
}

/// Weak, as the engine holds whom it serves.
#[async_trait]
impl ConfigObjects for Weak<Engine> {
    async fn get(&self, key: &Key) -> Lookup {
        let Some(engine) = self.upgrade() else {
            return Lookup::Unavailable(ApiError::Unavailable("the bridge is stopping".to_owned()));
        };
        let plugin = key.kind().group();
        let api = if key.namespace().is_some() {
            config_api(plugin)
        } else {
            cluster_config_api(plugin)
        };
        engine.get(&Arc::new(api), key).await
    }

    async fn put_status(&self, config: &Object) -> Result<(), ApiError> {
        match self.upgrade() {
            Some(engine) => engine.writer.put_status(config).await.map(drop),
            None => Ok(()),
        }
    }
}

/// What a resolver works with.
pub struct ConfigOptions {
    /// Whose configs.
    pub plugin: PluginInfo,
    /// Asked whether a config is usable, and for its identity.
    pub external: Arc<dyn External>,
    /// Knows the plugin's configs.
    pub objects: Arc<dyn ConfigObjects>,
    /// Reads Secrets.
    pub secrets: Arc<dyn SecretSource>,
    /// Variables and files.
    pub host: Arc<dyn Host>,
    /// A config of a namespace may name variables and files of the bridge.
    pub namespaced_host: bool,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Resolves the configs of one plugin.
pub struct ConfigResolver {
    options: ConfigOptions,
    revisions: RevisionKey,
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
}

/// One config.
#[derive(Default)]
struct Slot {
    known: Mutex<Option<Known>>,
    /// Held while it is read and checked, so that many who ask at once cause one read and one check.
    checks: tokio::sync::Mutex<Option<Failed>>,
}

#[derive(Clone)]
struct Known {
    uid: String,
    generation: i64,
    secret: Option<(Key, u64)>,
    /// Read each time: nobody tells when a file changes.
    on_host: bool,
    config: Arc<Config>,
}

/// The last check of a revision failed.
struct Failed {
    revision: String,
    times: u32,
    until: Timestamp,
    error: ConfigError,
}

impl ConfigResolver {
    /// Knows nothing yet.
    pub fn new(options: ConfigOptions) -> Self {
        Self {
            options,
            revisions: RevisionKey::draw(),
            slots: Mutex::default(),
        }
    }

    /// The config that a managed resource refers to.
    pub async fn config_of(&self, object: &Object) -> Result<Arc<Config>, ConfigError> {
        let key = reference::config_of(&self.options.plugin.name, object)?;
        let config = match self.options.objects.get(&key).await {
            Lookup::Live(Some(config)) | Lookup::Direct(Some(config)) => config,
            Lookup::Live(None) | Lookup::Direct(None) => {
                self.slots.lock().remove(&key);
                return Err(ConfigError::NotFound { config: key });
            }
            Lookup::Unavailable(source) => return Err(ConfigError::NotRead { config: key, source }),
        };
        let slot = Arc::clone(self.slots.lock().entry(key).or_default());
        if let Some(known) = self.still_known(&slot, &config) {
            return Ok(known);
        }
        let mut checks = slot.checks.lock().await;
        if let Some(known) = self.still_known(&slot, &config) {
            return Ok(known);
        }
        let read = self.read(&slot, &config, &mut checks).await;
        self.tell(&config, &read).await;
        let known = read?;
        let resolved = Arc::clone(&known.config);
        *slot.known.lock() = Some(known);
        Ok(resolved)
    }

    /// What became of the config is its condition. Written when it changes; a write that fails is no harm.
    async fn tell(&self, config: &Object, read: &Result<Known, ConfigError>) {
        let says = match read {
            Ok(known) => Says {
                status: true,
                reason: "Usable".to_owned(),
                message: match known.config.identity.as_str() {
                    "" => String::new(),
                    identity => format!("acts as {identity}"),
                },
            },
            Err(error) => Says::no(error.reason(), error.to_string()),
        };
        let before = Status::read(&config.status_value());
        let mut status = before.clone();
        status.set("Ready", &says, config.generation(), self.options.clock.now());
        if status == before {
            return;
        }
        let mut told = config.clone();
        told.set_status(&status.write());
        if let Err(error) = self.options.objects.put_status(&told).await {
            tracing::debug!(config = %config.key(), %error, "its condition was not written");
        }
    }

    /// As it was read, if nothing that it was read from has changed.
    fn still_known(&self, slot: &Slot, config: &Object) -> Option<Arc<Config>> {
        let known = slot.known.lock();
        let known = known.as_ref()?;
        let same_secret = known
            .secret
            .as_ref()
            .is_none_or(|(key, version)| self.options.secrets.version(key) == Some(*version));
        let same = known.uid == config.uid() && known.generation == config.generation();
        (same && same_secret && !known.on_host).then(|| Arc::clone(&known.config))
    }

    async fn read(
        &self,
        slot: &Slot,
        object: &Object,
        checks: &mut Option<Failed>,
    ) -> Result<Known, ConfigError> {
        let key = object.key();
        let spec = ConfigSpec::of(object).map_err(|why| ConfigError::Invalid {
            config: key.clone(),
            why,
        })?;
        let place = Place::of(object, &spec, self.options.namespaced_host)?;
        let on_host = matches!(place, Place::Variable(_) | Place::Path(_));
        let (credentials, secret) = self.credentials(&key, place).await?;
        self.check_keys(&key, &credentials)?;
        let mut config = Config {
            id: object.uid().to_owned(),
            revision: self.revisions.revision(spec.settings.as_ref(), &credentials),
            settings_digest: settings_digest(spec.settings.as_ref()),
            identity: String::new(),
            settings: spec.settings,
            credentials,
            credentials_expire: None,
        };
        let known = slot.known.lock().clone();
        let config = match known.map(|known| known.config) {
            Some(known) if known.id == config.id && known.revision == config.revision => known,
            _ => {
                config.identity = self.identity(&key, &config, checks).await?;
                Arc::new(config)
            }
        };
        Ok(Known {
            uid: object.uid().to_owned(),
            generation: object.generation(),
            secret,
            on_host,
            config,
        })
    }

    /// With the Secret, and its version, that they were read from.
    async fn credentials(
        &self,
        config: &Key,
        place: Place,
    ) -> Result<(Secrets, Option<(Key, u64)>), ConfigError> {
        let host = self.options.host.as_ref();
        Ok(match place {
            Place::Nowhere => (Secrets::default(), None),
            Place::Variable(name) => (credentials::of_variable(config, host, &name)?, None),
            Place::Path(path) => (credentials::of_path(config, host, &path)?, None),
            Place::Secret(secret) => {
                let data = self.options.secrets.read(&secret.namespace, &secret.name).await;
                let data = data.map_err(|source| ConfigError::Secret {
                    config: config.clone(),
                    source,
                })?;
                let from = (Key::secret(&secret.namespace, &secret.name), data.version);
                (credentials::of_secret(config, &secret, &data)?, Some(from))
            }
        })
    }

    /// A map that is empty means ambient identity: nothing is required of it.
    fn check_keys(&self, config: &Key, credentials: &Secrets) -> Result<(), ConfigError> {
        let required = self
            .options
            .plugin
            .credential_keys
            .iter()
            .filter(|key| key.required);
        let missing = required
            .map(|key| &key.name)
            .find(|name| !credentials.0.contains_key(*name));
        match missing {
            Some(name) if !credentials.0.is_empty() => Err(ConfigError::CredentialMissing {
                config: config.clone(),
                name: name.clone(),
                keys: format!(
                    "it gives {}",
                    credentials
                        .0
                        .keys()
                        .map(String::as_str)
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Whom the upstream takes us for. A refusal is kept for a while, so that a thousand objects do not ask a thousand times.
    async fn identity(
        &self,
        key: &Key,
        config: &Config,
        checks: &mut Option<Failed>,
    ) -> Result<String, ConfigError> {
        let now = self.options.clock.now();
        let before = checks.take().filter(|failed| failed.revision == config.revision);
        if let Some(failed) = before.as_ref().filter(|failed| now < failed.until) {
            let error = failed.error.clone();
            *checks = before;
            return Err(error);
        }
        let error = match self
            .options
            .external
            .check_config(config, now + CHECK_WITHIN)
            .await
        {
            Ok(Ok(identity)) => return Ok(identity),
            Ok(Err(failure)) => ConfigError::Refused {
                config: key.clone(),
                failure: Box::new(failure),
            },
            // A plugin that does not check configs knows no identities either.
            Err(CallError::Refused { code, .. }) if code == "UNIMPLEMENTED" => return Ok(String::new()),
            Err(source) => ConfigError::NotChecked {
                config: key.clone(),
                source,
            },
        };
        let times = before.map_or(1, |failed| failed.times.saturating_add(1));
        *checks = Some(Failed {
            revision: config.revision.clone(),
            times,
            until: self.options.clock.now() + wait(times, &error),
            error: error.clone(),
        });
        Err(error)
    }
}

/// A plugin that could not be asked is asked again soon; what was refused is tried less and less often.
fn wait(times: u32, error: &ConfigError) -> Duration {
    let advised = match error {
        ConfigError::Refused { failure, .. } => failure.retry_after.unwrap_or_default(),
        _ => return FIRST_WAIT,
    };
    let doublings = times.saturating_sub(1).min(10);
    (FIRST_WAIT * 2_u32.pow(doublings)).min(LONGEST_WAIT).max(advised)
}

#[async_trait]
impl ConfigSource for ConfigResolver {
    async fn resolve(&self, object: &Object) -> Result<Arc<Config>, Problem> {
        self.config_of(object)
            .await
            .map_err(|error| Problem::from(&error))
    }

    fn references(&self, object: &Object) -> Vec<Key> {
        reference::config_of(&self.options.plugin.name, object)
            .into_iter()
            .collect()
    }

    fn forget(&self, config_id: &str) {
        let slots: Vec<Arc<Slot>> = self.slots.lock().values().map(Arc::clone).collect();
        for slot in slots {
            let mut known = slot.known.lock();
            if known.as_ref().is_some_and(|known| known.config.id == config_id) {
                *known = None;
            }
        }
    }
}
