//! Changing what is there: AWS takes a whole configuration, and the version that it is meant to replace.

use aws_sdk_cloudfront::types as aws;
use crossbridge_sdk::{Failure, OperationVerb, Outcome, Update};

use super::distribution::Distribution;
use super::model::{self, DistributionParameters};
use super::refused;
use super::work::{Found, Work, absent};
use crate::ownership::{Owner, TagChange, Tags, not_ours};

impl Work<'_> {
    pub(super) async fn update(
        &self,
        update: &Update<DistributionParameters>,
    ) -> Result<Outcome<Distribution>, Failure> {
        let wish = &update.desired.parameters;
        wish.check()?;
        let id = &self.call.target.external_name;
        let Some(found) = self.look(id).await? else {
            return Err(absent(id));
        };
        if self.owner(&found) == Owner::Another {
            return Err(not_ours(&format!("the distribution {id}")));
        }
        check_version(&found, &update.etag)?;
        let config = found.config()?;
        let wished = model::over(wish, config.clone())?;
        let marker = &self.call.target.ownership_marker;
        let tags = found.tags.change(wish.tags.as_ref(), marker);
        // Ours first, then as wished; but what is ours already is tagged only once AWS has taken the rest.
        let adopts = found.tags.marker() != marker;
        if adopts {
            self.tag(&found, tags.clone()).await?;
        }
        // In the shape of the wish: there are several ways to tell AWS of nothing.
        let differs = model::found(&wished, Tags::new()) != model::found(config, Tags::new());
        let under_way = differs && !self.put(&found, wished).await?.is_deployed();
        if !adopts {
            self.tag(&found, tags).await?;
        }
        if under_way {
            let operation = self.operation(id, OperationVerb::Update).phase("Deploying");
            return Ok(found.named(operation.into()));
        }
        match self.look(id).await {
            Ok(Some(found)) => self.progress(&found, OperationVerb::Update),
            // The work is done, whether or not it can be looked at.
            _ => Ok(Outcome::completed()),
        }
    }

    /// Replaces the configuration of the version that was found.
    pub(super) async fn put(&self, found: &Found, config: aws::DistributionConfig) -> Result<Found, Failure> {
        let request = self
            .cloudfront()
            .update_distribution()
            .id(found.id())
            .if_match(&found.etag)
            .distribution_config(config);
        let answer = self
            .steps
            .change("cloudfront:UpdateDistribution", request.send())
            .await
            .map_err(refused::told)?;
        Ok(Found {
            distribution: answer
                .distribution
                .ok_or_else(|| self.incomplete("the distribution"))?,
            etag: answer.e_tag.unwrap_or_default(),
            tags: found.tags.clone(),
        })
    }

    async fn tag(&self, found: &Found, change: TagChange) -> Result<(), Failure> {
        let arn = &found.distribution.arn;
        if !change.set.is_empty() {
            let mut tags = aws::Tags::builder();
            for (key, value) in change.set {
                tags = tags.items(aws::Tag::builder().key(key).value(value).build()?);
            }
            let request = self.cloudfront().tag_resource().resource(arn).tags(tags.build());
            self.steps
                .change("cloudfront:TagResource", request.send())
                .await
                .map_err(refused::told)?;
        }
        if !change.remove.is_empty() {
            let keys = aws::TagKeys::builder().set_items(Some(change.remove)).build();
            let request = self.cloudfront().untag_resource().resource(arn).tag_keys(keys);
            self.steps
                .change("cloudfront:UntagResource", request.send())
                .await
                .map_err(refused::told)?;
        }
        Ok(())
    }
}

/// The bridge decided by what it saw: if that is not what is there any more, it looks again.
pub(super) fn check_version(found: &Found, etag: &str) -> Result<(), Failure> {
    if etag.is_empty() || etag == found.etag {
        return Ok(());
    }
    Err(Failure::conflict(format!(
        "the distribution {} was changed since it was looked at",
        found.id()
    )))
}
