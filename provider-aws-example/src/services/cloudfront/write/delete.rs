//! Deleting a distribution. AWS deletes only one that is disabled, once all edge locations know: each call and each poll takes the next step.

use crossbridge_sdk::{Failure, Outcome};

use super::{check_version, put};
use crate::context::CallContext;
use crate::services::cloudfront::kind::Distribution;
use crate::services::cloudfront::operation::deletion;
use crate::services::cloudfront::read::{ObservedDistribution, client, is_absence, read};

/// How far a deletion has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::services::cloudfront) enum DeletionStep {
    /// The distribution was deleted before this call.
    AlreadyDeleted,
    /// The distribution was deleted by this call.
    Deleted,
    /// The distribution is not disabled at all edge locations yet.
    InProgress,
}

pub(in crate::services::cloudfront) async fn delete(
    context: &CallContext<'_>,
    etag: &str,
) -> Result<Outcome<Distribution>, Failure> {
    let id = context.external_name();
    Ok(match advance(context, id, etag).await? {
        DeletionStep::AlreadyDeleted => Outcome::already_done(),
        DeletionStep::Deleted => Outcome::completed(),
        DeletionStep::InProgress => deletion(context, id),
    })
}

/// Takes a deletion as far as it goes now. `etag` is that of the version to delete, or nothing.
pub(in crate::services::cloudfront) async fn advance(
    context: &CallContext<'_>,
    id: &str,
    etag: &str,
) -> Result<DeletionStep, Failure> {
    let Some(mut observed) = read(context, id).await? else {
        return Ok(DeletionStep::AlreadyDeleted);
    };
    context.check_owned(&observed.tags, format!("the distribution {id}"))?;
    check_version(&observed, etag)?;
    if observed.config()?.enabled {
        let mut config = observed.config()?.clone();
        config.enabled = false;
        observed = put(context, &observed, config).await?;
    }
    if observed.config()?.enabled || !observed.is_deployed() {
        return Ok(DeletionStep::InProgress);
    }
    delete_disabled(context, &observed).await
}

async fn delete_disabled(
    context: &CallContext<'_>,
    observed: &ObservedDistribution,
) -> Result<DeletionStep, Failure> {
    let request = client(&context.session)
        .delete_distribution()
        .id(observed.id())
        .if_match(&observed.etag);
    let response = context
        .requests
        .write("cloudfront:DeleteDistribution", request.send());
    match response.await {
        Ok(_) => Ok(DeletionStep::Deleted),
        Err(error) if is_absence(&error) => Ok(DeletionStep::AlreadyDeleted),
        Err(error) if error.has_code("ResourceInUse") => {
            let message = format!(
                "the distribution {} is in use: {}",
                observed.id(),
                error.message()
            );
            Err(error.into_failure(Failure::dependency_not_ready(message).reason("ResourceInUse")))
        }
        Err(error) => Err(error.into()),
    }
}
