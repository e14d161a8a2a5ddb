//! Updating and deleting a queue.

use crossbridge_sdk::{Failure, Observation, Outcome};

use super::kind::Queue;
use super::model::attributes::{self, Attributes};
use super::model::{QueueParameters, url};
use super::read::{ObservedQueue, client, is_absence, read, tags};
use crate::api::ApiError;
use crate::context::{CallContext, absent, finish};
use crate::tags::TagChange;
use crate::validation::immutable;

/// What was written to a queue.
pub(super) struct Written {
    tags: TagChange,
    attributes: Attributes,
}

pub(super) async fn update(
    context: &CallContext<'_>,
    desired: &QueueParameters,
) -> Result<Outcome<Queue>, Failure> {
    let url = context.external_name();
    let Some(observed) = read(context, url).await? else {
        return Err(absent(format!("the queue {url}")));
    };
    context.check_not_foreign(&observed.tags, format!("the queue {url}"))?;
    for (path, observed, desired) in [
        (
            "/region",
            context.session.region.as_str(),
            desired.region.as_deref(),
        ),
        ("/name", url::name(url), Some(desired.name.as_str())),
    ] {
        if desired.is_some_and(|desired| desired != observed) {
            return Err(immutable(
                path,
                format!("this cannot be changed from {observed:?}"),
            ));
        }
    }
    if desired.fifo_queue.is_some_and(|fifo| fifo != observed.is_fifo()) {
        let message = "a queue cannot become a FIFO queue, or cease to be one";
        return Err(immutable("/fifoQueue", message));
    }
    let written = converge(context, &observed, desired).await?;
    let outcome = finish(async {
        // AWS takes up to a minute to report what was written.
        let tags = observed.tags.after(written.tags);
        let read = read(context, url).await?;
        Ok(read.map(|read| Observation::from(read.after(written.attributes, tags))))
    })
    .await;
    Ok(outcome.external_name(url))
}

pub(super) async fn delete(context: &CallContext<'_>) -> Result<Outcome<Queue>, Failure> {
    let url = context.external_name();
    let tags = match tags(context, url).await {
        Ok(tags) => tags,
        Err(error) if is_absence(&error) => return Ok(Outcome::already_done()),
        Err(error) => return Err(error.into()),
    };
    context.check_not_foreign(&tags, format!("the queue {url}"))?;
    let request = client(&context.session).delete_queue().queue_url(url).send();
    match context.requests.write("sqs:DeleteQueue", request).await {
        Ok(_) => Ok(Outcome::completed()),
        Err(error) if is_absence(&error) => Ok(Outcome::already_done()),
        Err(error) => Err(error.into()),
    }
}

/// Writes the tags and attributes that differ from the desired ones, the marker first.
pub(super) async fn converge(
    context: &CallContext<'_>,
    observed: &ObservedQueue,
    desired: &QueueParameters,
) -> Result<Written, Failure> {
    let written = Written {
        tags: context.tag_change(&observed.tags, desired.tags.as_ref()),
        attributes: attributes::differing(attributes::mutable(desired), &observed.attributes),
    };
    let client = client(&context.session);
    let url = observed.url.as_str();
    let requests = &context.requests;
    let set = async |tags| {
        let request = client.tag_queue().queue_url(url).set_tags(Some(tags));
        requests.write("sqs:TagQueue", request.send()).await.map(drop)
    };
    let remove = async |keys| {
        let request = client.untag_queue().queue_url(url).set_tag_keys(Some(keys));
        requests.write("sqs:UntagQueue", request.send()).await.map(drop)
    };
    let change = written.tags.clone();
    change
        .apply(|tags| set(tags.into_iter().collect()), remove)
        .await?;
    if !written.attributes.is_empty() {
        let request = client
            .set_queue_attributes()
            .queue_url(url)
            .set_attributes(Some(written.attributes.clone().into_iter().collect()));
        requests
            .write("sqs:SetQueueAttributes", request.send())
            .await
            .map_err(|error| dead_letter_queue_missing(error, desired))?;
    }
    Ok(written)
}

/// The failure of a request whose dead-letter queue does not exist yet, as when both queues are created at once: to be retried.
pub(super) fn dead_letter_queue_missing(error: ApiError, desired: &QueueParameters) -> Failure {
    let message = error.message().to_ascii_lowercase();
    let is_missing = message.contains("dlq") || message.contains("dead letter target does not exist");
    let Some(policy) = desired.redrive_policy.as_ref().filter(|_| is_missing) else {
        return error.into();
    };
    let message = format!(
        "the dead-letter queue {} does not exist",
        policy.dead_letter_target_arn
    );
    let failure = Failure::dependency_not_ready(&message).reason("DeadLetterQueueNotFound");
    error.into_failure(failure.violation("/redrivePolicy/deadLetterTargetArn", message))
}
