//! The kind Table: its definition.

use std::sync::Arc;
use std::time::Duration;

use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{Example, ExternalName, Kind};

use crate::definition;
use crate::session::Sessions;

const GROUP: &str = "dynamodb.aws.crossbridge.dev";

/// AWS says "a few seconds" of its descriptions; tags are seldom later. Should they be, polls wait longer.
const CONSISTENCY_WINDOW: Duration = Duration::from_secs(10);

/// Handles the calls about DynamoDB tables.
#[derive(Debug)]
pub(crate) struct Table {
    pub(super) sessions: Arc<Sessions>,
}

impl Table {
    pub(crate) fn new(sessions: &Arc<Sessions>) -> Self {
        Self {
            sessions: Arc::clone(sessions),
        }
    }
}

/// What the plugin publishes of the kind.
pub(super) fn definition() -> Kind {
    let names = ExternalName::by_user("orders")
        .pattern("[A-Za-z0-9_.-]{3,255}")
        .max_length(255);
    definition::kind(GROUP, "Table", names)
        .description("An Amazon DynamoDB table.")
        .printer_column("STATUS", "string", ".status.atProvider.status")
        .recover_by_name()
        .recover_by_marker()
        .consistency_window(CONSISTENCY_WINDOW)
        .visible_when_accepted()
        .immutable("/region")
        .immutable("/keySchema")
        .immutable("/localSecondaryIndexes")
        .connection_key("endpoint", "Endpoint that serves the table")
        .connection_key("name", "Name of the table")
        .connection_key("arn", "ARN of the table")
        .connection_key("streamArn", "ARN of the table's stream, if it has one")
        .create_timeout(Duration::from_mins(30))
        .update_timeout(Duration::from_hours(1))
        .delete_timeout(Duration::from_mins(10))
        .example(
            Example::new(
                "on-demand",
                &json!({
                    "region": "eu-west-1",
                    "attributeDefinitions": [
                        { "attributeName": "customer", "attributeType": "S" },
                        { "attributeName": "placedAt", "attributeType": "N" },
                    ],
                    "keySchema": [
                        { "attributeName": "customer", "keyType": "HASH" },
                        { "attributeName": "placedAt", "keyType": "RANGE" },
                    ],
                    "billingMode": "PAY_PER_REQUEST",
                    "tags": { "team": "orders" },
                }),
            )
            .external_name("crossbridge-example")
            .update(&json!({
                "region": "eu-west-1",
                "attributeDefinitions": [
                    { "attributeName": "customer", "attributeType": "S" },
                    { "attributeName": "placedAt", "attributeType": "N" },
                ],
                "keySchema": [
                    { "attributeName": "customer", "keyType": "HASH" },
                    { "attributeName": "placedAt", "keyType": "RANGE" },
                ],
                "billingMode": "PROVISIONED",
                "provisionedThroughput": { "readCapacityUnits": 2, "writeCapacityUnits": 1 },
                "tags": { "team": "orders", "tier": "gold" },
            }))
            .invalid(&json!({
                "region": "eu-west-1",
                "attributeDefinitions": [{ "attributeName": "customer", "attributeType": "S" }],
                "keySchema": [{ "attributeName": "order", "keyType": "HASH" }],
            })),
        )
}
