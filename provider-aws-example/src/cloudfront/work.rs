//! One call about a distribution: where it works, what it finds, what it tells.

use std::sync::Arc;
use std::time::Duration;

use aws_sdk_cloudfront::Client;
use aws_sdk_cloudfront::types as aws;
use crossbridge_sdk::{Call, Failure, Observation, Operation, OperationVerb, Outcome};

use super::distribution::Distribution;
use super::model::{self, DistributionStatus};
use crate::handle::{Handle, NoDetails};
use crate::ownership::{FoundTags, Owner};
use crate::partition::Partition;
use crate::session::{Session, Sessions};
use crate::settings::Settings;
use crate::upstream::{Refusal, Steps};

/// A change takes minutes to reach all places.
const USUAL_PACE: Duration = Duration::from_secs(10);

/// One call about a distribution.
#[derive(Debug)]
pub(super) struct Work<'a> {
    pub(super) call: &'a Call,
    pub(super) session: Arc<Session>,
    pub(super) steps: Steps,
    /// How long to wait between two looks at what is under way.
    pub(super) pace: Duration,
}

/// A distribution as it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) distribution: aws::Distribution,
    /// Its version, which has to be told with each change.
    pub(super) etag: String,
    pub(super) tags: FoundTags,
}

impl Found {
    pub(super) fn id(&self) -> &str {
        &self.distribution.id
    }

    /// Whether all places know its latest version.
    pub(super) fn is_deployed(&self) -> bool {
        self.distribution.status == "Deployed"
    }

    /// An outcome that tells of this distribution.
    pub(super) fn named(&self, outcome: Outcome<Distribution>) -> Outcome<Distribution> {
        outcome
            .external_name(self.id())
            .canonical_id(&self.distribution.arn)
    }

    /// AWS tells the configuration with each distribution.
    pub(super) fn config(&self) -> Result<&aws::DistributionConfig, Failure> {
        let config = self.distribution.distribution_config.as_ref();
        config.ok_or_else(|| Failure::unavailable("AWS told a distribution without its configuration"))
    }
}

impl<'a> Work<'a> {
    /// CloudFront is one for the world, or for China.
    pub(super) async fn begin(sessions: &Sessions, call: &'a Call) -> Result<Self, Failure> {
        let settings: Settings = call.config.settings()?;
        let home = Partition::of(settings.home_region()).home;
        Ok(Self {
            call,
            session: sessions.global(&call.config, home).await?,
            steps: Steps::new(call.deadline),
            pace: settings.poll_interval(USUAL_PACE)?,
        })
    }

    pub(super) fn cloudfront(&self) -> &Client {
        self.session.cloudfront()
    }

    pub(super) fn owner(&self, found: &Found) -> Owner {
        found.tags.owner(&self.call.target)
    }

    /// Looks at one distribution; `None`: AWS says that there is none.
    pub(super) async fn look(&self, id: &str) -> Result<Option<Found>, Failure> {
        let request = self.cloudfront().get_distribution().id(id).send();
        let answer = match self.steps.read("cloudfront:GetDistribution", request).await {
            Ok(answer) => answer,
            Err(refusal) if is_absence(&refusal) => return Ok(None),
            Err(refusal) => return Err(refusal.into()),
        };
        let distribution = answer
            .distribution
            .ok_or_else(|| self.incomplete("a distribution"))?;
        let tags = self.tags(&distribution.arn).await?;
        Ok(tags.map(|tags| Found {
            distribution,
            etag: answer.e_tag.unwrap_or_default(),
            tags,
        }))
    }

    /// `None`: AWS says that there is no such distribution.
    pub(super) async fn tags(&self, arn: &str) -> Result<Option<FoundTags>, Failure> {
        let request = self.cloudfront().list_tags_for_resource().resource(arn).send();
        let answer = match self.steps.read("cloudfront:ListTagsForResource", request).await {
            Ok(answer) => answer,
            Err(refusal) if is_absence(&refusal) => return Ok(None),
            Err(refusal) => return Err(refusal.into()),
        };
        let tags = answer.tags.ok_or_else(|| self.incomplete("the tags"))?;
        let tags = tags.items.unwrap_or_default().into_iter();
        Ok(Some(
            tags.map(|tag| (tag.key, tag.value.unwrap_or_default())).collect(),
        ))
    }

    /// What a look is answered with that AWS answered with nothing: that is no absence.
    pub(super) fn incomplete(&self, what: &str) -> Failure {
        Failure::unavailable(format!("AWS answered without {what}")).effect(self.steps.effect())
    }

    /// How a creation or an update that has come so far ends, or goes on.
    pub(super) fn progress(
        &self,
        found: &Found,
        verb: OperationVerb,
    ) -> Result<Outcome<Distribution>, Failure> {
        if found.is_deployed() {
            return Ok(Outcome::observed(self.observation(found)?));
        }
        let operation = self
            .operation(found.id(), verb)
            .phase("Deploying")
            .message("AWS takes it to all its places");
        Ok(found.named(Outcome::operation(operation)))
    }

    pub(super) fn operation(&self, id: &str, verb: OperationVerb) -> Operation {
        Operation::new(verb, Handle::new(verb, id, NoDetails {}).text()).poll_after(self.pace)
    }

    /// What was found, as the bridge wants it told.
    pub(super) fn observation(&self, found: &Found) -> Result<Observation<Distribution>, Failure> {
        let distribution = &found.distribution;
        let parameters = model::found(found.config()?, found.tags.of_user());
        let observation = Observation::new(&distribution.id, parameters)
            .canonical_id(&distribution.arn)
            .etag(&found.etag)
            .found_marker(found.tags.marker())
            .connection("id", distribution.id.as_bytes())
            .connection("arn", distribution.arn.as_bytes())
            .connection("domainName", distribution.domain_name.as_bytes())
            .status(DistributionStatus::of(distribution, self.session.partition()));
        Ok(if found.is_deployed() {
            observation.ready()
        } else {
            let why = format!(
                "its status is {}: AWS takes the latest change to all its places",
                distribution.status
            );
            observation.not_ready(why).observe_after(self.pace)
        })
    }
}

/// Whether AWS says that there is no such distribution. A policy or a key group that is not there is something else.
pub(super) fn is_absence(refusal: &Refusal) -> bool {
    refusal.is_any(&["NoSuchDistribution", "NoSuchResource"])
}

/// What is told of a distribution that is not there.
pub(super) fn absent(id: &str) -> Failure {
    Failure::not_found(format!("there is no distribution {id}"))
}
