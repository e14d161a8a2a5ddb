//! What the engine needs from outside itself: the binary wires a plugin behind it, a simulation something else.

use std::sync::Arc;

use async_trait::async_trait;
use bridge_core::external::{Answer, CallError, Config, DesiredState, Failure, Look, Target};
use jiff::Timestamp;
use tokio::sync::Semaphore;

/// The external system behind one plugin. Every call carries an absolute deadline, and nothing is sent after it:
/// an implementation that finds it passed answers [`CallError::Refused`] with code `NOT_SENT`.
#[async_trait]
pub trait External: Send + Sync {
    /// The calls that it takes at once, one permit for each; `None`: as many as come. Who holds a permit is served at once, so that no call
    /// spends its time with waiting.
    fn places(&self) -> Option<Arc<Semaphore>> {
        None
    }

    /// Look.
    async fn observe(
        &self,
        target: &Target,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Result<Look, CallError>;

    /// Make one. `token` was stored beforehand; `outcome_unknown`: an earlier call with it may have had an effect.
    async fn create(
        &self,
        target: &Target,
        desired: &DesiredState,
        token: &str,
        outcome_unknown: bool,
        deadline: Timestamp,
    ) -> Answer;

    /// Change it in place.
    async fn update(
        &self,
        target: &Target,
        desired: &DesiredState,
        changed_paths: &[String],
        etag: &str,
        deadline: Timestamp,
    ) -> Answer;

    /// Remove it.
    async fn delete(
        &self,
        target: &Target,
        desired: &DesiredState,
        etag: &str,
        deadline: Timestamp,
    ) -> Answer;

    /// Follow an operation.
    async fn poll(
        &self,
        target: &Target,
        handle: &str,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Answer;

    /// Are these settings usable, and whom does the upstream take us for?
    async fn check_config(
        &self,
        config: &Config,
        deadline: Timestamp,
    ) -> Result<Result<String, Failure>, CallError>;
}
