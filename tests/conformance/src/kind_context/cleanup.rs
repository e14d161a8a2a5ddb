//! Removing what was created, whatever is known of it.

use crossbridge_types::{CreateRecovery, ObserveResult, OutcomeResult};
use tokio::time::{Instant, sleep};

use super::{KindContext, PAUSE, TestResource};
use crate::verdict::Stop;

impl KindContext {
    /// Deletes it and waits until it is absent; a resource that was never created counts as deleted.
    pub(crate) async fn remove(&self, resource: &TestResource) -> Result<(), Stop> {
        let mut resource = resource.clone();
        if resource.name().is_empty() && !self.discover_name(&mut resource).await? {
            self.run_ctx.registry.remove(&resource);
            return Ok(());
        }
        if !self.kind.capabilities.can_delete {
            return Err(Stop::blocked("the kind cannot be deleted"));
        }
        let until = Instant::now() + self.run_ctx.operation_timeout;
        loop {
            let request = resource.delete();
            let trace = self.delete(&mut resource, request).await?;
            let is_ours = match self.observe(&resource).await? {
                ObserveResult::Absent(_) => false,
                ObserveResult::Found(found) => {
                    found.found_marker.is_empty() || found.found_marker == resource.marker()
                }
                ObserveResult::Failed(failure) => return Err(Stop::blocked(failure.message)),
            };
            if !is_ours {
                self.run_ctx.registry.remove(&resource);
                return Ok(());
            }
            if Instant::now() >= until {
                let why = match trace.last().map(|outcome| &outcome.result) {
                    Some(OutcomeResult::Failure(failure)) => failure.message.clone(),
                    _ => "it still exists".to_owned(),
                };
                return Err(Stop::blocked(why));
            }
            sleep(PAUSE).await;
        }
    }

    /// Observes the resource up where its Create may have had an effect without reporting a name; false: nothing was created.
    async fn discover_name(&self, resource: &mut TestResource) -> Result<bool, Stop> {
        if self.observes_without_name() {
            self.wait_for_consistency().await;
            if let ObserveResult::Found(found) = self.observe(resource).await? {
                resource.target.external_name = found.external_name;
            }
            return Ok(!resource.name().is_empty());
        }
        if resource.rejected {
            return Ok(false);
        }
        if self.recovers_by(CreateRecovery::ClientToken) {
            let outcome = self.create_once(resource, true).await?;
            self.follow(resource, outcome, self.kind.timeouts.create).await?;
            return Ok(!resource.name().is_empty());
        }
        Err(Stop::blocked(
            "its name was never reported, and the kind cannot be observed without one",
        ))
    }

    /// Deletes everything that the run created; what cannot be deleted stays registered.
    pub(crate) async fn delete_all(&self) {
        for resource in self.run_ctx.registry.all() {
            if resource.kind() == self.kind.resource_type.kind {
                // The last attempt, at the end of the run, reports what is left.
                let _ = self.remove(&resource).await;
            }
        }
    }
}
