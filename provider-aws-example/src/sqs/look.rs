//! Reading a queue.

use aws_sdk_sqs::types::QueueAttributeName as Name;
use crossbridge_sdk::{Failure, Observation};

use super::attributes::{self, Attributes};
use super::model::QueueStatus;
use super::name;
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
    /// The same with these tags, and with these attributes as AWS tells them: what is empty is not told.
    pub(super) fn with(mut self, written: Attributes, tags: FoundTags) -> Self {
        self.tags = tags;
        self.attributes.extend(written);
        self.attributes.retain(|_, value| !value.is_empty());
        self
    }

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
        Ok((answer, tags)) => {
            let attributes: Attributes = answer.attributes.unwrap_or_default().into_iter().collect();
            if !attributes.contains_key(&Name::QueueArn) {
                let message = "AWS answered without the attributes of the queue";
                return Err(Failure::unavailable(message).effect(steps.effect()));
            }
            Ok(Some(Found {
                url: url.to_owned(),
                region: session.region.clone(),
                attributes,
                tags,
            }))
        }
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
        let parameters = attributes::observed(
            name::of(&found.url),
            &found.region,
            &found.attributes,
            found.tags.of_user(),
        );
        Self::new(&found.url, parameters)
            .ready()
            .canonical_id(&arn)
            .found_marker(found.tags.marker())
            .connection("url", found.url.as_bytes())
            .connection("arn", arn.as_bytes())
            .status(QueueStatus { arn, url: found.url })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_counts_more_than_what_aws_tells_yet() {
        let of = |pairs: &[(Name, &str)]| -> Attributes {
            let owned = pairs
                .iter()
                .map(|(name, value)| (name.clone(), (*value).to_owned()));
            owned.collect()
        };
        let found = Found {
            url: "https://sqs.eu-west-1.amazonaws.com/1/jobs".to_owned(),
            region: "eu-west-1".to_owned(),
            attributes: of(&[
                (Name::DelaySeconds, "0"),
                (Name::Policy, "{}"),
                (Name::QueueArn, "arn"),
            ]),
            tags: FoundTags::default(),
        };
        let tags: FoundTags = [("team", "shop")].into_iter().collect();
        let now = found.with(of(&[(Name::DelaySeconds, "5"), (Name::Policy, "")]), tags.clone());
        assert_eq!(
            now.attributes,
            of(&[(Name::DelaySeconds, "5"), (Name::QueueArn, "arn")])
        );
        assert_eq!(now.tags, tags);
    }
}
