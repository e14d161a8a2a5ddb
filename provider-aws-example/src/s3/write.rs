//! Changing a bucket, aspect by aspect.

use aws_sdk_s3::Client;
use aws_sdk_s3::types::{
    BucketVersioningStatus, CreateBucketConfiguration, ObjectOwnership, OwnershipControls,
    OwnershipControlsRule, PublicAccessBlockConfiguration, ServerSideEncryption,
    ServerSideEncryptionByDefault, ServerSideEncryptionConfiguration, ServerSideEncryptionRule, Tag, Tagging,
    VersioningConfiguration,
};
use crossbridge_sdk::Failure;

use super::look::{Found, location};
use super::model::{BucketParameters, Encryption, PublicAccessBlock};
use crate::ownership::{FoundTags, Tags};
use crate::upstream::{Refusal, Steps};

/// Makes an empty bucket, with what can be said only then.
pub(super) async fn create(
    s3: &Client,
    steps: &Steps,
    name: &str,
    region: &str,
    wish: &BucketParameters,
) -> Result<(), Refusal> {
    let configuration = location(region).map(|location| {
        CreateBucketConfiguration::builder()
            .location_constraint(location)
            .build()
    });
    let request = s3
        .create_bucket()
        .bucket(name)
        .set_create_bucket_configuration(configuration)
        .set_object_lock_enabled_for_bucket(wish.object_lock_enabled)
        .set_object_ownership(wish.object_ownership.as_deref().map(ObjectOwnership::from));
    steps.change("s3:CreateBucket", request.send()).await.map(drop)
}

/// Puts the marker first, so that the bucket is ours as early as can be; then every other aspect that differs from the wish.
pub(super) async fn converge(
    s3: &Client,
    steps: &Steps,
    found: &Found,
    wish: &BucketParameters,
    marker: &str,
) -> Result<(), Failure> {
    let name = &found.name;
    if !found.tags.change(wish.tags.as_ref(), marker).is_empty() {
        tags(s3, steps, name, &found.tags, wish.tags.as_ref(), marker).await?;
    }
    let there = &found.parameters;
    if let Some(wished) = differing(wish.versioning.as_ref(), there.versioning.as_ref()) {
        versioning(s3, steps, name, wished).await?;
    }
    if let Some(wished) = &wish.encryption
        && !is_met(wished, there.encryption.as_ref())
    {
        let wished = wished.clone().over(there.encryption.as_ref());
        encryption(s3, steps, name, &wished).await?;
    }
    if let Some(wished) = wish.public_access_block {
        let there = there.public_access_block.unwrap_or_default();
        let wished = wished.over(there);
        if wished != there {
            public_access_block(s3, steps, name, wished).await?;
        }
    }
    if let Some(wished) = differing(wish.object_ownership.as_ref(), there.object_ownership.as_ref()) {
        object_ownership(s3, steps, name, wished).await?;
    }
    if let Some(wished) = differing(wish.policy.as_ref(), there.policy.as_ref())
        && !crate::json_text::same(wished, there.policy.as_deref().unwrap_or_default())
    {
        policy(s3, steps, name, wished).await?;
    }
    Ok(())
}

fn differing<'a>(wish: Option<&'a String>, there: Option<&String>) -> Option<&'a String> {
    wish.filter(|wish| Some(*wish) != there)
}

/// What is left out of the wish may be as it likes.
fn is_met(wish: &Encryption, there: Option<&Encryption>) -> bool {
    there.is_some_and(|there| {
        wish.algorithm == there.algorithm
            && (wish.kms_key_id.is_none() || wish.kms_key_id == there.kms_key_id)
            && (wish.bucket_key_enabled.is_none() || wish.bucket_key_enabled == there.bucket_key_enabled)
    })
}

/// S3 replaces all tags at once, and wants AWS's own among them left as they are.
async fn tags(
    s3: &Client,
    steps: &Steps,
    name: &str,
    found: &FoundTags,
    wish: Option<&Tags>,
    marker: &str,
) -> Result<(), Failure> {
    let users = wish.cloned().unwrap_or_else(|| found.of_user());
    let mut all = crate::ownership::wanted(Some(&users), marker);
    all.extend(found.of_aws());
    let mut tagging = Tagging::builder().set_tag_set(Some(Vec::new()));
    for (key, value) in all {
        tagging = tagging.tag_set(Tag::builder().key(key).value(value).build()?);
    }
    let request = s3.put_bucket_tagging().bucket(name).tagging(tagging.build()?);
    steps.change("s3:PutBucketTagging", request.send()).await?;
    Ok(())
}

async fn versioning(s3: &Client, steps: &Steps, name: &str, wish: &str) -> Result<(), Failure> {
    let configuration = VersioningConfiguration::builder()
        .status(BucketVersioningStatus::from(wish))
        .build();
    let request = s3
        .put_bucket_versioning()
        .bucket(name)
        .versioning_configuration(configuration);
    steps.change("s3:PutBucketVersioning", request.send()).await?;
    Ok(())
}

async fn encryption(s3: &Client, steps: &Steps, name: &str, wish: &Encryption) -> Result<(), Failure> {
    let default = ServerSideEncryptionByDefault::builder()
        .sse_algorithm(ServerSideEncryption::from(wish.algorithm.as_str()))
        .set_kms_master_key_id(wish.kms_key_id.clone())
        .build()?;
    let rule = ServerSideEncryptionRule::builder()
        .apply_server_side_encryption_by_default(default)
        .set_bucket_key_enabled(wish.bucket_key_enabled)
        .build();
    let configuration = ServerSideEncryptionConfiguration::builder().rules(rule).build()?;
    let request = s3
        .put_bucket_encryption()
        .bucket(name)
        .server_side_encryption_configuration(configuration);
    steps
        .change("s3:PutEncryptionConfiguration", request.send())
        .await?;
    Ok(())
}

async fn public_access_block(
    s3: &Client,
    steps: &Steps,
    name: &str,
    wish: PublicAccessBlock,
) -> Result<(), Failure> {
    let configuration = PublicAccessBlockConfiguration::builder()
        .set_block_public_acls(wish.block_public_acls)
        .set_ignore_public_acls(wish.ignore_public_acls)
        .set_block_public_policy(wish.block_public_policy)
        .set_restrict_public_buckets(wish.restrict_public_buckets)
        .build();
    let request = s3
        .put_public_access_block()
        .bucket(name)
        .public_access_block_configuration(configuration);
    steps
        .change("s3:PutBucketPublicAccessBlock", request.send())
        .await?;
    Ok(())
}

async fn object_ownership(s3: &Client, steps: &Steps, name: &str, wish: &str) -> Result<(), Failure> {
    let rule = OwnershipControlsRule::builder()
        .object_ownership(ObjectOwnership::from(wish))
        .build()?;
    let controls = OwnershipControls::builder().rules(rule).build()?;
    let request = s3
        .put_bucket_ownership_controls()
        .bucket(name)
        .ownership_controls(controls);
    steps
        .change("s3:PutBucketOwnershipControls", request.send())
        .await?;
    Ok(())
}

async fn policy(s3: &Client, steps: &Steps, name: &str, wish: &str) -> Result<(), Failure> {
    if wish.is_empty() {
        steps
            .change(
                "s3:DeleteBucketPolicy",
                s3.delete_bucket_policy().bucket(name).send(),
            )
            .await?;
    } else {
        let request = s3.put_bucket_policy().bucket(name).policy(wish);
        steps.change("s3:PutBucketPolicy", request.send()).await?;
    }
    Ok(())
}
