//! What the kind Table declares.

use std::time::Duration;

use crossbridge_sdk::serde_json::json;
use crossbridge_sdk::{Example, ExternalName, Kind};

use super::GROUP;
use crate::{CALL_TIMEOUT, VERSION};

/// "A few seconds", says AWS of its descriptions; tags come no later as a rule. Should they, polls wait for longer.
const WINDOW: Duration = Duration::from_secs(10);

pub(super) fn table() -> Kind {
    let names = ExternalName::by_user("orders")
        .pattern("[A-Za-z0-9_.-]{3,255}")
        .max_length(255);
    Kind::new(GROUP, VERSION, "Table", names)
        .description("An Amazon DynamoDB table.")
        .category("aws")
        .printer_column("STATUS", "string", ".status.atProvider.status")
        .recover_by_name()
        .recover_by_marker()
        .consistency_window(WINDOW)
        .visible_when_accepted()
        .immutable("/region")
        .immutable("/keySchema")
        .immutable("/localSecondaryIndexes")
        .connection_key("endpoint", "Where the table is served")
        .connection_key("name", "Name of the table")
        .connection_key("arn", "ARN of the table")
        .connection_key("streamArn", "ARN of the table's stream, if it has one")
        .call_timeout(CALL_TIMEOUT)
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
