//! Creating a distribution, and resuming a creation whose outcome is unknown. The bridge's token is the caller reference, for which AWS
//! creates one distribution only, however often it is sent. A tag identifies the first request under the token.

use aws_sdk_cloudfront::types as aws;
use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{Create, Effect, Failure, FailureCode, OperationVerb, Outcome};
use sha2::{Digest, Sha256};

use super::kind::Distribution;
use super::model::{DistributionParameters, convert};
use super::operation::deployment;
use super::read::find::{find, find_indexed};
use super::read::{ObservedDistribution, client, read};
use super::write::errors::explain;
use crate::api::ApiError;
use crate::context::CallContext;
use crate::tags::{ObservedTags, Ownership, REQUEST_TAG, with_marker};

/// How a request to create ended.
enum CreateResult {
    Created(Box<ObservedDistribution>),
    /// AWS has seen the caller reference before.
    KnownToken(ApiError),
}

pub(super) async fn create(
    context: &CallContext<'_>,
    create: &Create<DistributionParameters>,
) -> Result<Outcome<Distribution>, Failure> {
    // What has been created already is not checked again: the checks may have become stricter.
    if create.outcome_unknown
        && let Ok(owned) = find_indexed(context).await
        && let Some(observed) = of_token(owned, &create.client_request_token)
    {
        return resume(context, &observed, create);
    }
    match send(context, create).await {
        Ok(CreateResult::Created(observed)) => {
            context.call.record_name(observed.id());
            deployment(context, &observed, OperationVerb::Create)
        }
        Ok(CreateResult::KnownToken(error)) => resolve_token(context, error, create).await,
        // Our own earlier work may be what conflicts, for instance about an alias.
        Err(failure) if create.outcome_unknown && concerns_spec(&failure) => {
            let owned = find(context).await.unwrap_or_default();
            match of_token(owned, &create.client_request_token) {
                Some(observed) => resume(context, &observed, create),
                None => Err(failure),
            }
        }
        Err(failure) => Err(failure),
    }
}

async fn send(
    context: &CallContext<'_>,
    create: &Create<DistributionParameters>,
) -> Result<CreateResult, Failure> {
    let desired = &create.desired.parameters;
    desired.check()?;
    let mut tags = with_marker(desired.tags.as_ref(), context.marker());
    tags.insert(REQUEST_TAG.to_owned(), request_digest(context, create));
    let config = aws::DistributionConfigWithTags::builder()
        .distribution_config(convert::new_config(desired, &create.client_request_token)?)
        .tags(convert::tags(&tags)?)
        .build();
    let request = client(&context.session)
        .create_distribution_with_tags()
        .distribution_config_with_tags(config);
    let response = context
        .requests
        .write("cloudfront:CreateDistribution", request.send());
    match response.await {
        Ok(response) => match response.distribution {
            Some(distribution) => Ok(CreateResult::Created(Box::new(ObservedDistribution {
                distribution,
                etag: response.e_tag.unwrap_or_default(),
                tags: tags.into_iter().collect::<ObservedTags>(),
            }))),
            None => Err(Failure::unavailable(
                "AWS created a distribution and did not report its id",
            )),
        },
        Err(error) if error.has_code("DistributionAlreadyExists") => Ok(CreateResult::KnownToken(error)),
        Err(error) => Err(explain(error)),
    }
}

/// The distribution that AWS created when this token came before. Its configuration may have been edited since: only its caller
/// reference and its marker count.
async fn resolve_token(
    context: &CallContext<'_>,
    error: ApiError,
    create: &Create<DistributionParameters>,
) -> Result<Outcome<Distribution>, Failure> {
    let token = &create.client_request_token;
    // As long as the owner is unknown, this call may have created it: requests are repeated on the way, too.
    let unknown = |failure: Failure| failure.effect(Effect::Unknown);
    let Some(id) = id_in(error.message()) else {
        let owned = find(context).await.map_err(unknown)?;
        return match of_token(owned, token) {
            Some(observed) => resume(context, &observed, create),
            None => Err(error.into_failure(token_reused())),
        };
    };
    let observed = read(context, id).await.map_err(unknown)?;
    let Some(observed) = observed else {
        context.call.record_name(id);
        let message = format!("this request created the distribution {id}, which has been deleted since");
        let deleted = error.into_failure(Failure::not_found(message).reason("DeletedSince"));
        // Under a new token only this very call can have created it, and then it may just not be visible yet.
        return Err(if create.outcome_unknown {
            deleted
        } else {
            unknown(deleted)
        });
    };
    let is_of_token = observed.config()?.caller_reference == *token;
    if !is_of_token || context.ownership(&observed.tags) == Ownership::Foreign {
        return Err(error.into_failure(token_reused()));
    }
    resume(context, &observed, create)
}

/// Our own earlier work, if this request created it. What was requested then counts: it may have been edited since.
fn resume(
    context: &CallContext<'_>,
    observed: &ObservedDistribution,
    create: &Create<DistributionParameters>,
) -> Result<Outcome<Distribution>, Failure> {
    let is_of_token = observed.config()?.caller_reference == create.client_request_token;
    let request = request_digest(context, create);
    if is_of_token && observed.tags.request().is_some_and(|first| first != request) {
        return Err(token_reused());
    }
    context.call.record_name(observed.id());
    // A poll would not take one without a marker for ours; an update restores the marker.
    if observed.is_deployed() || context.ownership(&observed.tags) == Ownership::Unmarked {
        return Ok(observed.name_outcome(Outcome::already_done()));
    }
    deployment(context, observed, OperationVerb::Create)
}

/// Distinguishes this request from another under the same token. The marker is not part of it, as it counts by itself.
fn request_digest(context: &CallContext<'_>, create: &Create<DistributionParameters>) -> String {
    // The keys of a JSON object come sorted.
    let request = json!([context.call.config.id(), create.desired.json]);
    let digest = Sha256::digest(request.to_string());
    let bytes = digest.iter().take(16);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn token_reused() -> Failure {
    Failure::token_reused(
        "under this token AWS created a distribution for another request, or for another object",
    )
}

/// Of those with our marker, the one that this token created; else the oldest: there is one for each object.
fn of_token(owned: Vec<ObservedDistribution>, token: &str) -> Option<ObservedDistribution> {
    let of_token = owned.iter().position(|observed| {
        observed
            .config()
            .is_ok_and(|config| config.caller_reference == token)
    });
    owned.into_iter().nth(of_token.unwrap_or(0))
}

fn concerns_spec(failure: &Failure) -> bool {
    use FailureCode::{DependencyNotReady, InvalidSpec, QuotaExceeded};
    matches!(
        failure.code(),
        Some(InvalidSpec | DependencyNotReady | QuotaExceeded)
    )
}

/// The id at the end of AWS's message: `… Already exists: EDFDVBD632BHDS5`.
fn id_in(message: &str) -> Option<&str> {
    let last = message.rsplit_once(':')?.1.trim().trim_end_matches('.');
    let is_id = last.len() >= 8 && last.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
    is_id.then_some(last)
}

#[cfg(test)]
mod tests {
    use super::id_in;

    #[test]
    fn the_id_is_read_from_the_end_of_the_message() {
        let text = "The caller reference that you are using to create a distribution is associated with another distribution.";
        assert_eq!(
            id_in(&format!("{text} Already exists: E1SABCDEFGHIJ")),
            Some("E1SABCDEFGHIJ")
        );
        assert_eq!(
            id_in(&format!("{text} Already exists: E1SABCDEFGHIJ.")),
            Some("E1SABCDEFGHIJ")
        );
        assert_eq!(id_in(text), None);
        assert_eq!(id_in("Already exists: something else"), None);
        assert_eq!(id_in(""), None);
    }
}
