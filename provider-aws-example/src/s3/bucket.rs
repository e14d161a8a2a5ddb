//! The kind Bucket.

use std::sync::Arc;
use std::time::Duration;

use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{
    Call, Create, Delete, Effect, Example, ExternalName, Failure, FailureCode, Kind, Known, Observation,
    Observed, Outcome, Resource, Update, async_trait,
};

use super::look::{self, Found, Presence};
use super::model::{BucketParameters, BucketStatus};
use super::{GROUP, write};
use crate::ownership::{Owner, not_ours};
use crate::session::{Session, Sessions, region_of};
use crate::upstream::{Refusal, Steps};
use crate::{CALL_TIMEOUT, VERSION};

/// S3 buckets.
#[derive(Debug)]
pub(crate) struct Bucket {
    sessions: Arc<Sessions>,
}

impl Bucket {
    pub(crate) fn new(sessions: &Arc<Sessions>) -> Self {
        Self {
            sessions: Arc::clone(sessions),
        }
    }

    async fn session(&self, call: &Call, wish: &BucketParameters) -> Result<Arc<Session>, Failure> {
        self.sessions.regional(&call.config, wish.region.as_deref()).await
    }

    async fn presence(
        &self,
        call: &Call,
        session: &Arc<Session>,
        steps: &Steps,
    ) -> Result<Presence, Failure> {
        look::presence(
            &self.sessions,
            &call.config,
            session,
            steps,
            &call.target.external_name,
        )
        .await
    }

    /// Brings a bucket to the wish, and reads it once more to tell how it is now.
    async fn finish(
        session: &Session,
        steps: &Steps,
        call: &Call,
        found: &Found,
        wish: &BucketParameters,
    ) -> Result<Outcome<Self>, Failure> {
        write::converge(session.s3(), steps, found, wish, &call.target.ownership_marker).await?;
        // The work is done, whether or not it can be looked at.
        match look::read(session, steps, &found.name).await {
            Ok(found) => Ok(Outcome::observed(Observation::from(found))),
            Err(_) => Ok(Outcome::completed().external_name(&found.name)),
        }
    }
}

#[async_trait]
impl Resource for Bucket {
    type Parameters = BucketParameters;
    type Status = BucketStatus;

    fn kind() -> Kind {
        let names = ExternalName::by_user("my-bucket")
            .pattern("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
            .max_length(63);
        Kind::new(GROUP, VERSION, "Bucket", names)
            .description("An Amazon S3 bucket. It is deleted only when it is empty.")
            .category("aws")
            .printer_column("REGION", "string", ".status.atProvider.region")
            .recover_by_name()
            .holds_marker()
            .consistency_window(Duration::from_secs(5))
            .visible_when_accepted()
            .immutable("/region")
            .immutable("/objectLockEnabled")
            .json_text("/policy")
            .connection_key("endpoint", "Domain name of the bucket in its region")
            .connection_key("region", "AWS region of the bucket")
            .connection_key("arn", "ARN of the bucket")
            .call_timeout(CALL_TIMEOUT)
            .example(
                Example::new(
                    "simple",
                    &json!({
                        "region": "eu-west-1",
                        "tags": { "team": "storage" },
                        "versioning": "Enabled",
                        "encryption": { "algorithm": "AES256" },
                        "publicAccessBlock": {
                            "blockPublicAcls": true,
                            "blockPublicPolicy": true,
                            "ignorePublicAcls": true,
                            "restrictPublicBuckets": true,
                        },
                    }),
                )
                .external_name("crossbridge-example")
                .update(&json!({
                    "region": "eu-west-1",
                    "tags": { "team": "storage", "cost-center": "4711" },
                    "versioning": "Suspended",
                    "encryption": { "algorithm": "aws:kms", "bucketKeyEnabled": true },
                    "publicAccessBlock": { "blockPublicAcls": false },
                }))
                .invalid(&json!({
                    "region": "eu-west-1",
                    "encryption": { "algorithm": "AES256", "kmsKeyId": "alias/mine" },
                })),
            )
    }

    async fn observe(
        &self,
        call: &Call,
        desired: &Known<BucketParameters>,
    ) -> Result<Observed<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let session = self
            .sessions
            .regional(&call.config, region_of(&desired.json))
            .await?;
        match self.presence(call, &session, &steps).await? {
            Presence::Absent => Ok(Observed::absent()),
            Presence::Closed(refusal) => Err(refusal.into()),
            Presence::There(session) => {
                let found = look::read(&session, &steps, &call.target.external_name).await?;
                Ok(Observation::from(found).into())
            }
        }
    }

    async fn create(&self, call: &Call, create: &Create<BucketParameters>) -> Result<Outcome<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let wish = &create.desired.parameters;
        wish.check()?;
        let name = &call.target.external_name;
        let session = self.session(call, wish).await?;
        // In us-east-1 AWS lets one create one's own bucket again, so AWS cannot be asked by creating.
        match self.presence(call, &session, &steps).await? {
            Presence::Absent => {}
            Presence::Closed(refusal) => return Err(taken(refusal, name)),
            Presence::There(there) => {
                let found = look::read(&there, &steps, name).await?;
                // Our own earlier request makes the bucket where it is wished for, and marks it after that.
                let may_be_ours =
                    there.region == session.region && found.tags.owner(&call.target) != Owner::Another;
                if !create.outcome_unknown || !may_be_ours {
                    return Err(exists(name));
                }
                call.record_name(name);
                write::converge(there.s3(), &steps, &found, wish, &call.target.ownership_marker).await?;
                return Ok(Outcome::already_done()
                    .external_name(name)
                    .canonical_id(found.status.arn));
            }
        }
        write::create(session.s3(), &steps, name, &session.region, wish)
            .await
            .map_err(|refusal| {
                if refusal.is_any(&["BucketAlreadyExists", "BucketAlreadyOwnedByYou"]) {
                    taken(refusal, name)
                } else {
                    refusal.into()
                }
            })?;
        let found = match look::read(&session, &steps, name).await {
            Ok(found) => found,
            Err(failure) => {
                call.record_name(name);
                return Err(not_seen_yet(failure, name));
            }
        };
        // In us-east-1 one's own bucket can be made again: somebody else was faster, and has marked it.
        if found.tags.owner(&call.target) == Owner::Another {
            return Err(exists(name));
        }
        call.record_name(name);
        Self::finish(&session, &steps, call, &found, wish)
            .await
            .map_err(|failure| not_seen_yet(failure, name))
    }

    async fn update(&self, call: &Call, update: &Update<BucketParameters>) -> Result<Outcome<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let wish = &update.desired.parameters;
        wish.check()?;
        let name = &call.target.external_name;
        let session = self.session(call, wish).await?;
        let there = match self.presence(call, &session, &steps).await? {
            Presence::Absent => return Err(Failure::not_found(format!("there is no bucket {name:?}"))),
            Presence::Closed(refusal) => return Err(refusal.into()),
            Presence::There(session) => session,
        };
        if there.region != session.region {
            let message = format!("the bucket is in {}, and buckets do not move", there.region);
            return Err(Failure::immutable_field(message.clone()).violation("/region", message));
        }
        let found = look::read(&session, &steps, name).await?;
        if found.tags.owner(&call.target) == Owner::Another {
            return Err(not_ours(&format!("the bucket {name:?}")));
        }
        let lock = found.parameters.object_lock_enabled;
        if wish.object_lock_enabled.is_some() && wish.object_lock_enabled != lock {
            let message = "object lock is decided when a bucket is made";
            return Err(Failure::immutable_field(message).violation("/objectLockEnabled", message));
        }
        Self::finish(&session, &steps, call, &found, wish).await
    }

    async fn delete(&self, call: &Call, delete: &Delete<BucketParameters>) -> Result<Outcome<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let name = &call.target.external_name;
        let session = self
            .sessions
            .regional(&call.config, region_of(&delete.desired.json))
            .await?;
        let session = match self.presence(call, &session, &steps).await? {
            Presence::Absent => return Ok(Outcome::already_done()),
            Presence::Closed(refusal) => return Err(refusal.into()),
            Presence::There(session) => session,
        };
        if look::tags(session.s3(), &steps, name).await?.owner(&call.target) == Owner::Another {
            return Err(not_ours(&format!("the bucket {name:?}")));
        }
        match steps
            .change(
                "s3:DeleteBucket",
                session.s3().delete_bucket().bucket(name).send(),
            )
            .await
        {
            Ok(_) => Ok(Outcome::completed()),
            Err(refusal) if refusal.is("NoSuchBucket") => Ok(Outcome::already_done()),
            Err(refusal) if refusal.is("BucketNotEmpty") => {
                let message = format!("the bucket {name:?} still holds objects or former versions: empty it");
                Err(refusal.told_as(Failure::dependency_not_ready(message).reason("BucketNotEmpty")))
            }
            Err(refusal) => Err(refusal.into()),
        }
    }
}

fn exists(name: &str) -> Failure {
    Failure::already_exists(
        name,
        format!("the bucket {name:?} exists already in this account"),
    )
}

/// A new bucket is not known everywhere at once: that is no absence.
fn not_seen_yet(failure: Failure, name: &str) -> Failure {
    if failure.code() != Some(FailureCode::NotFound) {
        return failure;
    }
    let message = format!("the bucket {name:?} was made, and S3 does not show it yet");
    Failure::conflict(message)
        .reason("NotSeenYet")
        .effect(Effect::Partial)
}

fn taken(refusal: Refusal, name: &str) -> Failure {
    let message = format!(
        "the bucket name {name:?} is taken: by another account, or by a bucket that these credentials may not look at; choose another"
    );
    refusal.told_as(Failure::already_exists(name, message))
}
