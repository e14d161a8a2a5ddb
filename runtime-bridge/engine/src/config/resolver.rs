//! Resolves configs, each read and checked once per change, whoever asks.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_core::{
    back_off::BackoffPolicy,
    external::{Config, Failure, Secrets},
    kind::PluginInfo,
    managed::Problem,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::{
    ConfigError, ConfigObjects, ConfigPolicy, Host, HostError, SecretSource, condition,
    credentials::{self, CredentialsLocation},
    reference,
    revision::{RevisionKey, settings_digest},
    slots::{CachedConfig, Slot, Slots, Unread},
    spec::ConfigSpec,
};
use crate::{
    api_error::ApiError,
    clock::Clock,
    engine::Lookup,
    managed::ConfigSource,
    object::{Key, Object},
    ports::External,
};

/// Tries to write a condition before others are let on; then again after a while.
const REPORT_IMMEDIATELY: u32 = 3;
const REPORT_INTERVAL: Duration = Duration::from_secs(10);
/// Where another writer's version has not been seen yet.
const REPORT_AFTER_CONFLICT: Duration = Duration::from_secs(1);

/// Files are read within this time, so many at once.
const HOST_DEADLINE: Duration = Duration::from_secs(10);
const HOST_READS: usize = 8;

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
    /// What configs of a namespace may do.
    pub policy: ConfigPolicy,
    /// While a config is rejected.
    pub backoff: BackoffPolicy,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Resolves the configs of one plugin.
pub struct ConfigResolver {
    options: ConfigOptions,
    revisions: RevisionKey,
    host_reads: Arc<Semaphore>,
    slots: Mutex<Slots>,
}

/// Checks a config whenever it changes, whether or not anything refers to it.
#[async_trait]
pub trait ConfigCheck: Send + Sync + 'static {
    /// Reads and checks this config, and reports what came of it in its status. When to do so again, if a change alone would not tell.
    async fn check(&self, config: &Arc<Object>) -> Option<Timestamp>;

    /// It is deleted: nothing of it is kept.
    fn forget(&self, config: &Key);

    /// Time has passed: what nobody asked for in a while is not kept any longer.
    fn forget_unused(&self);
}

impl ConfigResolver {
    /// Knows nothing yet.
    pub fn new(options: ConfigOptions) -> Self {
        Self {
            options,
            revisions: RevisionKey::draw(),
            host_reads: Arc::new(Semaphore::new(HOST_READS)),
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
        let slot = self.slot(&config);
        let resolved = self.resolved(&slot, config).await;
        if let Some(at) = again_at(&slot, &resolved) {
            // Nothing that is watched would tell.
            self.options.objects.wake(&object.key(), at);
        }
        resolved
    }

    /// Reads and checks a config, unless it is as it was, and reports what came of it.
    async fn resolved(&self, slot: &Slot, mut config: Arc<Object>) -> Result<Arc<Config>, ConfigError> {
        if let Some(known) = self.still_known(slot, &config)
            && !self.is_report_due(slot)
        {
            return Ok(known);
        }
        let mut turn = slot.reads.queue().await;
        // Who had the turn before may have reported something: a report over what was stored before that would find nothing to say.
        if let Lookup::Live(Some(newer)) = self.options.objects.get(&config.key()).await
            && (newer.uid(), newer.generation()) == (config.uid(), config.generation())
        {
            config = newer;
        }
        let resolved = if let Some(known) = self.still_known(slot, &config) {
            Ok(known)
        } else if let Some(unread) = turn.failed_meanwhile().filter(|unread| unread.is_of(&config)) {
            Err(unread.error.clone())
        } else {
            turn.begin();
            match self.read(slot, &config).await {
                Ok(known) => {
                    let config = slot.keep(known);
                    self.slots.lock().forget_unused(self.options.clock.now());
                    Ok(config)
                }
                Err(error) => {
                    turn.fail(Unread {
                        uid: config.uid().to_owned(),
                        generation: config.generation(),
                        error: error.clone(),
                    });
                    Err(error)
                }
            }
        };
        self.report(slot, config, &resolved).await;
        resolved
    }

    fn slot(&self, config: &Object) -> Arc<Slot> {
        let now = self.options.clock.now();
        self.slots.lock().of(config, self.options.backoff, now)
    }

    /// Tells what became of a config in its status. A write that failed is tried again after a while, by the next who asks.
    async fn report(
        &self,
        slot: &Slot,
        mut config: Arc<Object>,
        resolved: &Result<Arc<Config>, ConfigError>,
    ) {
        let unrefuted = resolved.as_ref().ok();
        let unrefuted = unrefuted.and_then(|config| slot.checks.unrefuted(config));
        let identity = match (&unrefuted, resolved) {
            (Some(error), _) | (None, Err(error)) => Err(error),
            (None, Ok(config)) => Ok(config.identity.as_str()),
        };
        let now = self.options.clock.now();
        if slot.unreported.lock().is_some_and(|again| now < again) {
            return;
        }
        let mut unreported = None;
        for _ in 0..REPORT_IMMEDIATELY {
            let Some(reported) = condition::reported(&config, identity, now) else {
                break;
            };
            match self.options.objects.put_status(&reported).await {
                Ok(()) | Err(ApiError::NotFound(_)) => unreported = None,
                Err(error) => {
                    tracing::debug!(config = %config.key(), %error, "its condition is not written yet");
                    let is_conflict = matches!(error, ApiError::Conflict(_));
                    unreported = Some(
                        now + if is_conflict {
                            REPORT_AFTER_CONFLICT
                        } else {
                            REPORT_INTERVAL
                        },
                    );
                    if matches!(error, ApiError::Conflict(_))
                        && let Lookup::Live(Some(newer)) = self.options.objects.get(&config.key()).await
                        && newer.generation() == config.generation()
                    {
                        config = newer;
                        continue;
                    }
                }
            }
            break;
        }
        *slot.unreported.lock() = unreported;
        if let Some(at) = unreported {
            // The next who asks may come much later.
            self.options.objects.wake(&config.key(), at);
        }
    }

    fn is_report_due(&self, slot: &Slot) -> bool {
        slot.unreported
            .lock()
            .is_some_and(|again| self.options.clock.now() >= again)
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

    async fn read(&self, slot: &Slot, object: &Object) -> Result<CachedConfig, ConfigError> {
        let key = object.key();
        let spec = ConfigSpec::of(object).map_err(|why| ConfigError::Invalid {
            config: key.clone(),
            why,
        })?;
        let policy = self.options.policy;
        policy.check_settings(object, spec.settings.as_ref())?;
        let location = CredentialsLocation::of(object, &spec, policy)?;
        let on_host = matches!(
            location,
            CredentialsLocation::Variable(_) | CredentialsLocation::Path(_)
        );
        let (credentials, secret) = self.credentials(&key, location).await?;
        let takes_credentials = !self.options.plugin.credential_keys.is_empty();
        policy.check_credentials(object, credentials.0.is_empty(), takes_credentials)?;
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
                let (external, clock) = (self.options.external.as_ref(), self.options.clock.as_ref());
                config.identity = slot.checks.identity(external, clock, &key, &config).await?;
                Arc::new(config)
            }
        };
        Ok(CachedConfig {
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
        location: CredentialsLocation,
    ) -> Result<(Secrets, Option<(Key, u64)>), ConfigError> {
        let host = self.options.host.as_ref();
        Ok(match location {
            CredentialsLocation::Nowhere => (Secrets::default(), None),
            CredentialsLocation::Variable(name) => (credentials::of_variable(config, host, &name)?, None),
            CredentialsLocation::Path(path) => (self.credentials_of_path(config, path).await?, None),
            CredentialsLocation::Secret(secret) => {
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

    /// Of a mount that hangs, only a few threads ever wait.
    async fn credentials_of_path(&self, config: &Key, path: String) -> Result<Secrets, ConfigError> {
        let (host, reads) = (Arc::clone(&self.options.host), Arc::clone(&self.host_reads));
        let (of, file) = (config.clone(), path.clone());
        let read = async move {
            let location = reads.acquire_owned().await.ok()?;
            let read = move || {
                let _place = location;
                credentials::of_path(&of, host.as_ref(), &file)
            };
            tokio::task::spawn_blocking(read).await.ok()
        };
        match tokio::time::timeout(HOST_DEADLINE, read).await {
            Ok(Some(credentials)) => credentials,
            Ok(None) | Err(_) => Err(ConfigError::Host {
                config: config.clone(),
                source: HostError::FileNotRead {
                    path,
                    why: format!("it did not end within {} s", HOST_DEADLINE.as_secs()),
                },
            }),
        }
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
}

/// When a config that was not accepted, or not checked, may be checked again.
fn again_at(slot: &Slot, resolved: &Result<Arc<Config>, ConfigError>) -> Option<Timestamp> {
    let unchecked = matches!(
        resolved,
        Err(ConfigError::Rejected { .. } | ConfigError::NotChecked { .. } | ConfigError::NotDecided { .. })
    );
    slot.checks.again_at().filter(|_| unchecked)
}

#[async_trait]
impl ConfigCheck for ConfigResolver {
    async fn check(&self, config: &Arc<Object>) -> Option<Timestamp> {
        let slot = self.slot(config);
        let resolved = self.resolved(&slot, Arc::clone(config)).await;
        again_at(&slot, &resolved)
    }

    fn forget(&self, config: &Key) {
        self.slots.lock().remove(config);
    }

    fn forget_unused(&self) {
        self.slots.lock().forget_unused(self.options.clock.now());
    }
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

    fn rejected(&self, config: &Config, failure: &Failure, began: Timestamp) {
        let Some((_, slot)) = self.slots.lock().with_id(&config.id) else {
            return;
        };
        let now = self.options.clock.now();
        // Of a revision that is not in use any more it says nothing.
        slot.known
            .lock()
            .take_if(|known| known.is_of(config) && slot.checks.rejected(config, failure, began, now));
    }

    fn accepted(&self, config: &Config, began: Timestamp) {
        let Some((key, slot)) = self.slots.lock().with_id(&config.id) else {
            return;
        };
        let is_known = |known: &CachedConfig| known.is_of(config);
        let is_this = slot.known.lock().as_ref().is_some_and(is_known);
        if is_this && slot.checks.accepted(config, began) {
            let now = self.options.clock.now();
            *slot.unreported.lock() = Some(now);
            self.options.objects.wake(&key, now);
        }
    }
}
