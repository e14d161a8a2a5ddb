//! Leadership: carries out what [`bridge_core::lease`] decides, and tells whoever acts whether they may.

mod api;
mod leadership;

use std::{sync::Arc, time::Duration};

use bridge_core::lease::{Election, ElectionStep, NotWritten, Terms, Timing};
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
        let leadership = Leadership::elected(
            Arc::clone(&clock),
            lease,
            options.identity.clone(),
            options.timing.lease_duration,
        );
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
            self.leadership.record_election(&self.election, false);
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
            self.leadership.record_election(&self.election, false);
        }
    }

    async fn carry_out(&mut self, step: ElectionStep) {
        let began = self.clock.ticks();
        match step {
            ElectionStep::Wait(_) => {}
            ElectionStep::Read => match self.api.read().await {
                Ok(found) => {
                    let ticks = self.clock.ticks();
                    self.election.record_read(found, ticks);
                    // Else it is to be taken, and only that shows whether it can be.
                    if let ElectionStep::Wait(_) = self.election.next(ticks, self.clock.now()) {
                        self.leadership.record_failure(None);
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, lease = self.leadership.lease(), "cannot read the lease");
                    self.election.record_unreadable(self.clock.ticks());
                    let why = format!("the lease cannot be read: {error}");
                    self.leadership.record_failure(Some(why));
                }
            },
            ElectionStep::Create(terms) => {
                let written = self.api.create(&terms).await;
                self.record_written(terms, written, began);
            }
            ElectionStep::Replace { version, terms } => {
                let written = self.api.replace(&version, &terms).await;
                self.record_written(terms, written, began);
            }
        }
    }

    fn record_written(&mut self, terms: Terms, written: Result<String, NotWritten>, began: Duration) {
        let failed = matches!(written, Err(NotWritten::Failed));
        let failure = failed.then(|| "the lease cannot be written: the log says why".to_owned());
        self.leadership.record_failure(failure);
        self.election
            .record_written(terms, written, began, self.clock.ticks());
    }

    async fn release(&mut self) {
        let step = self.election.release(self.clock.now());
        self.leadership.record_election(&self.election, true);
        if let Some(ElectionStep::Replace { version, terms }) = step {
            self.write_release(&version, &terms).await;
        }
    }

    async fn write_release(&self, version: &str, terms: &Terms) {
        let lease = self.leadership.lease();
        match tokio::time::timeout(RELEASE_WITHIN, self.api.replace(version, terms)).await {
            Ok(Ok(_)) => tracing::info!(lease, "released the lease"),
            Ok(Err(_)) | Err(_) => {
                tracing::warn!(
                    lease,
                    "failed to release the lease: the next leader waits until it expires"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http::{Method, Request, Response, StatusCode};
    use jiff::Timestamp;
    use kube::client::Body;
    use parking_lot::Mutex;
    use serde_json::json;

    use super::*;
    use crate::{client::DEADLINE, metrics::Metrics};

    #[derive(Default)]
    struct Hand(Mutex<Timestamp>);

    impl Clock for Hand {
        fn now(&self) -> Timestamp {
            *self.0.lock()
        }
    }

    /// Why this candidate cannot lead, half a minute after its start, where the API server answers so.
    async fn failure(read: StatusCode, write: StatusCode) -> Option<String> {
        let service = tower::service_fn(move |request: Request<Body>| {
            let status = if request.method() == Method::GET {
                read
            } else {
                write
            };
            let reason = if status == StatusCode::NOT_FOUND {
                "NotFound"
            } else {
                "Forbidden"
            };
            let answer = if status.is_success() {
                json!({"metadata": {"name": "l", "resourceVersion": "1"}})
            } else {
                json!({"kind": "Status", "reason": reason, "details": {"name": "l", "kind": "leases"}})
            };
            let mut response = Response::new(Body::from(answer.to_string().into_bytes()));
            *response.status_mut() = status;
            async move { Ok::<_, Infallible>(response) }
        });
        let kube = kube::Client::new(service, "default");
        let client = ApiClient::new(kube, Arc::new(Metrics::new()), DEADLINE);
        let options = ElectionOptions {
            namespace: "n".to_owned(),
            name: "l".to_owned(),
            identity: "a".to_owned(),
            timing: Timing::default(),
        };
        let clock = Arc::new(Hand::default());
        let (mut elector, leadership) = Elector::new(&client, Arc::clone(&clock) as _, &options);
        while clock.ticks() < Duration::from_secs(30) {
            match elector.election.next(clock.ticks(), clock.now()) {
                ElectionStep::Wait(until) => {
                    let wait = until.saturating_sub(clock.ticks());
                    *clock.0.lock() += wait.max(Duration::from_millis(1));
                }
                step => elector.carry_out(step).await,
            }
        }
        leadership.state().failure
    }

    #[tokio::test]
    async fn a_candidate_that_cannot_have_the_lease_reports_it() {
        let (ok, forbidden, absent) = (StatusCode::OK, StatusCode::FORBIDDEN, StatusCode::NOT_FOUND);
        assert_eq!(failure(absent, ok).await, None);
        let unreadable = failure(forbidden, forbidden).await.unwrap();
        assert!(unreadable.contains("cannot be read"), "{unreadable}");
        let unwritten = failure(absent, forbidden).await.unwrap();
        assert!(unwritten.contains("cannot be written"), "{unwritten}");
    }
}
