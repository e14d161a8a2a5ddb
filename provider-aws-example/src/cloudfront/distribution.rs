//! The kind Distribution.

use std::sync::Arc;
use std::time::Duration;

use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{
    Call, Create, Delete, Example, ExternalName, Failure, Kind, Known, Observed, OperationVerb, Outcome,
    Poll, Resource, Update, async_trait,
};

use super::GROUP;
use super::model::{DistributionParameters, DistributionStatus};
use super::remove::Removal;
use super::work::{Found, Work};
use crate::handle::{Handle, NoDetails};
use crate::session::Sessions;
use crate::{CALL_TIMEOUT, VERSION};

/// AWS takes minutes, seldom more than a quarter of an hour.
const DEPLOYS_WITHIN: Duration = Duration::from_mins(30);

/// `CloudFront` distributions.
#[derive(Debug)]
pub(crate) struct Distribution {
    sessions: Arc<Sessions>,
}

impl Distribution {
    pub(crate) fn new(sessions: &Arc<Sessions>) -> Self {
        Self {
            sessions: Arc::clone(sessions),
        }
    }
}

#[async_trait]
impl Resource for Distribution {
    type Parameters = DistributionParameters;
    type Status = DistributionStatus;

    fn kind() -> Kind {
        let names = ExternalName::by_upstream("EDFDVBD632BHDS5")
            .pattern("[A-Z0-9]{8,32}")
            .max_length(32);
        Kind::new(GROUP, VERSION, "Distribution", names)
            .description("An Amazon CloudFront distribution. Before it is deleted it is disabled, which takes AWS some minutes.")
            .category("aws")
            .printer_column("STATUS", "string", ".status.atProvider.status")
            .printer_column("DOMAIN", "string", ".status.atProvider.domainName")
            .recover_by_token(Duration::MAX)
            .recover_by_marker()
            .consistency_window(Duration::from_secs(5))
            .visible_when_accepted()
            .concurrent_update()
            .delete_during_create()
            .case_insensitive("/httpVersion")
            .connection_key("domainName", "Domain name of the distribution")
            .connection_key("id", "Id of the distribution")
            .connection_key("arn", "ARN of the distribution")
            .call_timeout(CALL_TIMEOUT)
            .create_timeout(DEPLOYS_WITHIN)
            .update_timeout(DEPLOYS_WITHIN)
            .delete_timeout(DEPLOYS_WITHIN)
            .example(example())
    }

    async fn observe(
        &self,
        call: &Call,
        _desired: &Known<DistributionParameters>,
    ) -> Result<Observed<Self>, Failure> {
        let work = Work::begin(&self.sessions, call).await?;
        let name = &call.target.external_name;
        if !name.is_empty() {
            return Ok(match work.look(name).await? {
                Some(found) => work.observation(&found)?.into(),
                None => Observed::absent(),
            });
        }
        let ours = work.find().await?;
        let Some(oldest) = ours.first() else {
            return Ok(Observed::absent());
        };
        let observation = work.observation(oldest)?;
        if ours.len() == 1 {
            return Ok(observation.into());
        }
        let ids: Vec<&str> = ours.iter().map(Found::id).collect();
        let message = format!(
            "several distributions have this object's marker, of which the first counts: {}",
            ids.join(", ")
        );
        Ok(observation.warning("SeveralFound", message).into())
    }

    async fn create(
        &self,
        call: &Call,
        create: &Create<DistributionParameters>,
    ) -> Result<Outcome<Self>, Failure> {
        Work::begin(&self.sessions, call).await?.create(create).await
    }

    async fn update(
        &self,
        call: &Call,
        update: &Update<DistributionParameters>,
    ) -> Result<Outcome<Self>, Failure> {
        Work::begin(&self.sessions, call).await?.update(update).await
    }

    async fn delete(
        &self,
        call: &Call,
        delete: &Delete<DistributionParameters>,
    ) -> Result<Outcome<Self>, Failure> {
        let work = Work::begin(&self.sessions, call).await?;
        let id = &call.target.external_name;
        Ok(match work.remove(id, &delete.etag).await? {
            Removal::WasGone => Outcome::already_done(),
            Removal::Done => Outcome::completed(),
            Removal::UnderWay => work.removing(id),
        })
    }

    async fn poll(&self, call: &Call, poll: &Poll<DistributionParameters>) -> Result<Outcome<Self>, Failure> {
        let handle = Handle::<NoDetails>::read(&poll.handle, &call.target.external_name)?;
        let id = &handle.name;
        let work = Work::begin(&self.sessions, call).await?;
        if handle.verb() == OperationVerb::Delete {
            return Ok(match work.remove(id, "").await? {
                // The same answer at each poll, so no word on whether this one found something.
                Removal::WasGone | Removal::Done => Outcome::completed(),
                Removal::UnderWay => work.removing(id),
            });
        }
        let Some(found) = work.look(id).await? else {
            let message = format!("the distribution {id} was removed while AWS took it to its places");
            return Err(Failure::operation_failed(message).reason("Removed"));
        };
        work.check_ours(&found)?;
        work.progress(&found, handle.verb())
    }
}

fn example() -> Example {
    let bucket = json!({
        "id": "site",
        "domainName": "crossbridge-example.s3.eu-west-1.amazonaws.com",
        "s3Origin": {},
    });
    let default = json!({
        "targetOriginId": "site",
        "viewerProtocolPolicy": "redirect-to-https",
        "compress": true,
    });
    let create = json!({
        "comment": "crossbridge-example",
        "origins": [bucket],
        "defaultCacheBehavior": default,
        "defaultRootObject": "index.html",
        "priceClass": "PriceClass_100",
        "tags": { "team": "web" },
    });
    let update = json!({
        "comment": "crossbridge-example, with an API",
        "origins": [
            bucket,
            {
                "id": "api",
                "domainName": "api.example.org",
                "customOrigin": { "originProtocolPolicy": "https-only" },
            },
        ],
        "defaultCacheBehavior": default,
        "orderedCacheBehaviors": [{
            "pathPattern": "api/*",
            "targetOriginId": "api",
            "viewerProtocolPolicy": "https-only",
            "allowedMethods": ["GET", "HEAD", "OPTIONS", "PUT", "POST", "PATCH", "DELETE"],
        }],
        "customErrorResponses": [{ "errorCode": 404, "responseCode": 404, "responsePagePath": "/404.html" }],
        "defaultRootObject": "index.html",
        "priceClass": "PriceClass_All",
        "tags": { "team": "web", "tier": "gold" },
    });
    let invalid = json!({
        "origins": [bucket],
        "defaultCacheBehavior": { "targetOriginId": "nowhere", "viewerProtocolPolicy": "redirect-to-https" },
    });
    Example::new("bucket", &create).update(&update).invalid(&invalid)
}
