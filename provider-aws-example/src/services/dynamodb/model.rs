//! The types of a table.

mod check;
pub(super) mod from_api;
pub(super) mod state;
pub(super) mod to_api;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tags::Tags;

/// A DynamoDB table.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TableParameters {
    /// AWS region; defaults to the region of the ProviderConfig.
    pub(crate) region: Option<String>,
    /// All tags of the table. If omitted, existing tags are kept.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub(crate) tags: Option<Tags>,
    /// Attributes that are keys of the table or of an index, and only those.
    #[schemars(
        length(min = 1),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["attributeName"])
    )]
    pub(crate) attribute_definitions: Vec<AttributeDefinition>,
    /// The primary key: a HASH attribute, and perhaps a RANGE attribute.
    #[schemars(
        length(min = 1, max = 2),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["attributeName"])
    )]
    pub(crate) key_schema: Vec<KeySchemaElement>,
    /// How use is paid for. If omitted at creation: `PAY_PER_REQUEST`, or PROVISIONED if a throughput is given.
    #[schemars(extend("enum" = ["PROVISIONED", "PAY_PER_REQUEST"]))]
    pub(crate) billing_mode: Option<String>,
    /// Capacity, with the billing mode PROVISIONED.
    pub(crate) provisioned_throughput: Option<Throughput>,
    /// All indexes with keys of their own. Keys and projection of an existing one cannot be changed: give it another name.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["indexName"]))]
    pub(crate) global_secondary_indexes: Option<Vec<GlobalIndex>>,
    /// Indexes with the table's HASH key and another RANGE key; only at creation.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["indexName"]))]
    pub(crate) local_secondary_indexes: Option<Vec<LocalIndex>>,
    /// A stream of the changes of items.
    pub(crate) stream_specification: Option<Stream>,
    /// Items that expire. AWS accepts one change in an hour.
    pub(crate) time_to_live: Option<TimeToLive>,
    /// Continuous backups, from which the table can be restored as it was at any second of the last 35 days.
    pub(crate) point_in_time_recovery_enabled: Option<bool>,
    /// Encryption with a key of KMS. If omitted or disabled, AWS encrypts with a key of DynamoDB's.
    pub(crate) sse_specification: Option<Sse>,
    /// Keeps the table from being deleted.
    pub(crate) deletion_protection_enabled: Option<bool>,
    /// Whether requests or storage are cheap.
    #[schemars(extend("enum" = ["STANDARD", "STANDARD_INFREQUENT_ACCESS"]))]
    pub(crate) table_class: Option<String>,
}

/// An attribute that is a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AttributeDefinition {
    /// Name of the attribute.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) attribute_name: String,
    /// S: text. N: number. B: bytes.
    #[schemars(extend("enum" = ["S", "N", "B"]))]
    pub(crate) attribute_type: String,
}

/// A part of a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct KeySchemaElement {
    /// One of the attribute definitions.
    pub(crate) attribute_name: String,
    /// HASH: the partition. RANGE: the order within it.
    #[schemars(extend("enum" = ["HASH", "RANGE"]))]
    pub(crate) key_type: String,
}

/// Provisioned capacity, in units of AWS's pricing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Throughput {
    /// Strongly consistent reads of 4 KiB in a second.
    #[schemars(range(min = 1))]
    pub(crate) read_capacity_units: i64,
    /// Writes of 1 KiB in a second.
    #[schemars(range(min = 1))]
    pub(crate) write_capacity_units: i64,
}

/// What of an item an index holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Projection {
    /// ALL attributes, `KEYS_ONLY`, or the keys and those to INCLUDE.
    #[schemars(extend("enum" = ["ALL", "KEYS_ONLY", "INCLUDE"]))]
    pub(crate) projection_type: String,
    /// With INCLUDE, attributes beside the keys.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) non_key_attributes: Option<Vec<String>>,
}

/// An index with keys of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GlobalIndex {
    /// Name of the index.
    #[schemars(length(min = 3, max = 255))]
    pub(crate) index_name: String,
    /// Its key: a HASH attribute, and perhaps a RANGE attribute.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["attributeName"]))]
    pub(crate) key_schema: Vec<KeySchemaElement>,
    /// What of an item it holds.
    pub(crate) projection: Projection,
    /// Capacity, with the billing mode PROVISIONED. If omitted at creation: the table's.
    pub(crate) provisioned_throughput: Option<Throughput>,
}

/// An index with the table's HASH key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LocalIndex {
    /// Name of the index.
    #[schemars(length(min = 3, max = 255))]
    pub(crate) index_name: String,
    /// Its key: the table's HASH attribute, and another RANGE attribute.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["attributeName"]))]
    pub(crate) key_schema: Vec<KeySchemaElement>,
    /// What of an item it holds.
    pub(crate) projection: Projection,
}

/// A stream of the changes of items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Stream {
    /// Whether the stream is on.
    pub(crate) stream_enabled: bool,
    /// What it contains of a changed item.
    #[schemars(extend("enum" = ["KEYS_ONLY", "NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES"]))]
    pub(crate) stream_view_type: Option<String>,
}

/// Expiry of items by a time that they hold themselves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TimeToLive {
    /// Whether AWS deletes expired items.
    pub(crate) enabled: bool,
    /// The attribute that holds the time of expiry, in seconds since 1970.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) attribute_name: String,
}

/// Encryption with a key of KMS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sse {
    /// Whether a key of KMS is used.
    pub(crate) enabled: bool,
    /// Id, ARN or alias of the key. If omitted: AWS's own key in KMS. An alias is not compared with the key in use.
    pub(crate) kms_master_key_id: Option<String>,
}

/// The observed state of a table that is no parameter.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TableStatus {
    /// ARN of the table.
    pub(crate) arn: String,
    /// Id that AWS gives to every table, and never reuses.
    pub(crate) id: Option<String>,
    /// CREATING, ACTIVE, UPDATING, DELETING, and others.
    pub(crate) status: String,
    /// When AWS created it.
    pub(crate) creation_time: Option<String>,
    /// ARN of its stream, if it has one.
    pub(crate) stream_arn: Option<String>,
}
