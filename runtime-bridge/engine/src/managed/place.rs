//! A plugin takes so many calls at once. A pass takes its place before the deadline of a call begins to run.

use std::{sync::Arc, time::Duration};

use bridge_core::managed::Action;
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use super::reconciler::ManagedReconciler;

/// A pass that found no place within the time of a call comes back after this.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// One of the plugin's places, held until the answer is there.
pub(super) type Place = Option<OwnedSemaphorePermit>;

/// How a place was come by, where one is needed.
pub(super) enum Taken {
    AtOnce,
    /// What was gathered before, and every deadline, is of then.
    Later,
    Never,
}

impl ManagedReconciler {
    /// Takes a place for an action that is a call, or is followed by one whose deadline counts from here.
    pub(super) async fn take_place(&self, action: &Action, place: &mut Place) -> Taken {
        let needed = match action {
            Action::Observe(_) | Action::Prove | Action::Call(_) => true,
            Action::WriteMetadata(change) => change.allows.is_some(),
            Action::Publish | Action::WriteStatus(_) | Action::Release(_) => false,
        };
        let Some(places) = self.external.places().filter(|_| needed && place.is_none()) else {
            return Taken::AtOnce;
        };
        if let Ok(free) = Arc::clone(&places).try_acquire_owned() {
            *place = Some(free);
            return Taken::AtOnce;
        }
        match timeout(self.kind.timeouts.call, places.acquire_owned()).await {
            Ok(Ok(free)) => {
                *place = Some(free);
                Taken::Later
            }
            Ok(Err(_)) | Err(_) => Taken::Never,
        }
    }
}
