//! A plugin takes so many calls at once. A pass takes its place before the deadline of a call begins to run.

use std::time::Duration;

use bridge_core::{managed::Action, port::Permit};
use tokio::time::timeout;

use super::reconciler::ManagedReconciler;

/// A pass that found no place within the time of a call comes back after this.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// One of the plugin's places, held until the answer is there.
pub(super) type Place = Option<Permit>;

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
        if !needed || place.is_some() {
            return Taken::AtOnce;
        }
        if let Some(permit) = self.external.try_acquire() {
            *place = Some(permit);
            return Taken::AtOnce;
        }
        match timeout(self.kind.timeouts.call, self.external.acquire()).await {
            Ok(permit) => {
                *place = Some(permit);
                Taken::Later
            }
            Err(_) => Taken::Never,
        }
    }
}
