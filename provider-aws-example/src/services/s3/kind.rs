//! The kind Bucket: its definition.

use std::sync::Arc;
use std::time::Duration;

use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{Example, ExternalName, Kind};

use crate::definition;
use crate::session::Sessions;

const GROUP: &str = "s3.aws.crossbridge.dev";

/// Handles the calls about S3 buckets.
#[derive(Debug)]
pub(crate) struct Bucket {
    pub(super) sessions: Arc<Sessions>,
}

impl Bucket {
    pub(crate) fn new(sessions: &Arc<Sessions>) -> Self {
        Self {
            sessions: Arc::clone(sessions),
        }
    }
}

/// What the plugin publishes of the kind.
pub(super) fn definition() -> Kind {
    let names = ExternalName::by_user("my-bucket")
        .pattern("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
        .max_length(63);
    definition::kind(GROUP, "Bucket", names)
        .description("An Amazon S3 bucket. It is deleted only when it is empty.")
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
