//! Connection details on their way to their Secret.

use std::time::Duration;

use bridge_core::managed::ReconcileMemory;

use super::{reconciler::ManagedReconciler, view};
use crate::{object::Object, write::PublishError};

/// Connection details that a stopping process has not brought to where they belong yet.
const TRY_AGAIN: Duration = Duration::from_secs(1);

impl ManagedReconciler {
    /// Brings what the memory holds to where the object says; costs nothing where it is there.
    pub(super) async fn publish(
        &self,
        object: &Object,
        memory: &ReconcileMemory,
    ) -> Result<(), PublishError> {
        let Some(key) = view::connection_secret(object) else {
            return Ok(());
        };
        let secrets = &self.shared.connection_secrets;
        secrets
            .publish(object, &key, memory.connection_details())
            .await
            .map(|_| ())
    }

    /// Connection details may come only once: where no further pass may come, they are published with this one. A Secret that is another's stays
    /// so until a person does something: what a look can show again does not wait for that.
    pub(super) async fn publish_pending_details(&self, first: &Object, memory: &mut ReconcileMemory) {
        while !self.shared.acts() && memory.has_unpublished_details() {
            let newest = self.shared.store.get(&first.key());
            let Some(object) = newest
                .filter(|newest| newest.uid() == first.uid())
                .filter(|newest| !newest.is_deleting() && view::connection_secret(newest).is_some())
            else {
                return;
            };
            let published = self.publish(&object, memory).await;
            if published.is_ok() {
                memory.record_published();
            }
            if let Err(error) = published {
                let comes_once = self.kind.connection_keys.iter().any(|key| key.one_time);
                if error.is_foreign() && !comes_once {
                    return;
                }
                tracing::warn!(object = %object.key(), "the connection details are not published yet; trying again");
                tokio::time::sleep(TRY_AGAIN).await;
            }
        }
    }
}
