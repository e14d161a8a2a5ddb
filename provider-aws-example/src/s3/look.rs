//! Reading a bucket: one request per aspect, all at once.

use std::sync::Arc;

use aws_sdk_s3::Client;
use aws_sdk_s3::types::BucketLocationConstraint;
use crossbridge_sdk::{Config, Failure, Observation};

use super::bucket::Bucket;
use super::model::{BucketParameters, BucketStatus, Encryption, PublicAccessBlock};
use crate::ownership::FoundTags;
use crate::session::{Session, Sessions};
use crate::upstream::{Class, Refusal, Steps};

/// Whether there is a bucket, and where.
#[derive(Debug)]
pub(super) enum Presence {
    /// There is none of this name in the world.
    Absent,
    /// There is one that we may look at, in this session's region.
    There(Arc<Session>),
    /// There is one that we may not look at: another account's, or our permissions are too narrow.
    Closed(Refusal),
}

/// A bucket as it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) tags: FoundTags,
    pub(super) parameters: BucketParameters,
    pub(super) status: BucketStatus,
}

/// Looks for a bucket, and follows it to another region.
pub(super) async fn presence(
    sessions: &Sessions,
    config: &Config,
    session: &Arc<Session>,
    steps: &Steps,
    name: &str,
) -> Result<Presence, Failure> {
    let Err(refusal) = head(session, steps, name).await else {
        return Ok(Presence::There(Arc::clone(session)));
    };
    match (refusal.status(), refusal.bucket_region()) {
        // Answered in the region that was asked, with the region to ask.
        (Some(301 | 400), Some(region)) if region != session.region => {
            let there = sessions.regional(config, Some(region)).await?;
            match head(&there, steps, name).await {
                Ok(()) => Ok(Presence::There(there)),
                Err(refusal) => reason(&there, steps, name, refusal).await,
            }
        }
        (Some(_), _) => reason(session, steps, name, refusal).await,
        (None, _) => Err(refusal.into()),
    }
}

async fn head(session: &Session, steps: &Steps, name: &str) -> Result<(), Refusal> {
    steps
        .read("s3:ListBucket", session.s3().head_bucket().bucket(name).send())
        .await
        .map(drop)
}

/// HTTP has no body for an answer to HEAD, so the reason is not told, and a 404 may be a proxy's: ask something else for it.
async fn reason(
    session: &Arc<Session>,
    steps: &Steps,
    name: &str,
    refusal: Refusal,
) -> Result<Presence, Failure> {
    match tags(session.s3(), steps, name).await {
        // It has come into being just now.
        Ok(_) if refusal.class() == Class::NotFound => Ok(Presence::There(Arc::clone(session))),
        Ok(_) if refusal.class() == Class::PermissionDenied => Ok(Presence::Closed(refusal)),
        Ok(_) => Err(refusal.into()),
        Err(reason) if reason.is("NoSuchBucket") => Ok(Presence::Absent),
        Err(reason) if reason.class() == Class::PermissionDenied => Ok(Presence::Closed(reason)),
        Err(reason) => Err(reason.into()),
    }
}

/// Reads everything of a bucket that is there.
pub(super) async fn read(session: &Session, steps: &Steps, name: &str) -> Result<Found, Failure> {
    let s3 = session.s3();
    let (tags, versioning, encryption, public_access_block, object_ownership, object_lock_enabled, policy) =
        tokio::try_join!(
            tags(s3, steps, name),
            versioning(s3, steps, name),
            encryption(s3, steps, name),
            public_access_block(s3, steps, name),
            object_ownership(s3, steps, name),
            object_lock_enabled(s3, steps, name),
            policy(s3, steps, name),
        )?;
    let parameters = BucketParameters {
        region: Some(session.region.clone()),
        tags: Some(tags.of_user()),
        versioning,
        encryption,
        public_access_block: Some(public_access_block),
        object_ownership,
        object_lock_enabled: Some(object_lock_enabled),
        policy: Some(policy),
    };
    let partition = session.partition();
    let status = BucketStatus {
        arn: format!("arn:{}:s3:::{name}", partition.name),
        region: session.region.clone(),
        domain_name: format!("{name}.s3.{}", partition.domain),
        regional_domain_name: format!("{name}.s3.{}.{}", session.region, partition.domain),
    };
    Ok(Found {
        name: name.to_owned(),
        tags,
        parameters,
        status,
    })
}

impl From<Found> for Observation<Bucket> {
    fn from(found: Found) -> Self {
        let Found {
            name,
            tags,
            parameters,
            status,
        } = found;
        Self::new(name, parameters)
            .ready()
            .canonical_id(&status.arn)
            .found_marker(tags.marker())
            .connection("endpoint", status.regional_domain_name.as_bytes())
            .connection("region", status.region.as_bytes())
            .connection("arn", status.arn.as_bytes())
            .status(status)
    }
}

/// `None` where AWS says that this aspect was never set.
fn unless_unset<T>(answer: Result<T, Refusal>, code: &str) -> Result<Option<T>, Refusal> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(refusal) if refusal.is(code) => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

pub(super) async fn tags(s3: &Client, steps: &Steps, name: &str) -> Result<FoundTags, Refusal> {
    let answer = steps
        .read("s3:GetBucketTagging", s3.get_bucket_tagging().bucket(name).send())
        .await;
    let found = unless_unset(answer, "NoSuchTagSet")?;
    Ok(found
        .map(|found| {
            found
                .tag_set
                .into_iter()
                .map(|tag| (tag.key, tag.value))
                .collect()
        })
        .unwrap_or_default())
}

async fn versioning(s3: &Client, steps: &Steps, name: &str) -> Result<Option<String>, Refusal> {
    let found = steps
        .read(
            "s3:GetBucketVersioning",
            s3.get_bucket_versioning().bucket(name).send(),
        )
        .await?;
    Ok(found.status.map(|status| status.as_str().to_owned()))
}

async fn encryption(s3: &Client, steps: &Steps, name: &str) -> Result<Option<Encryption>, Refusal> {
    let answer = steps
        .read(
            "s3:GetEncryptionConfiguration",
            s3.get_bucket_encryption().bucket(name).send(),
        )
        .await;
    let found = unless_unset(answer, "ServerSideEncryptionConfigurationNotFoundError")?;
    let rule = found
        .and_then(|found| found.server_side_encryption_configuration)
        .and_then(|configuration| configuration.rules.into_iter().next());
    Ok(rule.and_then(|rule| {
        let default = rule.apply_server_side_encryption_by_default?;
        Some(Encryption {
            algorithm: default.sse_algorithm.as_str().to_owned(),
            kms_key_id: default.kms_master_key_id,
            bucket_key_enabled: Some(rule.bucket_key_enabled.unwrap_or(false)),
        })
    }))
}

async fn public_access_block(s3: &Client, steps: &Steps, name: &str) -> Result<PublicAccessBlock, Refusal> {
    let request = s3.get_public_access_block().bucket(name).send();
    let answer = steps.read("s3:GetBucketPublicAccessBlock", request).await;
    let found = unless_unset(answer, "NoSuchPublicAccessBlockConfiguration")?
        .and_then(|found| found.public_access_block_configuration);
    let says = |flag: Option<bool>| Some(flag.unwrap_or(false));
    Ok(PublicAccessBlock {
        block_public_acls: says(found.as_ref().and_then(|found| found.block_public_acls)),
        ignore_public_acls: says(found.as_ref().and_then(|found| found.ignore_public_acls)),
        block_public_policy: says(found.as_ref().and_then(|found| found.block_public_policy)),
        restrict_public_buckets: says(found.as_ref().and_then(|found| found.restrict_public_buckets)),
    })
}

async fn object_ownership(s3: &Client, steps: &Steps, name: &str) -> Result<Option<String>, Refusal> {
    let request = s3.get_bucket_ownership_controls().bucket(name).send();
    let answer = steps.read("s3:GetBucketOwnershipControls", request).await;
    let rules = unless_unset(answer, "OwnershipControlsNotFoundError")?
        .and_then(|found| found.ownership_controls)
        .map(|controls| controls.rules)
        .unwrap_or_default();
    Ok(rules
        .into_iter()
        .next()
        .map(|rule| rule.object_ownership.as_str().to_owned()))
}

async fn object_lock_enabled(s3: &Client, steps: &Steps, name: &str) -> Result<bool, Refusal> {
    let request = s3.get_object_lock_configuration().bucket(name).send();
    let answer = steps.read("s3:GetBucketObjectLockConfiguration", request).await;
    let found = unless_unset(answer, "ObjectLockConfigurationNotFoundError")?;
    Ok(found
        .and_then(|found| found.object_lock_configuration)
        .is_some_and(|lock| lock.object_lock_enabled.is_some()))
}

async fn policy(s3: &Client, steps: &Steps, name: &str) -> Result<String, Refusal> {
    let answer = steps
        .read("s3:GetBucketPolicy", s3.get_bucket_policy().bucket(name).send())
        .await;
    Ok(unless_unset(answer, "NoSuchBucketPolicy")?
        .and_then(|found| found.policy)
        .unwrap_or_default())
}

/// us-east-1 is the one region that must not be named.
pub(super) fn location(region: &str) -> Option<BucketLocationConstraint> {
    (region != "us-east-1").then(|| BucketLocationConstraint::from(region))
}
