//! The contract's services over a plugin's kinds.

mod answer;
mod discovery;
mod guard;
mod metadata;
mod plugin;
mod redact;
mod resource;

pub(crate) use answer::broken;

use std::sync::Arc;

use crossbridge_types::{self as types, PluginInfo, ResourceType, Violation};
use futures::future::BoxFuture;
use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tonic::Status;

use crate::{
    Config, ConfigCall, Failure,
    served::{Kinds, ServedKind},
};

/// Tries a config: whom does the upstream take us for?
pub(crate) type CheckConfig =
    Box<dyn Fn(ConfigCall) -> BoxFuture<'static, Result<String, Failure>> + Send + Sync>;

/// A plugin, ready to be asked.
pub(crate) struct Declared {
    pub(crate) info: PluginInfo,
    pub(crate) kinds: Kinds,
    /// Whether settings have the form of the plugin's type.
    pub(crate) check_settings: fn(&Config) -> Result<(), Failure>,
    pub(crate) check_config: Option<CheckConfig>,
}

/// What all services share.
#[derive(Clone)]
pub(crate) struct Service {
    plugin: Arc<Declared>,
    /// One for each call that the author's code may work on at once.
    permits: Arc<Semaphore>,
    /// The calls that run.
    running: TaskTracker,
}

impl Service {
    pub(crate) fn new(plugin: Declared) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(
                plugin.info.max_concurrent_calls.min(Semaphore::MAX_PERMITS),
            )),
            plugin: Arc::new(plugin),
            running: TaskTracker::new(),
        }
    }

    pub(crate) fn max_message_bytes(&self) -> usize {
        self.plugin.info.max_message_bytes
    }

    pub(crate) fn lists_external(&self) -> bool {
        self.plugin.info.lists_external
    }

    /// Resolves when no call runs any more.
    pub(crate) async fn idle(&self) {
        self.running.close();
        self.running.wait().await;
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    pub(crate) fn kind(&self, resource_type: &ResourceType) -> Result<&dyn ServedKind, Failure> {
        match self.plugin.kinds.get(resource_type) {
            Some(kind) => Ok(kind.as_ref()),
            None => Err(Failure::status(Status::not_found(format!(
                "{} does not serve {resource_type}",
                self.plugin.info.name
            )))),
        }
    }

    /// The config of a call, as authors see it.
    ///
    /// # Errors
    /// `CREDENTIALS_EXPIRED` for stale credentials, `UNAUTHENTICATED` where a required one is missing.
    fn config(&self, config: &Arc<types::Config>) -> Result<Config, Failure> {
        if config
            .credentials_expire
            .is_some_and(|time| time <= Timestamp::now())
        {
            return Err(Failure::credentials_expired(
                "the provider config's credentials have expired",
            ));
        }
        let config = Config(Arc::clone(config));
        if !config.is_ambient() {
            for key in self.plugin.info.credential_keys.iter().filter(|key| key.required) {
                config.required_credential(&key.name)?;
            }
        }
        Ok(config)
    }
}

/// The gRPC status for a caller's mistake, with the field's path.
fn invalid_argument(violation: &Violation) -> Failure {
    Failure::status(Status::invalid_argument(violation.to_string()))
}
