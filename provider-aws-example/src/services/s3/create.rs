//! Creating a bucket, and resuming a creation whose outcome is unknown.

use aws_sdk_s3::types::{CreateBucketConfiguration, ObjectOwnership};
use crossbridge_sdk::{Create, Effect, Failure, FailureCode, Outcome};

use super::kind::Bucket;
use super::model::BucketParameters;
use super::read::{Presence, client, location, presence, read};
use super::write::{converge, converge_and_read};
use crate::api::ApiError;
use crate::context::CallContext;
use crate::session::Sessions;
use crate::tags::Ownership;

pub(super) async fn create(
    sessions: &Sessions,
    context: CallContext<'_>,
    create: &Create<BucketParameters>,
) -> Result<Outcome<Bucket>, Failure> {
    let desired = &create.desired.parameters;
    let name = context.external_name();
    // In us-east-1 an owner may create a bucket again, so that CreateBucket does not report whether it exists.
    match presence(sessions, &context).await? {
        Presence::Absent => {}
        Presence::Inaccessible(error) => return Err(name_taken(error, name)),
        Presence::Exists(session) => {
            let is_in_desired_region = session.region == context.session.region;
            let context = context.in_session(session);
            return resume(&context, create, is_in_desired_region).await;
        }
    }
    create_bucket(&context, desired).await.map_err(|error| {
        if error.has_any_code(&["BucketAlreadyExists", "BucketAlreadyOwnedByYou"]) {
            name_taken(error, name)
        } else {
            error.into()
        }
    })?;
    let observed = match read(&context).await {
        Ok(observed) => observed,
        Err(failure) => {
            context.call.record_name(name);
            return Err(not_visible_yet(failure, name));
        }
    };
    // In us-east-1 a bucket of the account can be created again: another object has created and marked it meanwhile.
    if context.ownership(&observed.tags) == Ownership::Foreign {
        return Err(already_exists(name));
    }
    context.call.record_name(name);
    converge_and_read(&context, &observed, desired)
        .await
        .map_err(|failure| not_visible_yet(failure, name))
}

/// A bucket of this name exists. An earlier request of this creation may have created it, in the desired region and without a marker,
/// which comes second.
async fn resume(
    context: &CallContext<'_>,
    create: &Create<BucketParameters>,
    is_in_desired_region: bool,
) -> Result<Outcome<Bucket>, Failure> {
    let name = context.external_name();
    let observed = read(context).await?;
    let may_be_ours = is_in_desired_region && context.ownership(&observed.tags) != Ownership::Foreign;
    if !create.outcome_unknown || !may_be_ours {
        return Err(already_exists(name));
    }
    context.call.record_name(name);
    converge(context, &observed, &create.desired.parameters).await?;
    Ok(Outcome::already_done()
        .external_name(name)
        .canonical_id(observed.status.arn))
}

/// Creates an empty bucket, with the settings that can be given only at creation.
async fn create_bucket(context: &CallContext<'_>, desired: &BucketParameters) -> Result<(), ApiError> {
    let configuration = location(&context.session.region).map(|location| {
        CreateBucketConfiguration::builder()
            .location_constraint(location)
            .build()
    });
    let request = client(&context.session)
        .create_bucket()
        .bucket(context.external_name())
        .set_create_bucket_configuration(configuration)
        .set_object_lock_enabled_for_bucket(desired.object_lock_enabled)
        .set_object_ownership(desired.object_ownership.as_deref().map(ObjectOwnership::from));
    let request = context.requests.write("s3:CreateBucket", request.send());
    request.await.map(drop)
}

fn already_exists(name: &str) -> Failure {
    Failure::already_exists(
        name,
        format!("the bucket {name:?} already exists in this account"),
    )
}

/// A new bucket is not visible everywhere at once: that is no absence.
fn not_visible_yet(failure: Failure, name: &str) -> Failure {
    if failure.code() != Some(FailureCode::NotFound) {
        return failure;
    }
    let message = format!("the bucket {name:?} was created, and S3 does not show it yet");
    Failure::conflict(message)
        .reason("NotVisibleYet")
        .effect(Effect::Partial)
}

fn name_taken(error: ApiError, name: &str) -> Failure {
    let message = format!(
        "the bucket name {name:?} is taken: by another account, or by a bucket that these credentials may not read; choose another"
    );
    error.into_failure(Failure::already_exists(name, message))
}
