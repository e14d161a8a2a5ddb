//! Reads a queue: its attributes and its tags.

use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::QueueAttributeName as Name;
use crossbridge_sdk::serde_json::{Map, Value};
use crossbridge_sdk::{Call, Failure, Observation, Observed};

use super::kind::Queue;
use super::model::QueueStatus;
use super::model::attributes::{self, Attributes};
use super::model::url;
use crate::api::ApiError;
use crate::context::CallContext;
use crate::session::{Session, Sessions, region_of};
use crate::tags::ObservedTags;

/// A queue as AWS reports it.
#[derive(Debug)]
pub(super) struct ObservedQueue {
    pub(super) url: String,
    region: String,
    pub(super) attributes: Attributes,
    pub(super) tags: ObservedTags,
}

impl ObservedQueue {
    /// The queue after a write, which AWS may report late: with these tags and attributes. AWS leaves empty attributes out.
    pub(super) fn after(mut self, written: Attributes, tags: ObservedTags) -> Self {
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

pub(super) fn client(session: &Session) -> Client {
    session.client(Client::new)
}

/// The context of a call about a queue that may exist: in the region of its URL. The desired region may have been changed since; there the
/// queue would seem absent, and a second one would be created.
pub(super) async fn context<'a>(
    sessions: &Sessions,
    call: &'a Call,
    desired: &Map<String, Value>,
) -> Result<CallContext<'a>, Failure> {
    let known = url::region(&call.target.external_name);
    CallContext::regional(sessions, call, known.or(region_of(desired))).await
}

/// Reads the queue of the external name, else the one of the desired name.
pub(super) async fn observe(
    context: &CallContext<'_>,
    desired: &Map<String, Value>,
) -> Result<Observed<Queue>, Failure> {
    let name = desired.get("name").and_then(Value::as_str);
    let url = match (context.external_name(), name) {
        ("", Some(name)) => url::of_name(context, name).await?,
        ("", None) => {
            let message = "a queue without an external name is found by its name, which is not given";
            return Err(Failure::invalid_spec(message).violation("/name", "is required"));
        }
        (url, _) => url.to_owned(),
    };
    match read(context, &url).await? {
        Some(observed) => Ok(Observation::from(observed).into()),
        None => Ok(Observed::absent_as(url)),
    }
}

/// Reads a queue; `None`: AWS reports that it does not exist.
pub(super) async fn read(context: &CallContext<'_>, url: &str) -> Result<Option<ObservedQueue>, Failure> {
    let client = client(&context.session);
    let attributes = client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(Name::All);
    let responses = tokio::try_join!(
        context.requests.read("sqs:GetQueueAttributes", attributes.send()),
        tags(context, url),
    );
    match responses {
        Ok((response, tags)) => {
            let attributes: Attributes = response.attributes.unwrap_or_default().into_iter().collect();
            if !attributes.contains_key(&Name::QueueArn) {
                return Err(context.incomplete_response("the attributes of the queue"));
            }
            Ok(Some(ObservedQueue {
                url: url.to_owned(),
                region: context.session.region.clone(),
                attributes,
                tags,
            }))
        }
        Err(error) if is_absence(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn tags(context: &CallContext<'_>, url: &str) -> Result<ObservedTags, ApiError> {
    let request = client(&context.session).list_queue_tags().queue_url(url).send();
    let response = context.requests.read("sqs:ListQueueTags", request).await?;
    Ok(response.tags.unwrap_or_default().into_iter().collect())
}

/// Whether AWS reports that there is no such queue. A 404 of a proxy in between does not count.
pub(super) fn is_absence(error: &ApiError) -> bool {
    error.has_any_code(&["QueueDoesNotExist", "NonExistentQueue"])
}

impl From<ObservedQueue> for Observation<Queue> {
    fn from(observed: ObservedQueue) -> Self {
        let arn = observed
            .attributes
            .get(&Name::QueueArn)
            .cloned()
            .unwrap_or_default();
        let parameters = attributes::to_parameters(
            url::name(&observed.url),
            &observed.region,
            &observed.attributes,
            observed.tags.of_user(),
        );
        Self::new(&observed.url, parameters)
            .ready()
            .canonical_id(&arn)
            .found_marker(observed.tags.marker())
            .connection("url", observed.url.as_bytes())
            .connection("arn", arn.as_bytes())
            .status(QueueStatus {
                arn,
                url: observed.url,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_attributes_and_tags_replace_those_reported_late() {
        let of = |pairs: &[(Name, &str)]| -> Attributes {
            let owned = pairs
                .iter()
                .map(|(name, value)| (name.clone(), (*value).to_owned()));
            owned.collect()
        };
        let observed = ObservedQueue {
            url: "https://sqs.eu-west-1.amazonaws.com/1/jobs".to_owned(),
            region: "eu-west-1".to_owned(),
            attributes: of(&[
                (Name::DelaySeconds, "0"),
                (Name::Policy, "{}"),
                (Name::QueueArn, "arn"),
            ]),
            tags: ObservedTags::default(),
        };
        let tags: ObservedTags = [("team", "shop")].into_iter().collect();
        let after = observed.after(of(&[(Name::DelaySeconds, "5"), (Name::Policy, "")]), tags.clone());
        assert_eq!(
            after.attributes,
            of(&[(Name::DelaySeconds, "5"), (Name::QueueArn, "arn")])
        );
        assert_eq!(after.tags, tags);
    }
}
