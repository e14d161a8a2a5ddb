//! Updating and deleting a bucket, setting by setting.

use aws_sdk_s3::Client;
use aws_sdk_s3::types::{
    BucketVersioningStatus, ObjectOwnership, OwnershipControls, OwnershipControlsRule,
    PublicAccessBlockConfiguration, ServerSideEncryption, ServerSideEncryptionByDefault,
    ServerSideEncryptionConfiguration, ServerSideEncryptionRule, Tag, Tagging, VersioningConfiguration,
};
use crossbridge_sdk::{Failure, Observation, Outcome};

use super::kind::Bucket;
use super::model::{BucketParameters, Encryption, PublicAccessBlock};
use super::read::{ObservedBucket, Presence, client, presence, read, tags as read_tags};
use crate::api::Requests;
use crate::context::{CallContext, absent, finish};
use crate::json_text;
use crate::session::Sessions;
use crate::tags::{ObservedTags, Tags, with_marker};
use crate::validation::immutable;

pub(super) async fn update(
    sessions: &Sessions,
    context: CallContext<'_>,
    desired: &BucketParameters,
) -> Result<Outcome<Bucket>, Failure> {
    let name = context.external_name();
    let session = match presence(sessions, &context).await? {
        Presence::Absent => return Err(absent(format!("the bucket {name:?}"))),
        Presence::Inaccessible(error) => return Err(error.into()),
        Presence::Exists(session) => session,
    };
    // Who names no region has no opinion: the default may have changed since.
    if desired
        .region
        .as_deref()
        .is_some_and(|region| region != session.region)
    {
        let message = format!("the bucket is in {}, and cannot be moved", session.region);
        return Err(immutable("/region", message));
    }
    let context = context.in_session(session);
    let observed = read(&context).await?;
    context.check_not_foreign(&observed.tags, format!("the bucket {name:?}"))?;
    let lock = observed.parameters.object_lock_enabled;
    if desired.object_lock_enabled.is_some() && desired.object_lock_enabled != lock {
        let message = "object lock can be chosen only at creation";
        return Err(immutable("/objectLockEnabled", message));
    }
    converge_and_read(&context, &observed, desired).await
}

pub(super) async fn delete(
    sessions: &Sessions,
    context: CallContext<'_>,
) -> Result<Outcome<Bucket>, Failure> {
    let session = match presence(sessions, &context).await? {
        Presence::Absent => return Ok(Outcome::already_done()),
        Presence::Inaccessible(error) => return Err(error.into()),
        Presence::Exists(session) => session,
    };
    let context = context.in_session(session);
    let name = context.external_name();
    let s3 = client(&context.session);
    let tags = read_tags(&s3, &context.requests, name).await?;
    context.check_not_foreign(&tags, format!("the bucket {name:?}"))?;
    let request = s3.delete_bucket().bucket(name).send();
    match context.requests.write("s3:DeleteBucket", request).await {
        Ok(_) => Ok(Outcome::completed()),
        Err(error) if error.has_code("NoSuchBucket") => Ok(Outcome::already_done()),
        Err(error) if error.has_code("BucketNotEmpty") => {
            let message = format!("the bucket {name:?} still holds objects or former versions: empty it");
            Err(error.into_failure(Failure::dependency_not_ready(message).reason("BucketNotEmpty")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Changes a bucket to the desired state, and reads it again for the outcome.
pub(super) async fn converge_and_read(
    context: &CallContext<'_>,
    observed: &ObservedBucket,
    desired: &BucketParameters,
) -> Result<Outcome<Bucket>, Failure> {
    converge(context, observed, desired).await?;
    let outcome = finish(async { Ok(Some(Observation::from(read(context).await?))) }).await;
    Ok(outcome.external_name(&observed.name))
}

/// Writes the marker first, so that the bucket is owned as early as can be; then every other setting that differs from the desired state.
pub(super) async fn converge(
    context: &CallContext<'_>,
    observed: &ObservedBucket,
    desired: &BucketParameters,
) -> Result<(), Failure> {
    let (s3, requests) = (&client(&context.session), &context.requests);
    let name = &observed.name;
    if !context
        .tag_change(&observed.tags, desired.tags.as_ref())
        .is_empty()
    {
        tags(
            s3,
            requests,
            name,
            &observed.tags,
            desired.tags.as_ref(),
            context.marker(),
        )
        .await?;
    }
    let current = &observed.parameters;
    if let Some(desired) = differing(desired.versioning.as_ref(), current.versioning.as_ref()) {
        versioning(s3, requests, name, desired).await?;
    }
    if let Some(desired) = &desired.encryption
        && !is_met(desired, current.encryption.as_ref())
    {
        let desired = desired.clone().merged_over(current.encryption.as_ref());
        encryption(s3, requests, name, &desired).await?;
    }
    if let Some(desired) = desired.public_access_block {
        let current = current.public_access_block.unwrap_or_default();
        let desired = desired.merged_over(current);
        if desired != current {
            public_access_block(s3, requests, name, desired).await?;
        }
    }
    if let Some(desired) = differing(
        desired.object_ownership.as_ref(),
        current.object_ownership.as_ref(),
    ) {
        object_ownership(s3, requests, name, desired).await?;
    }
    if let Some(desired) = differing(desired.policy.as_ref(), current.policy.as_ref())
        && !json_text::is_equal(desired, current.policy.as_deref().unwrap_or_default())
    {
        policy(s3, requests, name, desired).await?;
    }
    Ok(())
}

fn differing<'a>(desired: Option<&'a String>, observed: Option<&String>) -> Option<&'a String> {
    desired.filter(|desired| Some(*desired) != observed)
}

/// Whether the encryption is as desired; fields omitted from the desired state do not count.
fn is_met(desired: &Encryption, observed: Option<&Encryption>) -> bool {
    observed.is_some_and(|observed| {
        desired.algorithm == observed.algorithm
            && (desired.kms_key_id.is_none() || desired.kms_key_id == observed.kms_key_id)
            && (desired.bucket_key_enabled.is_none()
                || desired.bucket_key_enabled == observed.bucket_key_enabled)
    })
}

/// S3 replaces all tags at once; AWS's own among them must be sent back unchanged.
async fn tags(
    s3: &Client,
    requests: &Requests,
    name: &str,
    observed: &ObservedTags,
    desired: Option<&Tags>,
    marker: &str,
) -> Result<(), Failure> {
    let users = desired.cloned().unwrap_or_else(|| observed.of_user());
    let mut all = with_marker(Some(&users), marker);
    all.extend(observed.of_aws());
    let mut tagging = Tagging::builder().set_tag_set(Some(Vec::new()));
    for (key, value) in all {
        tagging = tagging.tag_set(Tag::builder().key(key).value(value).build()?);
    }
    let request = s3.put_bucket_tagging().bucket(name).tagging(tagging.build()?);
    requests.write("s3:PutBucketTagging", request.send()).await?;
    Ok(())
}

async fn versioning(s3: &Client, requests: &Requests, name: &str, desired: &str) -> Result<(), Failure> {
    let configuration = VersioningConfiguration::builder()
        .status(BucketVersioningStatus::from(desired))
        .build();
    let request = s3
        .put_bucket_versioning()
        .bucket(name)
        .versioning_configuration(configuration);
    requests.write("s3:PutBucketVersioning", request.send()).await?;
    Ok(())
}

async fn encryption(
    s3: &Client,
    requests: &Requests,
    name: &str,
    desired: &Encryption,
) -> Result<(), Failure> {
    let default = ServerSideEncryptionByDefault::builder()
        .sse_algorithm(ServerSideEncryption::from(desired.algorithm.as_str()))
        .set_kms_master_key_id(desired.kms_key_id.clone())
        .build()?;
    let rule = ServerSideEncryptionRule::builder()
        .apply_server_side_encryption_by_default(default)
        .set_bucket_key_enabled(desired.bucket_key_enabled)
        .build();
    let configuration = ServerSideEncryptionConfiguration::builder().rules(rule).build()?;
    let request = s3
        .put_bucket_encryption()
        .bucket(name)
        .server_side_encryption_configuration(configuration);
    requests
        .write("s3:PutEncryptionConfiguration", request.send())
        .await?;
    Ok(())
}

async fn public_access_block(
    s3: &Client,
    requests: &Requests,
    name: &str,
    desired: PublicAccessBlock,
) -> Result<(), Failure> {
    let configuration = PublicAccessBlockConfiguration::builder()
        .set_block_public_acls(desired.block_public_acls)
        .set_ignore_public_acls(desired.ignore_public_acls)
        .set_block_public_policy(desired.block_public_policy)
        .set_restrict_public_buckets(desired.restrict_public_buckets)
        .build();
    let request = s3
        .put_public_access_block()
        .bucket(name)
        .public_access_block_configuration(configuration);
    requests
        .write("s3:PutBucketPublicAccessBlock", request.send())
        .await?;
    Ok(())
}

async fn object_ownership(
    s3: &Client,
    requests: &Requests,
    name: &str,
    desired: &str,
) -> Result<(), Failure> {
    let rule = OwnershipControlsRule::builder()
        .object_ownership(ObjectOwnership::from(desired))
        .build()?;
    let controls = OwnershipControls::builder().rules(rule).build()?;
    let request = s3
        .put_bucket_ownership_controls()
        .bucket(name)
        .ownership_controls(controls);
    requests
        .write("s3:PutBucketOwnershipControls", request.send())
        .await?;
    Ok(())
}

async fn policy(s3: &Client, requests: &Requests, name: &str, desired: &str) -> Result<(), Failure> {
    if desired.is_empty() {
        requests
            .write(
                "s3:DeleteBucketPolicy",
                s3.delete_bucket_policy().bucket(name).send(),
            )
            .await?;
    } else {
        let request = s3.put_bucket_policy().bucket(name).policy(desired);
        requests.write("s3:PutBucketPolicy", request.send()).await?;
    }
    Ok(())
}
