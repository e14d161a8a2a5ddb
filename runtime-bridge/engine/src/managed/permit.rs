//! A plugin takes so many calls at once. A reconcile acquires its permit before the deadline of a call begins to run.

use bridge_core::{driver::Permit as Granted, port};
use tokio::time::timeout;

use super::reconciler::ManagedReconciler;

/// One of the plugin's permits, held until the answer is there.
pub(super) type Permit = Option<port::Permit>;

impl ManagedReconciler {
    /// Acquires a permit; waits at most as long as a call may take.
    pub(super) async fn acquire_permit(&self) -> (Permit, Granted) {
        if let Some(free) = self.external.try_acquire() {
            return (Some(free), Granted::AtOnce);
        }
        match timeout(self.kind.timeouts.call, self.external.acquire()).await {
            Ok(free) => (Some(free), Granted::Late),
            Err(_) => (None, Granted::Never),
        }
    }
}
