use std::{collections::HashMap, sync::Arc};

use bridge_core::{back_off::policies, queue::Priority};
use parking_lot::Mutex;

use crate::{
    api_error::ApiError,
    clock::Clock,
    object::{Key, Object},
    random,
    reconcile::Next,
};

/// Reconciles that failed in a row, of each object.
pub(crate) struct Retries {
    clock: Arc<dyn Clock>,
    failures: Mutex<HashMap<Key, u32>>,
}

impl Retries {
    pub fn new(clock: &Arc<dyn Clock>) -> Self {
        Self {
            clock: Arc::clone(clock),
            failures: Mutex::default(),
        }
    }

    /// What comes after a reconcile that ended so. A write that met another writer's is decided anew soon.
    pub fn after(&self, object: &Object, result: Result<Next, ApiError>) -> Next {
        let key = object.key();
        let error = match result {
            Ok(next) => {
                self.forget(&key);
                return next;
            }
            Err(error) => error,
        };
        let failures = {
            let mut failures = self.failures.lock();
            let failures = failures.entry(key.clone()).or_default();
            *failures += 1;
            *failures
        };
        let policy = match &error {
            ApiError::NotSent => {
                tracing::debug!(object = %key, "reconcile ended: this process may not act now");
                policies::API
            }
            ApiError::Conflict(_) | ApiError::NotFound(_) | ApiError::AlreadyExists(_) => {
                tracing::debug!(object = %key, %error, "reconcile met another write, will retry");
                policies::API_CONFLICT
            }
            // It may be a policy that a person corrects, of which nothing tells.
            error if error.is_refusal() => {
                tracing::warn!(object = %key, %error, "what the reconcile wrote was rejected, will retry rarely");
                policies::API_REJECTED
            }
            _ => {
                tracing::warn!(object = %key, %error, "reconcile failed, will retry");
                policies::API
            }
        };
        let wait = policy.wait(failures, random::fraction());
        Next::at(self.clock.now() + wait, Priority::Dependency)
    }

    pub fn forget(&self, key: &Key) {
        self.failures.lock().remove(key);
    }
}
