//! Updating a distribution: AWS takes a whole configuration, and the version that it is meant to replace.

pub(super) mod delete;
pub(super) mod errors;

use aws_sdk_cloudfront::types as aws;
use crossbridge_sdk::{Failure, OperationVerb, Outcome, Update};

use super::kind::Distribution;
use super::model::{DistributionParameters, convert};
use super::operation::{deployment, operation};
use super::read::{ObservedDistribution, client, read};
use crate::context::{CallContext, absent};
use crate::tags::{TagChange, Tags};
use errors::explain;

pub(super) async fn update(
    context: &CallContext<'_>,
    update: &Update<DistributionParameters>,
) -> Result<Outcome<Distribution>, Failure> {
    let desired = &update.desired.parameters;
    desired.check()?;
    let id = context.external_name();
    let Some(observed) = read(context, id).await? else {
        return Err(absent(format!("the distribution {id}")));
    };
    context.check_not_foreign(&observed.tags, format!("the distribution {id}"))?;
    check_version(&observed, &update.etag)?;
    let current = observed.config()?;
    let changed = convert::merged_over(desired, current.clone())?;
    let tags = context.tag_change(&observed.tags, desired.tags.as_ref());
    // Without its marker it is adopted first. Otherwise tags come last: AWS may reject the configuration.
    let adopts = observed.tags.marker() != context.marker();
    if adopts {
        tag(context, &observed, tags.clone()).await?;
    }
    // Compared as parameters: the API has several ways to express nothing.
    let to_parameters = |config| convert::to_parameters(config, Tags::new());
    let differs = to_parameters(&changed) != to_parameters(current);
    let is_deploying = differs && !put(context, &observed, changed).await?.is_deployed();
    if !adopts {
        tag(context, &observed, tags).await?;
    }
    if is_deploying {
        let operation = operation(context, id, OperationVerb::Update).phase("Deploying");
        return Ok(observed.name_outcome(operation.into()));
    }
    match read(context, id).await {
        Ok(Some(observed)) => deployment(context, &observed, OperationVerb::Update),
        // The writes have succeeded, whether or not the distribution can be read just now.
        _ => Ok(Outcome::completed()),
    }
}

/// Replaces the configuration of the version that was read.
async fn put(
    context: &CallContext<'_>,
    observed: &ObservedDistribution,
    config: aws::DistributionConfig,
) -> Result<ObservedDistribution, Failure> {
    let request = client(&context.session)
        .update_distribution()
        .id(observed.id())
        .if_match(&observed.etag)
        .distribution_config(config);
    let response = context
        .requests
        .write("cloudfront:UpdateDistribution", request.send())
        .await
        .map_err(explain)?;
    Ok(ObservedDistribution {
        distribution: response
            .distribution
            .ok_or_else(|| context.incomplete_response("the distribution"))?,
        etag: response.e_tag.unwrap_or_default(),
        tags: observed.tags.clone(),
    })
}

async fn tag(
    context: &CallContext<'_>,
    observed: &ObservedDistribution,
    change: TagChange,
) -> Result<(), Failure> {
    let arn = &observed.distribution.arn;
    let client = client(&context.session);
    let set = async |tags| {
        let tags = convert::tags(&tags)?;
        let request = client.tag_resource().resource(arn).tags(tags);
        let request = context.requests.write("cloudfront:TagResource", request.send());
        request.await.map(drop).map_err(explain)
    };
    let remove = async |keys| {
        let keys = aws::TagKeys::builder().set_items(Some(keys)).build();
        let request = client.untag_resource().resource(arn).tag_keys(keys);
        let request = context.requests.write("cloudfront:UntagResource", request.send());
        request.await.map(drop).map_err(explain)
    };
    change.apply(set, remove).await
}

/// Rejects a change of another version than the one that the bridge has observed.
fn check_version(observed: &ObservedDistribution, etag: &str) -> Result<(), Failure> {
    if etag.is_empty() || etag == observed.etag {
        return Ok(());
    }
    Err(Failure::conflict(format!(
        "the distribution {} was changed since it was observed",
        observed.id()
    )))
}
