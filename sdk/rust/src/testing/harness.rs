//! The plugin under test.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crossbridge_proto::v1alpha1::{self as wire, plugin_service_server::PluginService};
use crossbridge_types::{Config, ConfigVerdict, Kind, Secrets};
use serde::Serialize;
use tonic::{Request, Status};

use crate::{Plugin, document, service::Service};

/// A plugin in this process, the config of its calls, and the means to start it anew.
pub struct Harness {
    plugin: Arc<dyn Fn() -> Plugin + Send + Sync>,
    /// The process of the moment, so to speak.
    service: Mutex<Service>,
    config: Config,
}

impl Harness {
    /// A harness for this plugin, which is created once now and once at each [`restart`](Self::restart). The upstream, and nothing else, is
    /// what the closure shares between them.
    ///
    /// # Panics
    /// With a mistake in the plugin's declarations.
    #[track_caller]
    pub fn new(plugin: impl Fn() -> Plugin + Send + Sync + 'static) -> Self {
        Self {
            service: Mutex::new(started(plugin())),
            plugin: Arc::new(plugin),
            config: Config {
                id: "lab".to_owned(),
                revision: "1".to_owned(),
                settings_digest: String::new(),
                identity: String::new(),
                settings: None,
                credentials: Secrets::default(),
                credentials_expire: None,
            },
        }
    }

    /// The settings of the `ProviderConfig`, by value or as JSON.
    ///
    /// # Panics
    /// If they are no JSON object.
    #[must_use]
    #[track_caller]
    pub fn settings(mut self, settings: &impl Serialize) -> Self {
        self.config.settings = Some(written(settings, "settings"));
        self
    }

    /// A credential of the `ProviderConfig`. None at all means ambient identity.
    #[must_use]
    pub fn credential(mut self, key: &str, value: impl Into<Vec<u8>>) -> Self {
        self.config.credentials.0.insert(key.to_owned(), value.into());
        self
    }

    /// Creates the plugin anew, as after `kill -9`: later calls come to one that knows nothing of the earlier ones.
    ///
    /// # Panics
    /// With a mistake in the plugin's declarations.
    #[track_caller]
    pub fn restart(&self) {
        let anew = started((self.plugin)());
        *self.service.lock().unwrap_or_else(PoisonError::into_inner) = anew;
    }

    /// Another process of the same plugin, with the same config: calls of a [`TestResource`] come to it after [`TestResource::on`].
    ///
    /// # Panics
    /// With a mistake in the plugin's declarations.
    #[must_use]
    #[track_caller]
    pub fn replica(&self) -> Self {
        Self {
            service: Mutex::new(started((self.plugin)())),
            plugin: Arc::clone(&self.plugin),
            config: self.config.clone(),
        }
    }

    /// The plugin's verdict on the config.
    ///
    /// # Panics
    /// If the call is not processed.
    pub async fn check_config(&self) -> ConfigVerdict {
        let request = wire::CheckConfigRequest {
            config: Some((&self.config).into()),
        };
        let answer = self.service().check_config(Request::new(request)).await;
        let verdict = answer.and_then(|answer| {
            ConfigVerdict::try_from(answer.into_inner()).map_err(|violation| out_of_form(&violation))
        });
        match verdict {
            Ok(verdict) => verdict,
            Err(status) => panic!("CheckConfig was not processed: {status}"),
        }
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    pub(super) fn service(&self) -> Service {
        self.service
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

#[track_caller]
fn started(plugin: Plugin) -> Service {
    match plugin.declared() {
        Ok(declared) => Service::new(declared),
        Err(mistake) => panic!("the plugin's declarations: {mistake}"),
    }
}

#[track_caller]
pub(super) fn written(value: &impl Serialize, what: &str) -> crossbridge_types::Document {
    match document::write(value, what) {
        Ok(document) => document,
        Err(violation) => panic!("{violation}"),
    }
}

/// What is never to be seen: the SDK checks answers before they leave.
pub(super) fn out_of_form(violation: &crossbridge_types::Violation) -> Status {
    Status::internal(format!("the answer breaks the contract: {violation}"))
}

/// For how long absence is not to be believed after a creation in doubt.
pub(super) fn window(kind: &Kind) -> Duration {
    kind.capabilities.consistency_window + kind.capabilities.late_margin
}
