//! A plugin as the engine sees it.

use async_trait::async_trait;
use bridge_core::external::{Answer, CallError, Config, DesiredState, Failure, Look, Target};
use bridge_engine::ports::External;
use bridge_plugin::Plugin;
use jiff::Timestamp;

/// The external system behind one plugin.
pub struct PluginExternal(pub Plugin);

#[async_trait]
impl External for PluginExternal {
    async fn observe(
        &self,
        target: &Target,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Result<Look, CallError> {
        self.0.observe(target, desired, deadline).await
    }

    async fn create(
        &self,
        target: &Target,
        desired: &DesiredState,
        token: &str,
        outcome_unknown: bool,
        deadline: Timestamp,
    ) -> Answer {
        self.0
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
        self.0
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
        self.0.delete(target, desired, etag, deadline).await
    }

    async fn poll(
        &self,
        target: &Target,
        handle: &str,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Answer {
        self.0.poll(target, handle, desired, deadline).await
    }

    async fn check_config(
        &self,
        config: &Config,
        deadline: Timestamp,
    ) -> Result<Result<String, Failure>, CallError> {
        self.0.check_config(config, deadline).await
    }
}
