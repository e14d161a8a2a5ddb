//! Creating a queue, and resuming a creation whose outcome is unknown.

use std::time::Duration;

use crossbridge_sdk::{Call, Create, Failure, Observation, Outcome};

use super::kind::Queue;
use super::model::attributes;
use super::model::{QueueParameters, url};
use super::read::{client, read};
use super::write::{converge, dead_letter_queue_missing};
use crate::api::ApiError;
use crate::context::{CallContext, finish};
use crate::session::Sessions;
use crate::tags::{Ownership, with_marker};

/// For so long SQS rejects the name of a deleted queue.
const NAME_COOLDOWN: Duration = Duration::from_mins(1);

pub(super) async fn create(
    sessions: &Sessions,
    call: &Call,
    create: &Create<QueueParameters>,
) -> Result<Outcome<Queue>, Failure> {
    let desired = &create.desired.parameters;
    desired.check()?;
    let context = CallContext::regional(sessions, call, desired.region.as_deref()).await?;
    let url = url::of_name(&context, &desired.name).await?;
    if !context.external_name().is_empty() && context.external_name() != url {
        let message = format!("the desired queue has the URL {url}, which is not the external name");
        return Err(Failure::invalid_spec(message.clone()).violation("", message));
    }
    // CreateQueue for a queue that exists succeeds, and changes its tags.
    if let Some(observed) = read(&context, &url).await? {
        if !create.outcome_unknown || context.ownership(&observed.tags) == Ownership::Foreign {
            return Err(already_exists(&desired.name, &url));
        }
        call.record_name(&url);
        converge(&context, &observed, desired).await?;
        return Ok(Outcome::already_done().external_name(url));
    }
    let request = client(&context.session)
        .create_queue()
        .queue_name(&desired.name)
        .set_attributes(Some(attributes::initial(desired).into_iter().collect()))
        .set_tags(Some(
            with_marker(desired.tags.as_ref(), context.marker())
                .into_iter()
                .collect(),
        ));
    match context.requests.write("sqs:CreateQueue", request.send()).await {
        Ok(_) => {}
        Err(error) if error.has_code("QueueDeletedRecently") => {
            return Err(deleted_recently(error, &desired.name));
        }
        Err(error) if error.has_any_code(&["QueueNameExists", "QueueAlreadyExists"]) => {
            return Err(error.into_failure(already_exists(&desired.name, &url)));
        }
        Err(error) => return Err(dead_letter_queue_missing(error, desired)),
    }
    call.record_name(&url);
    // A new queue may not be visible for a moment.
    let outcome = finish(async { Ok(read(&context, &url).await?.map(Observation::from)) }).await;
    Ok(outcome.external_name(url))
}

fn already_exists(name: &str, url: &str) -> Failure {
    Failure::already_exists(
        url,
        format!("a queue named {name:?} already exists in this account and region"),
    )
}

fn deleted_recently(error: ApiError, name: &str) -> Failure {
    let message = format!(
        "a queue named {name:?} was deleted less than a minute ago, and AWS does not free its name before"
    );
    let failure = Failure::dependency_not_ready(message)
        .reason("QueueDeletedRecently")
        .retry_after(NAME_COOLDOWN);
    error.into_failure(failure)
}
