//! A plugin takes so many calls at once. A reconcile acquires its permit before the deadline of a call begins to run.

use std::sync::Arc;

use bridge_core::driver::Permit;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use super::reconciler::ManagedReconciler;

/// One of the plugin's permits, held until the answer is there.
pub(super) type Place = Option<OwnedSemaphorePermit>;

impl ManagedReconciler {
    /// Acquires a permit, if the plugin limits its calls; waits at most as long as a call may take.
    pub(super) async fn acquire_permit(&self) -> (Place, Permit) {
        let Some(permits) = self.external.places() else {
            return (None, Permit::Unlimited);
        };
        if let Ok(free) = Arc::clone(&permits).try_acquire_owned() {
            return (Some(free), Permit::AtOnce);
        }
        match timeout(self.kind.timeouts.call, permits.acquire_owned()).await {
            Ok(Ok(free)) => (Some(free), Permit::Late),
            Ok(Err(_)) | Err(_) => (None, Permit::Never),
        }
    }
}
