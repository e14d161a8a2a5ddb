//! Origins: the servers that a distribution gets its content from.

pub(super) mod check;
pub(super) mod convert;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A server that the distribution gets content from. One of s3Origin, customOrigin and vpcOrigin says of what sort it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_field_names)] // As CloudFront calls them.
pub(crate) struct Origin {
    /// Name by which cache behaviors call the origin.
    #[schemars(length(min = 1))]
    pub(crate) id: String,
    /// Domain name of the bucket, load balancer or server.
    #[schemars(length(min = 1, max = 253))]
    pub(crate) domain_name: String,
    /// Put before the path of every request to the origin, such as /production. Empty text: nothing.
    #[schemars(regex(pattern = r"^$|^/.*[^/]$"))]
    pub(crate) origin_path: Option<String>,
    /// Headers sent along with every request to the origin. Whoever may read this object sees them.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub(crate) custom_headers: Option<Vec<CustomHeader>>,
    /// An S3 bucket that is not a website.
    pub(crate) s3_origin: Option<S3Origin>,
    /// Any web server: a load balancer, an API, the website of a bucket.
    pub(crate) custom_origin: Option<CustomOrigin>,
    /// A server in a private network.
    pub(crate) vpc_origin: Option<VpcOrigin>,
    /// Id of the origin access control by which requests are signed. Empty text: none.
    pub(crate) origin_access_control_id: Option<String>,
    /// How often to try to connect.
    #[schemars(range(min = 1, max = 3))]
    pub(crate) connection_attempts: Option<i32>,
    /// How long to wait for a connection.
    #[schemars(range(min = 1, max = 10))]
    pub(crate) connection_timeout_seconds: Option<i32>,
    /// How long the origin may take for a whole response.
    #[schemars(range(min = 1))]
    pub(crate) response_completion_timeout_seconds: Option<i32>,
    /// A cache between the edge locations and the origin.
    pub(crate) origin_shield: Option<OriginShield>,
}

/// A header that is added to requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomHeader {
    /// Name of the header.
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Value of the header.
    pub(crate) value: String,
}

/// Settings for an origin that is an S3 bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct S3Origin {
    /// The older way of access, origin-access-identity/cloudfront/ID. Empty text: none.
    #[schemars(regex(pattern = r"^$|^origin-access-identity/cloudfront/.+$"))]
    pub(crate) origin_access_identity: Option<String>,
    /// How long to wait for a response.
    #[schemars(range(min = 1))]
    pub(crate) read_timeout_seconds: Option<i32>,
}

/// Settings for an origin that is a web server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomOrigin {
    /// Whether to talk HTTP or HTTPS to it.
    #[schemars(extend("enum" = ["http-only", "https-only", "match-viewer"]))]
    pub(crate) origin_protocol_policy: String,
    /// Port for HTTP; 80 by default.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) http_port: Option<i32>,
    /// Port for HTTPS; 443 by default.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) https_port: Option<i32>,
    /// Protocols to use for HTTPS; TLSv1.2 by default.
    #[schemars(
        length(min = 1),
        extend("items" = { "type": "string", "enum": ["SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2"] }),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub(crate) origin_ssl_protocols: Option<Vec<String>>,
    /// How long to wait for a response.
    #[schemars(range(min = 1))]
    pub(crate) read_timeout_seconds: Option<i32>,
    /// How long to keep an idle connection.
    #[schemars(range(min = 1))]
    pub(crate) keepalive_timeout_seconds: Option<i32>,
}

/// Settings for an origin in a private network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::struct_field_names)] // As CloudFront calls them.
pub(crate) struct VpcOrigin {
    /// Id of the VPC origin.
    #[schemars(length(min = 1))]
    pub(crate) vpc_origin_id: String,
    /// How long to wait for a response.
    #[schemars(range(min = 1))]
    pub(crate) read_timeout_seconds: Option<i32>,
    /// How long to keep an idle connection.
    #[schemars(range(min = 1))]
    pub(crate) keepalive_timeout_seconds: Option<i32>,
}

/// A cache between the edge locations and the origin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OriginShield {
    /// Whether requests go through it.
    pub(crate) enabled: bool,
    /// The AWS region that it is in: that with the shortest way to the origin.
    pub(crate) region: Option<String>,
}

/// Two origins, of which the second is asked when the first fails.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OriginGroup {
    /// Name by which cache behaviors call the group.
    #[schemars(length(min = 1))]
    pub(crate) id: String,
    /// Statuses that count as failure.
    #[schemars(
        length(min = 1),
        extend("items" = { "type": "integer", "enum": [400, 403, 404, 416, 429, 500, 502, 503, 504] }),
        extend("x-kubernetes-list-type" = "set")
    )]
    pub(crate) failover_status_codes: Vec<i32>,
    /// Ids of the two origins, the first one first.
    #[schemars(length(min = 2, max = 2))]
    pub(crate) origin_ids: Vec<String>,
}
