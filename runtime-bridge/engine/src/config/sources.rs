//! Where a resolver finds configs and Secrets.

use std::sync::{Arc, Weak};

use async_trait::async_trait;
use bridge_core::queue::{Priority, Wake};
use jiff::Timestamp;

use super::reference::{cluster_config_api, config_api};
use crate::{
    api_error::ApiError,
    engine::{Engine, Lookup},
    object::{Key, Object},
    secret::{SecretData, SecretError, SecretReader},
};

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

    /// It is this object's turn at this time, as its config may be usable then.
    fn wake(&self, object: &Key, at: Timestamp);
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

    fn wake(&self, object: &Key, at: Timestamp) {
        if let Some(engine) = self.upgrade() {
            let priority = Priority::DriftPoll;
            engine.dispatcher.enqueue(object, Wake { at, priority });
        }
    }
}
