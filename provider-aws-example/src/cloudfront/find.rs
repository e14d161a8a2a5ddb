//! Looking for our distribution without its name. CloudFront cannot be asked for a tag: every distribution's tags are read, save of
//! those that the tagging service knows to be other objects'.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_cloudfront::types::DistributionSummary;
use aws_sdk_resourcegroupstagging::types::TagFilter;
use crossbridge_sdk::{Call, Failure};
use futures::{StreamExt, TryStreamExt, stream};

use super::work::{Found, Work};
use crate::ownership::{MARKER_TAG, Owner};
use crate::upstream::Refusal;

/// As many as CloudFront gives at once, and as the tagging service does.
const PAGE: i32 = 100;

/// Tags that are read at once; AWS throttles who asks for more.
const AT_ONCE: usize = 8;

/// How long the tagging service is waited for, on which nothing depends.
const INDEX_PATIENCE: Duration = Duration::from_secs(2);

/// Markers by ARN.
type Markers = BTreeMap<String, String>;

impl Work<'_> {
    /// The distributions with our marker, the oldest first as far as AWS tells. What cannot be read within the deadline is a failure,
    /// never absence.
    pub(super) async fn find(&self) -> Result<Vec<Found>, Failure> {
        // It lags behind, and may be forbidden: good for a hit and for others' markers, never for absence.
        let markers = self.indexed().await;
        let found = self.verified(&markers).await?;
        if !found.is_empty() {
            return Ok(found);
        }
        let others = |arn: &str| markers.get(arn).is_some_and(|marker| !is_ours(self.call, marker));
        let mut ours = Vec::new();
        let mut page = None;
        loop {
            let request = self
                .cloudfront()
                .list_distributions()
                .max_items(PAGE)
                .set_marker(page)
                .send();
            let list = self
                .steps
                .read("cloudfront:ListDistributions", request)
                .await?
                .distribution_list;
            let list = list.ok_or_else(|| self.incomplete("a list"))?;
            let unknown = list
                .items
                .unwrap_or_default()
                .into_iter()
                .filter(|one| !others(&one.arn));
            ours.extend(self.marked(unknown).await?);
            page = list.next_marker.filter(|_| list.is_truncated);
            if page.is_none() {
                break;
            }
        }
        Ok(oldest_first(ours))
    }

    /// Only what the tagging service knows at once: cheap, and never proof of absence.
    pub(super) async fn find_indexed(&self) -> Result<Vec<Found>, Failure> {
        self.verified(&self.indexed().await).await
    }

    /// Every distribution that the tagging service knows to have a marker; none if it does not help.
    async fn indexed(&self) -> Markers {
        match tokio::time::timeout(INDEX_PATIENCE, self.read_index()).await {
            Ok(Ok(markers)) => markers,
            Ok(Err(refusal)) => {
                tracing::debug!(message = refusal.message(), "the tagging service does not help");
                Markers::new()
            }
            Err(_) => {
                tracing::debug!("the tagging service is silent");
                Markers::new()
            }
        }
    }

    async fn read_index(&self) -> Result<Markers, Refusal> {
        let mut markers = Markers::new();
        let mut page = None;
        loop {
            let request = self
                .session
                .tagging()
                .get_resources()
                .resource_type_filters("cloudfront:distribution")
                .tag_filters(TagFilter::builder().key(MARKER_TAG).build())
                .resources_per_page(PAGE)
                .set_pagination_token(page)
                .send();
            let answer = self.steps.read("tag:GetResources", request).await?;
            for resource in answer.resource_tag_mapping_list.unwrap_or_default() {
                let marker = resource
                    .tags
                    .into_iter()
                    .flatten()
                    .find(|tag| tag.key == MARKER_TAG);
                if let (Some(arn), Some(marker)) = (resource.resource_arn, marker) {
                    markers.insert(arn, marker.value);
                }
            }
            page = answer.pagination_token.filter(|token| !token.is_empty());
            if page.is_none() {
                return Ok(markers);
            }
        }
    }

    /// Those of the index that are there, and ours, by CloudFront's own word.
    async fn verified(&self, markers: &Markers) -> Result<Vec<Found>, Failure> {
        let mut found = Vec::new();
        for (arn, _) in markers.iter().filter(|(_, marker)| is_ours(self.call, marker)) {
            found.extend(self.look_for_ours(id_of(arn)).await?);
        }
        Ok(oldest_first(found))
    }

    async fn look_for_ours(&self, id: &str) -> Result<Option<Found>, Failure> {
        let found = self.look(id).await?;
        Ok(found.filter(|found| self.owner(found) == Owner::Ours))
    }

    async fn marked(
        &self,
        candidates: impl Iterator<Item = DistributionSummary>,
    ) -> Result<Vec<Found>, Failure> {
        let looks = candidates.map(|one| async move {
            match self.tags(&one.arn).await? {
                Some(tags) if tags.owner(&self.call.target) == Owner::Ours => {
                    self.look_for_ours(&one.id).await
                }
                // Another's, nobody's, or deleted while we looked.
                _ => Ok(None),
            }
        });
        let found: Vec<Option<Found>> = stream::iter(looks)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(found.into_iter().flatten().collect())
    }
}

fn is_ours(call: &Call, marker: &str) -> bool {
    call.target.is_ours(marker)
}

/// AWS does not tell when one was made, only when it was last changed.
fn oldest_first(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|found| {
        (
            found.distribution.last_modified_time.as_nanos(),
            found.distribution.id.clone(),
        )
    });
    found
}

fn id_of(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or_default()
}
