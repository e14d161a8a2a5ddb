//! The kind Distribution: its definition.

use std::sync::Arc;
use std::time::Duration;

use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{Example, ExternalName, Kind};

use crate::definition;
use crate::session::Sessions;

const GROUP: &str = "cloudfront.aws.crossbridge.dev";

/// AWS takes minutes, seldom more than a quarter of an hour.
const DEPLOYMENT_TIMEOUT: Duration = Duration::from_mins(30);

/// Handles the calls about CloudFront distributions.
#[derive(Debug)]
pub(crate) struct Distribution {
    pub(super) sessions: Arc<Sessions>,
}

impl Distribution {
    pub(crate) fn new(sessions: &Arc<Sessions>) -> Self {
        Self {
            sessions: Arc::clone(sessions),
        }
    }
}

/// What the plugin publishes of the kind.
pub(super) fn definition() -> Kind {
    let names = ExternalName::by_upstream("EDFDVBD632BHDS5")
        .pattern("[A-Z0-9]{8,32}")
        .max_length(32);
    definition::kind(GROUP, "Distribution", names)
        .description("An Amazon CloudFront distribution. Before it is deleted it is disabled, which takes AWS some minutes.")
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
        .create_timeout(DEPLOYMENT_TIMEOUT)
        .update_timeout(DEPLOYMENT_TIMEOUT)
        .delete_timeout(DEPLOYMENT_TIMEOUT)
        .example(example())
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
