//! What the shell needs of configs.

use std::sync::Arc;

use async_trait::async_trait;
use bridge_core::{
    external::{Config, Failure},
    managed::Problem,
};
use jiff::Timestamp;

use crate::object::{Key, Object};

/// Resolves the ProviderConfig of a managed resource.
#[async_trait]
pub trait ConfigSource: Send + Sync + 'static {
    /// The config that the object refers to, its credentials read.
    async fn resolve(&self, object: &Object) -> Result<Arc<Config>, Problem>;

    /// What the object's config hangs on: a change of those is its turn.
    fn references(&self, object: &Object) -> Vec<Key>;

    /// A call that began then failed for its config: whoever asks for it waits, until it changes or is found good again. What it was read
    /// from is read afresh.
    fn rejected(&self, config: &Config, failure: &Failure, began: Timestamp);

    /// A call that began then was accepted: where nothing else could tell that the config is good again, this does.
    fn accepted(&self, config: &Config, began: Timestamp);
}
