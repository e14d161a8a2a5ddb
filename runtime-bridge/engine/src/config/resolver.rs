//! Resolves configs, each read and checked once per change, whoever asks.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use bridge_core::{
    external::{Config, Failure, Secrets},
    kind::PluginInfo,
    managed::Problem,
};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::{
    ConfigError, ConfigObjects, Host, SecretSource,
    checks::Checks,
    condition,
    credentials::{self, Place},
    reference,
    revision::{RevisionKey, settings_digest},
    spec::ConfigSpec,
};
use crate::{
    clock::Clock,
    engine::Lookup,
    managed::ConfigSource,
    object::{Key, Object},
    ports::External,
};

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
    checks: Checks,
    /// Held while it is read and checked, so that many who ask at once cause one read and one check.
    reading: tokio::sync::Mutex<()>,
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
        let _reading = slot.reading.lock().await;
        if let Some(known) = self.still_known(&slot, &config) {
            return Ok(known);
        }
        let read = self.read(&slot, &config).await;
        self.tell(&config, &read).await;
        let unchecked = matches!(
            &read,
            Err(ConfigError::Refused { .. } | ConfigError::NotChecked { .. })
        );
        if let Some(at) = slot.checks.again_at().filter(|_| unchecked) {
            // Nothing that is watched would tell.
            self.options.objects.wake(&object.key(), at);
        }
        let known = read?;
        let resolved = Arc::clone(&known.config);
        *slot.known.lock() = Some(known);
        Ok(resolved)
    }

    /// Tells what became of a config in its status. A write that fails is no harm: the next one comes.
    async fn tell(&self, config: &Object, read: &Result<Known, ConfigError>) {
        let identity = read.as_ref().map(|known| known.config.identity.as_str());
        let Some(told) = condition::told(config, identity, self.options.clock.now()) else {
            return;
        };
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

    async fn read(&self, slot: &Slot, object: &Object) -> Result<Known, ConfigError> {
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
                let (external, clock) = (self.options.external.as_ref(), self.options.clock.as_ref());
                config.identity = slot.checks.identity(external, clock, &key, &config).await?;
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

    fn refused(&self, config: &Config, failure: &Failure, began: Timestamp) {
        let slots: Vec<(Key, Arc<Slot>)> = self
            .slots
            .lock()
            .iter()
            .map(|(key, slot)| (key.clone(), Arc::clone(slot)))
            .collect();
        for (key, slot) in slots {
            let mut known = slot.known.lock();
            let is_this =
                |known: &mut Known| known.config.id == config.id && known.config.revision == config.revision;
            // Of a revision that is not in use any more it says nothing.
            if known.take_if(is_this).is_some() {
                let now = self.options.clock.now();
                slot.checks.refused(&key, config, failure, began, now);
            }
        }
    }
}
