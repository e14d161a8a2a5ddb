//! Connection details on their way to their Secret.

use std::time::Duration;

use bridge_core::managed::Memory;

use super::{reconciler::ManagedReconciler, view};
use crate::object::Object;

/// A connection Secret that could not be written is tried again after this.
const RETRY_PUBLISH: Duration = Duration::from_secs(15);
/// Connection details that a stopping process has not brought to where they belong yet.
const TRY_AGAIN: Duration = Duration::from_secs(1);

impl ManagedReconciler {
    /// Brings what the memory holds to where the object says; costs nothing where it is there.
    pub(super) async fn publish(&self, object: &Object, memory: &mut Memory) {
        let Some(key) = view::connection_secret(object) else {
            return memory.learn_published();
        };
        match self
            .shared
            .connection_secrets
            .publish(object, &key, &memory.details)
            .await
        {
            Ok(_) => memory.learn_published(),
            Err(error) => {
                let retry = self.shared.clock.now() + RETRY_PUBLISH;
                memory.learn_publish_problem(format!("cannot publish connection details: {error}"), retry);
            }
        }
    }

    /// Connection details may come only once: where no further pass may come, they are published with this one.
    pub(super) async fn publish_before_it_is_lost(&self, first: &Object, memory: &mut Memory) {
        while !self.shared.may_begin() && memory.unpublished {
            let newest = self.shared.store.get(&first.key());
            let Some(object) = newest
                .filter(|newest| newest.uid() == first.uid())
                .filter(|newest| !newest.is_deleting() && view::connection_secret(newest).is_some())
            else {
                return;
            };
            self.publish(&object, memory).await;
            if memory.unpublished {
                tracing::warn!(object = %object.key(), "the connection details are not published yet; trying again");
                tokio::time::sleep(TRY_AGAIN).await;
            }
        }
    }
}
