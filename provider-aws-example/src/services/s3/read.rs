//! Reading a bucket: one request for each of its settings, all at once.

use std::sync::Arc;

use aws_sdk_s3::Client;
use aws_sdk_s3::types::BucketLocationConstraint;
use crossbridge_sdk::{Failure, Observation, Observed};

use super::kind::Bucket;
use super::model::{BucketParameters, BucketStatus, Encryption, PublicAccessBlock};
use crate::api::{ApiError, ErrorClass, Requests};
use crate::context::CallContext;
use crate::session::{Session, Sessions};
use crate::tags::ObservedTags;

/// Whether a bucket exists, and in which region.
#[derive(Debug)]
pub(super) enum Presence {
    /// No account has a bucket of this name.
    Absent,
    /// It exists and can be read, in the region of this session.
    Exists(Arc<Session>),
    /// It exists and cannot be read: it is another account's, or permissions are missing.
    Inaccessible(ApiError),
}

/// A bucket as AWS reports it.
#[derive(Debug)]
pub(super) struct ObservedBucket {
    pub(super) name: String,
    pub(super) tags: ObservedTags,
    pub(super) parameters: BucketParameters,
    pub(super) status: BucketStatus,
}

pub(super) fn client(session: &Session) -> Client {
    session.client(|sdk| {
        let path_style = session.settings.s3_use_path_style.unwrap_or(false);
        let config = aws_sdk_s3::config::Builder::from(sdk).force_path_style(path_style);
        Client::from_conf(config.build())
    })
}

pub(super) async fn observe(
    sessions: &Sessions,
    context: CallContext<'_>,
) -> Result<Observed<Bucket>, Failure> {
    match presence(sessions, &context).await? {
        Presence::Absent => Ok(Observed::absent()),
        Presence::Inaccessible(error) => Err(error.into()),
        Presence::Exists(session) => {
            let observed = read(&context.in_session(session)).await?;
            Ok(Observation::from(observed).into())
        }
    }
}

/// Asks for the bucket of the external name in the region of the context, and in the region that S3 redirects to.
pub(super) async fn presence(sessions: &Sessions, context: &CallContext<'_>) -> Result<Presence, Failure> {
    let (session, requests) = (&context.session, &context.requests);
    let name = context.external_name();
    let Err(error) = head(session, requests, name).await else {
        return Ok(Presence::Exists(Arc::clone(session)));
    };
    match (error.status(), error.bucket_region()) {
        // S3 names the region of the bucket in its response.
        (Some(301 | 400), Some(region)) if region != session.region => {
            let session = sessions.regional(&context.call.config, Some(region)).await?;
            match head(&session, requests, name).await {
                Ok(()) => Ok(Presence::Exists(session)),
                Err(error) => presence_after(error, &session, requests, name).await,
            }
        }
        (Some(_), _) => presence_after(error, session, requests, name).await,
        (None, _) => Err(error.into()),
    }
}

async fn head(session: &Session, requests: &Requests, name: &str) -> Result<(), ApiError> {
    let request = client(session).head_bucket().bucket(name).send();
    requests.read("s3:ListBucket", request).await.map(drop)
}

/// Responses to HEAD have no body, thus no error code, and a 404 may come from a proxy: another request finds out the reason.
async fn presence_after(
    error: ApiError,
    session: &Arc<Session>,
    requests: &Requests,
    name: &str,
) -> Result<Presence, Failure> {
    match tags(&client(session), requests, name).await {
        // It has been created between the two requests.
        Ok(_) if error.class() == ErrorClass::NotFound => Ok(Presence::Exists(Arc::clone(session))),
        Ok(_) if error.class() == ErrorClass::PermissionDenied => Ok(Presence::Inaccessible(error)),
        Ok(_) => Err(error.into()),
        Err(reason) if reason.has_code("NoSuchBucket") => Ok(Presence::Absent),
        Err(reason) if reason.class() == ErrorClass::PermissionDenied => Ok(Presence::Inaccessible(reason)),
        Err(reason) => Err(reason.into()),
    }
}

/// Reads every setting of a bucket that exists.
pub(super) async fn read(context: &CallContext<'_>) -> Result<ObservedBucket, Failure> {
    let (session, requests) = (&context.session, &context.requests);
    let name = context.external_name();
    let s3 = &client(session);
    let (tags, versioning, encryption, public_access_block, object_ownership, object_lock_enabled, policy) =
        tokio::try_join!(
            tags(s3, requests, name),
            versioning(s3, requests, name),
            encryption(s3, requests, name),
            public_access_block(s3, requests, name),
            object_ownership(s3, requests, name),
            object_lock_enabled(s3, requests, name),
            policy(s3, requests, name),
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
    Ok(ObservedBucket {
        name: name.to_owned(),
        tags,
        parameters,
        status,
    })
}

impl From<ObservedBucket> for Observation<Bucket> {
    fn from(observed: ObservedBucket) -> Self {
        let ObservedBucket {
            name,
            tags,
            parameters,
            status,
        } = observed;
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

/// The response; `None` where AWS reports with `code` that the setting was never set.
fn if_set<T>(response: Result<T, ApiError>, code: &str) -> Result<Option<T>, ApiError> {
    match response {
        Ok(response) => Ok(Some(response)),
        Err(error) if error.has_code(code) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) async fn tags(s3: &Client, requests: &Requests, name: &str) -> Result<ObservedTags, ApiError> {
    let response = requests
        .read("s3:GetBucketTagging", s3.get_bucket_tagging().bucket(name).send())
        .await;
    let response = if_set(response, "NoSuchTagSet")?;
    Ok(response
        .map(|response| {
            response
                .tag_set
                .into_iter()
                .map(|tag| (tag.key, tag.value))
                .collect()
        })
        .unwrap_or_default())
}

async fn versioning(s3: &Client, requests: &Requests, name: &str) -> Result<Option<String>, ApiError> {
    let response = requests
        .read(
            "s3:GetBucketVersioning",
            s3.get_bucket_versioning().bucket(name).send(),
        )
        .await?;
    Ok(response.status.map(|status| status.as_str().to_owned()))
}

async fn encryption(s3: &Client, requests: &Requests, name: &str) -> Result<Option<Encryption>, ApiError> {
    let response = requests
        .read(
            "s3:GetEncryptionConfiguration",
            s3.get_bucket_encryption().bucket(name).send(),
        )
        .await;
    let response = if_set(response, "ServerSideEncryptionConfigurationNotFoundError")?;
    let rule = response
        .and_then(|response| response.server_side_encryption_configuration)
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

async fn public_access_block(
    s3: &Client,
    requests: &Requests,
    name: &str,
) -> Result<PublicAccessBlock, ApiError> {
    let request = s3.get_public_access_block().bucket(name).send();
    let response = requests.read("s3:GetBucketPublicAccessBlock", request).await;
    let response = if_set(response, "NoSuchPublicAccessBlockConfiguration")?
        .and_then(|response| response.public_access_block_configuration);
    let or_false = |flag: Option<bool>| Some(flag.unwrap_or(false));
    Ok(PublicAccessBlock {
        block_public_acls: or_false(response.as_ref().and_then(|response| response.block_public_acls)),
        ignore_public_acls: or_false(response.as_ref().and_then(|response| response.ignore_public_acls)),
        block_public_policy: or_false(
            response
                .as_ref()
                .and_then(|response| response.block_public_policy),
        ),
        restrict_public_buckets: or_false(
            response
                .as_ref()
                .and_then(|response| response.restrict_public_buckets),
        ),
    })
}

async fn object_ownership(s3: &Client, requests: &Requests, name: &str) -> Result<Option<String>, ApiError> {
    let request = s3.get_bucket_ownership_controls().bucket(name).send();
    let response = requests.read("s3:GetBucketOwnershipControls", request).await;
    let rules = if_set(response, "OwnershipControlsNotFoundError")?
        .and_then(|response| response.ownership_controls)
        .map(|controls| controls.rules)
        .unwrap_or_default();
    Ok(rules
        .into_iter()
        .next()
        .map(|rule| rule.object_ownership.as_str().to_owned()))
}

async fn object_lock_enabled(s3: &Client, requests: &Requests, name: &str) -> Result<bool, ApiError> {
    let request = s3.get_object_lock_configuration().bucket(name).send();
    let response = requests
        .read("s3:GetBucketObjectLockConfiguration", request)
        .await;
    let response = if_set(response, "ObjectLockConfigurationNotFoundError")?;
    Ok(response
        .and_then(|response| response.object_lock_configuration)
        .is_some_and(|lock| lock.object_lock_enabled.is_some()))
}

async fn policy(s3: &Client, requests: &Requests, name: &str) -> Result<String, ApiError> {
    let response = requests
        .read("s3:GetBucketPolicy", s3.get_bucket_policy().bucket(name).send())
        .await;
    Ok(if_set(response, "NoSuchBucketPolicy")?
        .and_then(|response| response.policy)
        .unwrap_or_default())
}

/// The location of a new bucket in this region; S3 accepts none for us-east-1.
pub(super) fn location(region: &str) -> Option<BucketLocationConstraint> {
    (region != "us-east-1").then(|| BucketLocationConstraint::from(region))
}
