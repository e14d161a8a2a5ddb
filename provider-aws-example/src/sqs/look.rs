//! Reading a queue.

use aws_sdk_sqs::types::QueueAttributeName as Name;
use crossbridge_sdk::{Failure, Observation};

use super::attributes::{self, Attributes};
use super::model::QueueStatus;
use super::queue::Queue;
use crate::ownership::FoundTags;
use crate::session::Session;
use crate::upstream::{Refusal, Steps};

/// A queue as it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) url: String,
    region: String,
    pub(super) attributes: Attributes,
    pub(super) tags: FoundTags,
}

impl Found {
    pub(super) fn is_fifo(&self) -> bool {
        self.attributes
            .get(&Name::FifoQueue)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }
}

/// Looks at a queue; `None`: AWS says that there is none.
pub(super) async fn look(session: &Session, steps: &Steps, url: &str) -> Result<Option<Found>, Failure> {
    let attributes = session
        .sqs()
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(Name::All);
    let read = tokio::try_join!(
        steps.read("sqs:GetQueueAttributes", attributes.send()),
        tags(session, steps, url),
    );
    match read {
        Ok((attributes, tags)) => Ok(Some(Found {
            url: url.to_owned(),
            region: session.region.clone(),
            attributes: attributes.attributes.unwrap_or_default().into_iter().collect(),
            tags,
        })),
        Err(refusal) if is_absence(&refusal) => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}

pub(super) async fn tags(session: &Session, steps: &Steps, url: &str) -> Result<FoundTags, Refusal> {
    let tags = steps
        .read(
            "sqs:ListQueueTags",
            session.sqs().list_queue_tags().queue_url(url).send(),
        )
        .await?;
    Ok(tags.tags.unwrap_or_default().into_iter().collect())
}

/// Only this is absence: a 404 of a proxy in between is not.
pub(super) fn is_absence(refusal: &Refusal) -> bool {
    refusal.is_any(&["QueueDoesNotExist", "NonExistentQueue"])
}

impl From<Found> for Observation<Queue> {
    fn from(found: Found) -> Self {
        let arn = found.attributes.get(&Name::QueueArn).cloned().unwrap_or_default();
        let name = found.url.rsplit('/').next().unwrap_or_default();
        let parameters = attributes::observed(name, &found.region, &found.attributes, found.tags.of_user());
        Self::new(&found.url, parameters)
            .ready()
            .canonical_id(&arn)
            .found_marker(found.tags.marker())
            .connection("url", found.url.as_bytes())
            .connection("arn", arn.as_bytes())
            .status(QueueStatus { arn, url: found.url })
    }
}
