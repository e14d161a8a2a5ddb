//! Leadership: carries out what [`bridge_core::lease`] decides, and tells whoever acts whether they may.

mod api;
mod leadership;

use std::{sync::Arc, time::Duration};

use bridge_core::lease::{Election, ElectionStep, Terms, Timing};
use tokio_util::sync::CancellationToken;

use self::api::LeaseApi;
pub use self::leadership::{Leadership, LeadershipState};
use crate::{client::ApiClient, clock::Clock};

/// Letting the lease go must not hold up the exit.
const RELEASE_WITHIN: Duration = Duration::from_secs(3);

/// Which lease, and who asks for it.
#[derive(Debug, Clone)]
pub struct ElectionOptions {
    /// Namespace of the lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// This process's alone.
    pub identity: String,
    /// Durations that go together.
    pub timing: Timing,
}

/// Seeks the lease, and keeps it.
pub struct Elector {
    api: LeaseApi,
    clock: Arc<dyn Clock>,
    election: Election,
    leadership: Leadership,
}

impl Elector {
    /// Nobody leads before it runs.
    pub fn new(client: &ApiClient, clock: Arc<dyn Clock>, options: &ElectionOptions) -> (Self, Leadership) {
        let lease = format!("{}/{}", options.namespace, options.name);
        let leadership = Leadership::elected(Arc::clone(&clock), lease, options.identity.clone());
        let elector = Self {
            // A renewal that hangs leaves time for another one.
            api: LeaseApi::new(
                client.clone().with_deadline(options.timing.renew_deadline / 2),
                &options.namespace,
                &options.name,
            ),
            clock,
            election: Election::new(&options.identity, options.timing),
            leadership: leadership.clone(),
        };
        (elector, leadership)
    }

    /// Until it is stopped: then the lease is let go, so that the next leader begins at once.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            let step = tokio::select! {
                biased;
                () = stop.cancelled() => break,
                step = self.due() => step,
            };
            // Not cut off, so that what stands in the lease is known when it is to be let go.
            self.carry_out(step).await;
            self.leadership.record_election(&self.election);
        }
        self.release().await;
    }

    /// Waits until there is something to do. Meanwhile the leadership may end by itself.
    async fn due(&self) -> ElectionStep {
        loop {
            let ticks = self.clock.ticks();
            let until = match self.election.next(ticks, self.clock.now()) {
                ElectionStep::Wait(until) => until,
                step => return step,
            };
            let ends = self.election.leads_until().filter(|end| *end > ticks);
            let wake = ends.map_or(until, |end| end.min(until));
            tokio::time::sleep(wake.saturating_sub(ticks)).await;
            self.leadership.record_election(&self.election);
        }
    }

    async fn carry_out(&mut self, step: ElectionStep) {
        let began = self.clock.ticks();
        match step {
            ElectionStep::Wait(_) => {}
            ElectionStep::Read => match self.api.read().await {
                Ok(found) => self.election.record_read(found, self.clock.ticks()),
                Err(error) => {
                    tracing::warn!(%error, lease = self.leadership.lease(), "cannot read the lease");
                    self.election.record_unreadable(self.clock.ticks());
                }
            },
            ElectionStep::Create(terms) => {
                let written = self.api.create(&terms).await;
                self.election
                    .record_written(terms, written, began, self.clock.ticks());
            }
            ElectionStep::Replace { version, terms } => {
                let written = self.api.replace(&version, &terms).await;
                self.election
                    .record_written(terms, written, began, self.clock.ticks());
            }
        }
    }

    async fn release(&mut self) {
        let step = self.election.release(self.clock.now());
        self.leadership.record_election(&self.election);
        if let Some(ElectionStep::Replace { version, terms }) = step {
            self.write_release(&version, &terms).await;
        }
    }

    async fn write_release(&self, version: &str, terms: &Terms) {
        let lease = self.leadership.lease();
        match tokio::time::timeout(RELEASE_WITHIN, self.api.replace(version, terms)).await {
            Ok(Ok(_)) => tracing::info!(lease, "let the lease go"),
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(
                    lease,
                    "could not let the lease go; the next leader waits for its end"
                );
            }
        }
    }
}
