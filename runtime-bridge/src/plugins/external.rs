//! A plugin as the engine sees it.

use std::sync::Arc;

use async_trait::async_trait;
use bridge_core::external::{Answer, CallError, Config, DesiredState, Failure, Look, Target};
use bridge_engine::ports::External;
use bridge_plugin::Plugin;
use jiff::Timestamp;
use tokio::sync::Semaphore;

/// The external system behind one plugin.
pub struct PluginExternal {
    plugin: Plugin,
    places: Arc<Semaphore>,
}

impl PluginExternal {
    /// Behind this plugin.
    pub fn new(plugin: Plugin) -> Self {
        let places = plugin.state().borrow().places();
        Self {
            plugin,
            places: Arc::new(Semaphore::new(places)),
        }
    }
}

#[async_trait]
impl External for PluginExternal {
    fn places(&self) -> Option<Arc<Semaphore>> {
        Some(Arc::clone(&self.places))
    }

    async fn observe(
        &self,
        target: &Target,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Result<Look, CallError> {
        self.plugin.observe(target, desired, deadline).await
    }

    async fn create(
        &self,
        target: &Target,
        desired: &DesiredState,
        token: &str,
        outcome_unknown: bool,
        deadline: Timestamp,
    ) -> Answer {
        self.plugin
            .create(target, desired, token, outcome_unknown, deadline)
            .await
    }

    async fn update(
        &self,
        target: &Target,
        desired: &DesiredState,
        changed_paths: &[String],
        etag: &str,
        deadline: Timestamp,
    ) -> Answer {
        self.plugin
            .update(target, desired, changed_paths, etag, deadline)
            .await
    }

    async fn delete(
        &self,
        target: &Target,
        desired: &DesiredState,
        etag: &str,
        deadline: Timestamp,
    ) -> Answer {
        self.plugin.delete(target, desired, etag, deadline).await
    }

    async fn poll(
        &self,
        target: &Target,
        handle: &str,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Answer {
        self.plugin.poll(target, handle, desired, deadline).await
    }

    async fn check_config(
        &self,
        config: &Config,
        deadline: Timestamp,
    ) -> Result<Result<String, Failure>, CallError> {
        self.plugin.check_config(config, deadline).await
    }
}
