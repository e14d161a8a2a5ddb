//! What the kind Queue declares.

use std::time::Duration;

use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{Example, ExternalName, Kind, Reference};

use super::GROUP;
use crate::{CALL_TIMEOUT, VERSION};

pub(super) fn queue() -> Kind {
    let names = ExternalName::derived("https://sqs.eu-west-1.amazonaws.com/123456789012/jobs")
        .pattern("https?://.+/[0-9]+/[A-Za-z0-9_.-]+");
    Kind::new(GROUP, VERSION, "Queue", names)
        .description("An Amazon SQS queue. After its deletion AWS lets its name rest for a minute.")
        .category("aws")
        // Not by marker: CreateQueue may put our tags onto somebody else's queue.
        .recover_by_name()
        .holds_marker()
        .consistency_window(Duration::from_secs(5))
        .visible_when_accepted()
        .immutable("/name")
        .immutable("/region")
        .immutable("/fifoQueue")
        .json_text("/policy")
        .reference(
            "/redrivePolicy/deadLetterTargetArn",
            Reference::to(GROUP, VERSION, "Queue").extract("/arn"),
        )
        .connection_key("url", "URL of the queue")
        .connection_key("arn", "ARN of the queue")
        .call_timeout(CALL_TIMEOUT)
        .example(
            Example::new(
                "standard",
                &json!({
                    "name": "crossbridge-example",
                    "region": "eu-west-1",
                    "visibilityTimeoutSeconds": 45,
                    "messageRetentionPeriodSeconds": 86400,
                    "sqsManagedSseEnabled": true,
                    "tags": { "team": "messaging" },
                }),
            )
            .update(&json!({
                "name": "crossbridge-example",
                "region": "eu-west-1",
                "visibilityTimeoutSeconds": 60,
                "messageRetentionPeriodSeconds": 86400,
                "delaySeconds": 5,
                "sqsManagedSseEnabled": true,
                "tags": { "team": "messaging", "tier": "gold" },
            }))
            .invalid(&json!({
                "name": "crossbridge-example",
                "region": "eu-west-1",
                "contentBasedDeduplication": true,
            })),
        )
        .example(
            Example::new(
                "fifo",
                &json!({
                    "name": "crossbridge-example.fifo",
                    "region": "eu-west-1",
                    "fifoQueue": true,
                    "contentBasedDeduplication": true,
                }),
            )
            .update(&json!({
                "name": "crossbridge-example.fifo",
                "region": "eu-west-1",
                "fifoQueue": true,
                "contentBasedDeduplication": false,
            })),
        )
}
