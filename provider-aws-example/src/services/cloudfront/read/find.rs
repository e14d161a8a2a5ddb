//! Looks a distribution up: by id, and without an id by its marker. CloudFront has no look-up by tag: every distribution's tags are read,
//! except for those that the tagging service knows to be other objects'.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_cloudfront::types::DistributionSummary;
use aws_sdk_resourcegroupstagging::types::TagFilter;
use crossbridge_sdk::{Failure, Observed};
use futures::{StreamExt, TryStreamExt, stream};

use super::{ObservedDistribution, client, observation, read, tags};
use crate::api::ApiError;
use crate::context::CallContext;
use crate::services::cloudfront::kind::Distribution;
use crate::tags::{MARKER_TAG, Ownership};

/// As many as CloudFront lists at once, and as the tagging service does.
const PAGE_SIZE: i32 = 100;

/// Tags that are read at once; AWS throttles more.
const CONCURRENT_READS: usize = 8;

/// For so long the tagging service is waited for, on which nothing depends.
const INDEX_TIMEOUT: Duration = Duration::from_secs(2);

/// Ownership markers by the ARN of the distribution.
type MarkerIndex = BTreeMap<String, String>;

/// Reads the distribution of the external name, else the one with the marker of the object.
pub(in crate::services::cloudfront) async fn observe(
    context: &CallContext<'_>,
) -> Result<Observed<Distribution>, Failure> {
    let id = context.external_name();
    if !id.is_empty() {
        return Ok(match read(context, id).await? {
            Some(observed) => observation(context, &observed)?.into(),
            None => Observed::absent(),
        });
    }
    let owned = find(context).await?;
    let Some(oldest) = owned.first() else {
        return Ok(Observed::absent());
    };
    let observation = observation(context, oldest)?;
    if owned.len() == 1 {
        return Ok(observation.into());
    }
    let ids: Vec<&str> = owned.iter().map(ObservedDistribution::id).collect();
    let message = format!(
        "several distributions have this object's marker, of which the first counts: {}",
        ids.join(", ")
    );
    Ok(observation.warning("SeveralFound", message).into())
}

/// The distributions with our marker, the oldest first as far as AWS reports it. What cannot be read within the deadline is a failure,
/// never absence.
pub(in crate::services::cloudfront) async fn find(
    context: &CallContext<'_>,
) -> Result<Vec<ObservedDistribution>, Failure> {
    // The index lags behind, and may be forbidden: good for a hit and for foreign markers, never for absence.
    let index = index(context).await;
    let owned = verify(context, &index).await?;
    if !owned.is_empty() {
        return Ok(owned);
    }
    let is_foreign = |arn: &str| index.get(arn).is_some_and(|marker| !is_ours(context, marker));
    let client = client(&context.session);
    let mut owned = Vec::new();
    let mut page = None;
    loop {
        let request = client
            .list_distributions()
            .max_items(PAGE_SIZE)
            .set_marker(page)
            .send();
        let list = context
            .requests
            .read("cloudfront:ListDistributions", request)
            .await?
            .distribution_list;
        let list = list.ok_or_else(|| context.incomplete_response("a list"))?;
        let candidates = list
            .items
            .unwrap_or_default()
            .into_iter()
            .filter(|summary| !is_foreign(&summary.arn));
        owned.extend(read_owned(context, candidates).await?);
        page = list.next_marker.filter(|_| list.is_truncated);
        if page.is_none() {
            break;
        }
    }
    Ok(oldest_first(owned))
}

/// Only what the tagging service knows: cheap, and never proof of absence.
pub(in crate::services::cloudfront) async fn find_indexed(
    context: &CallContext<'_>,
) -> Result<Vec<ObservedDistribution>, Failure> {
    verify(context, &index(context).await).await
}

/// Every distribution that the tagging service knows to have a marker; none if the service is of no help.
async fn index(context: &CallContext<'_>) -> MarkerIndex {
    match tokio::time::timeout(INDEX_TIMEOUT, read_index(context)).await {
        Ok(Ok(index)) => index,
        Ok(Err(error)) => {
            tracing::debug!(message = error.message(), "the tagging service cannot be used");
            MarkerIndex::new()
        }
        Err(_) => {
            tracing::debug!("the tagging service does not answer");
            MarkerIndex::new()
        }
    }
}

async fn read_index(context: &CallContext<'_>) -> Result<MarkerIndex, ApiError> {
    let client = context.session.client(aws_sdk_resourcegroupstagging::Client::new);
    let mut index = MarkerIndex::new();
    let mut page = None;
    loop {
        let request = client
            .get_resources()
            .resource_type_filters("cloudfront:distribution")
            .tag_filters(TagFilter::builder().key(MARKER_TAG).build())
            .resources_per_page(PAGE_SIZE)
            .set_pagination_token(page)
            .send();
        let response = context.requests.read("tag:GetResources", request).await?;
        for resource in response.resource_tag_mapping_list.unwrap_or_default() {
            let marker = resource
                .tags
                .into_iter()
                .flatten()
                .find(|tag| tag.key == MARKER_TAG);
            if let (Some(arn), Some(marker)) = (resource.resource_arn, marker) {
                index.insert(arn, marker.value);
            }
        }
        page = response.pagination_token.filter(|token| !token.is_empty());
        if page.is_none() {
            return Ok(index);
        }
    }
}

/// Those of the index that exist and are ours, as CloudFront itself reports.
async fn verify(
    context: &CallContext<'_>,
    index: &MarkerIndex,
) -> Result<Vec<ObservedDistribution>, Failure> {
    let mut owned = Vec::new();
    for (arn, _) in index.iter().filter(|(_, marker)| is_ours(context, marker)) {
        owned.extend(read_if_owned(context, id_of(arn)).await?);
    }
    Ok(oldest_first(owned))
}

async fn read_if_owned(context: &CallContext<'_>, id: &str) -> Result<Option<ObservedDistribution>, Failure> {
    let observed = read(context, id).await?;
    Ok(observed.filter(|observed| context.ownership(&observed.tags) == Ownership::Owned))
}

async fn read_owned(
    context: &CallContext<'_>,
    candidates: impl Iterator<Item = DistributionSummary>,
) -> Result<Vec<ObservedDistribution>, Failure> {
    let reads = candidates.map(|summary| async move {
        match tags(context, &summary.arn).await? {
            Some(tags) if context.ownership(&tags) == Ownership::Owned => {
                read_if_owned(context, &summary.id).await
            }
            // Foreign, unmarked, or deleted meanwhile.
            _ => Ok(None),
        }
    });
    let owned: Vec<Option<ObservedDistribution>> = stream::iter(reads)
        .buffer_unordered(CONCURRENT_READS)
        .try_collect()
        .await?;
    Ok(owned.into_iter().flatten().collect())
}

fn is_ours(context: &CallContext<'_>, marker: &str) -> bool {
    context.call.target.is_ours(marker)
}

/// AWS does not report when a distribution was created, only when it was last changed.
fn oldest_first(mut distributions: Vec<ObservedDistribution>) -> Vec<ObservedDistribution> {
    distributions.sort_by_key(|observed| {
        (
            observed.distribution.last_modified_time.as_nanos(),
            observed.distribution.id.clone(),
        )
    });
    distributions
}

fn id_of(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or_default()
}
