//! Removing what was made, whatever is known of it.

use crossbridge_types::{CreateRecovery, Look, OutcomeResult};
use tokio::time::{Instant, sleep};

use super::{Lab, PAUSE, Thing};
use crate::verdict::Stop;

impl Lab {
    /// Removes it and sees that it is gone; what was never made counts as gone.
    pub(crate) async fn remove(&self, thing: &Thing) -> Result<(), Stop> {
        let mut thing = thing.clone();
        if thing.name().is_empty() && !self.learn_name(&mut thing).await? {
            self.bench.registry.strike(&thing);
            return Ok(());
        }
        if !self.kind.capabilities.can_delete {
            return Err(Stop::blocked("the kind cannot be deleted"));
        }
        let until = Instant::now() + self.bench.patience;
        loop {
            let request = thing.delete();
            let trail = self.delete(&mut thing, request).await?;
            let is_ours = match self.look(&thing).await? {
                Look::Absent(_) => false,
                Look::Found(found) => found.found_marker.is_empty() || found.found_marker == thing.marker(),
                Look::Failed(failure) => return Err(Stop::blocked(failure.message)),
            };
            if !is_ours {
                self.bench.registry.strike(&thing);
                return Ok(());
            }
            if Instant::now() >= until {
                let why = match trail.last().map(|outcome| &outcome.result) {
                    Some(OutcomeResult::Failure(failure)) => failure.message.clone(),
                    _ => "it is still there".to_owned(),
                };
                return Err(Stop::blocked(why));
            }
            sleep(PAUSE).await;
        }
    }

    /// Finds out the name of what may have been made without anybody learning it; false: nothing was made.
    async fn learn_name(&self, thing: &mut Thing) -> Result<bool, Stop> {
        if self.looks_without_name() {
            self.wait_out_window().await;
            if let Look::Found(found) = self.look(thing).await? {
                thing.target.external_name = found.external_name;
            }
            return Ok(!thing.name().is_empty());
        }
        if thing.refused {
            return Ok(false);
        }
        if self.recovers_by(CreateRecovery::ClientToken) {
            let outcome = self.create_once(thing, true).await?;
            self.follow(thing, outcome, self.kind.timeouts.create).await?;
            return Ok(!thing.name().is_empty());
        }
        Err(Stop::blocked(
            "nobody learned its name, and the kind cannot look without one",
        ))
    }

    /// Removes all that was made; what resists stays entered.
    pub(crate) async fn tidy(&self) {
        for thing in self.bench.registry.all() {
            if thing.kind() == self.kind.resource_type.kind {
                // The last attempt, at the end of the run, reports what is left.
                let _ = self.remove(&thing).await;
            }
        }
    }
}
