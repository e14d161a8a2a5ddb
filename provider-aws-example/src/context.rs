//! One call of the bridge about one resource: its session, its requests, and the checks and endings that all kinds share.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use crossbridge_sdk::{Call, Failure, Observation, Outcome, Resource};

use crate::api::Requests;
use crate::partition::Partition;
use crate::session::{Session, Sessions};
use crate::settings::Settings;
use crate::tags::{MARKER_TAG, ObservedTags, Ownership, TagChange, Tags};

/// One call of the bridge about one resource.
#[derive(Debug)]
pub(crate) struct CallContext<'a> {
    pub(crate) call: &'a Call,
    pub(crate) session: Arc<Session>,
    pub(crate) requests: Requests,
    /// Between two polls of an operation; zero for kinds that have none.
    pub(crate) poll_interval: Duration,
}

impl<'a> CallContext<'a> {
    /// For a service with an endpoint in each region: in `region`, else in the config's own.
    pub(crate) async fn regional(
        sessions: &Sessions,
        call: &'a Call,
        region: Option<&str>,
    ) -> Result<Self, Failure> {
        let session = sessions.regional(&call.config, region).await?;
        let elsewhere = (session.region != session.settings.home_region()).then(|| session.region.clone());
        let mut context = Self::new(call, session);
        context.requests = context.requests.elsewhere(elsewhere);
        Ok(context)
    }

    /// For a service with one endpoint in the whole partition.
    pub(crate) async fn global(sessions: &Sessions, call: &'a Call) -> Result<Self, Failure> {
        let settings: Settings = call.config.settings()?;
        let home = Partition::of(settings.home_region()).home;
        let session = sessions.global(&call.config, home).await?;
        Ok(Self::new(call, session))
    }

    fn new(call: &'a Call, session: Arc<Session>) -> Self {
        Self {
            call,
            session,
            requests: Requests::new(call.deadline),
            poll_interval: Duration::ZERO,
        }
    }

    /// The same call with the poll interval of the settings, else with `default`.
    pub(crate) fn with_poll_interval(self, default: Duration) -> Result<Self, Failure> {
        let poll_interval = self.session.settings.poll_interval(default)?;
        Ok(Self {
            poll_interval,
            ..self
        })
    }

    /// The same call in another region; what it has written so far is remembered.
    pub(crate) fn in_session(self, session: Arc<Session>) -> Self {
        Self { session, ..self }
    }

    /// The external name, or nothing if it is not known yet.
    pub(crate) fn external_name(&self) -> &'a str {
        &self.call.target.external_name
    }

    /// The marker that the resource is to have.
    pub(crate) fn marker(&self) -> &'a str {
        &self.call.target.ownership_marker
    }

    /// Who owns the resource with these tags. The former marker of a restored object counts as its own.
    pub(crate) fn ownership(&self, tags: &ObservedTags) -> Ownership {
        match tags.marker() {
            "" => Ownership::Unmarked,
            marker if self.call.target.is_ours(marker) => Ownership::Owned,
            _ => Ownership::Foreign,
        }
    }

    /// Whether an update may touch the resource: an unmarked one is adopted, a foreign one does not exist for this object.
    pub(crate) fn check_not_foreign(
        &self,
        tags: &ObservedTags,
        resource: impl Display,
    ) -> Result<(), Failure> {
        match self.ownership(tags) {
            Ownership::Owned | Ownership::Unmarked => Ok(()),
            Ownership::Foreign => Err(foreign_owner(resource)),
        }
    }

    /// Whether a resource that was created with its marker may be deleted: one without a marker may not.
    pub(crate) fn check_owned(&self, tags: &ObservedTags, resource: impl Display) -> Result<(), Failure> {
        match self.ownership(tags) {
            Ownership::Owned => Ok(()),
            Ownership::Foreign => Err(foreign_owner(resource)),
            Ownership::Unmarked => {
                let message = format!("{resource} has no owner: it has no tag {MARKER_TAG}");
                Err(Failure::not_found(message).reason("ForeignOwner"))
            }
        }
    }

    /// How to get from the observed tags to the desired ones, the marker among them.
    pub(crate) fn tag_change(&self, observed: &ObservedTags, desired: Option<&Tags>) -> TagChange {
        observed.change(desired, self.marker())
    }

    /// What a read is answered with whose response lacks `part`: a failure, never absence.
    pub(crate) fn incomplete_response(&self, part: &str) -> Failure {
        Failure::unavailable(format!("AWS answered without {part}")).effect(self.requests.effect())
    }
}

/// Ends a call whose writes are done: with a fresh observation if there is one, else as completed without.
pub(crate) async fn finish<R: Resource>(
    observe: impl Future<Output = Result<Option<Observation<R>>, Failure>>,
) -> Outcome<R> {
    match observe.await {
        Ok(Some(observation)) => Outcome::observed(observation),
        // The writes have succeeded, whether or not the resource can be read just now.
        Ok(None) | Err(_) => Outcome::completed(),
    }
}

/// The failure of an update of a resource that does not exist.
pub(crate) fn absent(resource: impl Display) -> Failure {
    Failure::not_found(format!("{resource} does not exist"))
}

fn foreign_owner(resource: impl Display) -> Failure {
    let message = format!("{resource} belongs to another object, as its tag {MARKER_TAG} shows");
    Failure::not_found(message).reason("ForeignOwner")
}
