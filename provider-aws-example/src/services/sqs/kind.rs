//! The kind Queue: its definition.

use std::sync::Arc;
use std::time::Duration;

use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{Example, ExternalName, Kind, Reference};

use crate::definition::{self, VERSION};
use crate::session::Sessions;

const GROUP: &str = "sqs.aws.crossbridge.dev";

/// Handles the calls about SQS queues.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(super) sessions: Arc<Sessions>,
}

impl Queue {
    pub(crate) fn new(sessions: &Arc<Sessions>) -> Self {
        Self {
            sessions: Arc::clone(sessions),
        }
    }
}

/// What the plugin publishes of the kind.
pub(super) fn definition() -> Kind {
    let names = ExternalName::derived("https://sqs.eu-west-1.amazonaws.com/123456789012/jobs")
        .pattern("https?://.+/[0-9]+/[A-Za-z0-9_.-]+");
    definition::kind(GROUP, "Queue", names)
        .description("An Amazon SQS queue. AWS frees its name a minute after its deletion.")
        // Not by marker: CreateQueue may put our tags onto a queue of a foreign owner.
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
        .printer_column("ARN", "string", ".status.atProvider.arn")
        .connection_key("url", "URL of the queue")
        .connection_key("arn", "ARN of the queue")
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
