//! Polling an operation on a distribution.

use crossbridge_sdk::{Call, Failure, OperationVerb, Outcome, Poll};

use super::{DistributionHandle, deletion, deployment};
use crate::services::cloudfront::kind::Distribution;
use crate::services::cloudfront::model::DistributionParameters;
use crate::services::cloudfront::read::{context, read};
use crate::services::cloudfront::write::delete::{DeletionStep, advance};
use crate::session::Sessions;

pub(in crate::services::cloudfront) async fn poll(
    sessions: &Sessions,
    call: &Call,
    poll: &Poll<DistributionParameters>,
) -> Result<Outcome<Distribution>, Failure> {
    let handle = DistributionHandle::decode(&poll.handle, &call.target.external_name)?;
    let id = &handle.name;
    let context = &context(sessions, call).await?;
    if handle.verb() == OperationVerb::Delete {
        return Ok(match advance(context, id, "").await? {
            // The same outcome for each poll, whether or not this one deleted it.
            DeletionStep::AlreadyDeleted | DeletionStep::Deleted => Outcome::completed(),
            DeletionStep::InProgress => deletion(context, id),
        });
    }
    let Some(observed) = read(context, id).await? else {
        let message = format!("the distribution {id} was deleted while AWS deployed it");
        return Err(Failure::operation_failed(message).reason("Deleted"));
    };
    context.check_owned(&observed.tags, format!("the distribution {id}"))?;
    deployment(context, &observed, handle.verb())
}
