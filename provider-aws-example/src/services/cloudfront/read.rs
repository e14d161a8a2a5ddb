//! Reads a distribution: its configuration, its tags, its progress.

pub(super) mod find;

use std::time::Duration;

use aws_sdk_cloudfront::Client;
use aws_sdk_cloudfront::types as aws;
use crossbridge_sdk::{Call, Failure, Observation, Outcome};

use super::kind::Distribution;
use super::model::{DistributionStatus, convert};
use crate::api::ApiError;
use crate::context::CallContext;
use crate::session::{Session, Sessions};
use crate::tags::ObservedTags;

/// Between two polls: a change takes minutes to reach all edge locations.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(10);

/// A distribution as AWS reports it.
#[derive(Debug)]
pub(super) struct ObservedDistribution {
    pub(super) distribution: aws::Distribution,
    /// The version that was read, which AWS wants with each change.
    pub(super) etag: String,
    pub(super) tags: ObservedTags,
}

impl ObservedDistribution {
    pub(super) fn id(&self) -> &str {
        &self.distribution.id
    }

    /// Whether all edge locations have its latest version.
    pub(super) fn is_deployed(&self) -> bool {
        self.distribution.status == "Deployed"
    }

    /// Puts the names of the distribution into an outcome.
    pub(super) fn name_outcome(&self, outcome: Outcome<Distribution>) -> Outcome<Distribution> {
        outcome
            .external_name(self.id())
            .canonical_id(&self.distribution.arn)
    }

    /// The configuration, which AWS reports with each distribution.
    pub(super) fn config(&self) -> Result<&aws::DistributionConfig, Failure> {
        let config = self.distribution.distribution_config.as_ref();
        config
            .ok_or_else(|| Failure::unavailable("AWS answered with a distribution without its configuration"))
    }
}

pub(super) fn client(session: &Session) -> Client {
    session.client(Client::new)
}

/// The context of a call about a distribution: CloudFront has one endpoint in a partition.
pub(super) async fn context<'a>(sessions: &Sessions, call: &'a Call) -> Result<CallContext<'a>, Failure> {
    CallContext::global(sessions, call)
        .await?
        .with_poll_interval(DEFAULT_POLL_INTERVAL)
}

/// Reads a distribution; `None`: AWS reports that it does not exist.
pub(super) async fn read(
    context: &CallContext<'_>,
    id: &str,
) -> Result<Option<ObservedDistribution>, Failure> {
    let request = client(&context.session).get_distribution().id(id).send();
    let response = match context.requests.read("cloudfront:GetDistribution", request).await {
        Ok(response) => response,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let distribution = response
        .distribution
        .ok_or_else(|| context.incomplete_response("a distribution"))?;
    let tags = tags(context, &distribution.arn).await?;
    Ok(tags.map(|tags| ObservedDistribution {
        distribution,
        etag: response.e_tag.unwrap_or_default(),
        tags,
    }))
}

/// Reads the tags of a distribution; `None`: AWS reports that it does not exist.
pub(super) async fn tags(context: &CallContext<'_>, arn: &str) -> Result<Option<ObservedTags>, Failure> {
    let client = client(&context.session);
    let request = client.list_tags_for_resource().resource(arn).send();
    let response = match context
        .requests
        .read("cloudfront:ListTagsForResource", request)
        .await
    {
        Ok(response) => response,
        Err(error) if is_absence(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let tags = response
        .tags
        .ok_or_else(|| context.incomplete_response("the tags"))?;
    let tags = tags.items.unwrap_or_default().into_iter();
    Ok(Some(
        tags.map(|tag| (tag.key, tag.value.unwrap_or_default())).collect(),
    ))
}

/// The observation of a distribution, for the bridge.
pub(super) fn observation(
    context: &CallContext<'_>,
    observed: &ObservedDistribution,
) -> Result<Observation<Distribution>, Failure> {
    let distribution = &observed.distribution;
    let parameters = convert::to_parameters(observed.config()?, observed.tags.of_user());
    let observation = Observation::new(&distribution.id, parameters)
        .canonical_id(&distribution.arn)
        .etag(&observed.etag)
        .found_marker(observed.tags.marker())
        .connection("id", distribution.id.as_bytes())
        .connection("arn", distribution.arn.as_bytes())
        .connection("domainName", distribution.domain_name.as_bytes())
        .status(DistributionStatus::new(distribution, context.session.partition()));
    Ok(if observed.is_deployed() {
        observation.ready()
    } else {
        let why = format!(
            "its status is {}: AWS is deploying the latest change to all edge locations",
            distribution.status
        );
        observation.not_ready(why).observe_after(context.poll_interval)
    })
}

/// Whether AWS reports that there is no such distribution. A policy or a key group that does not exist is something else.
pub(super) fn is_absence(error: &ApiError) -> bool {
    error.has_any_code(&["NoSuchDistribution", "NoSuchResource"])
}
