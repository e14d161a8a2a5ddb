//! Where a distribution gets what it serves.

mod convert;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use convert::{groups, groups_over, origins, origins_over};

use crate::violations::Violations;

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
    /// Headers sent along with every request to the origin. Anybody who may read this object sees them.
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
    /// One more cache, before the origin.
    pub(crate) origin_shield: Option<OriginShield>,
}

/// A header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomHeader {
    /// Name of the header.
    #[schemars(length(min = 1))]
    pub(crate) name: String,
    /// Its value.
    pub(crate) value: String,
}

/// An S3 bucket.
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

/// Any web server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CustomOrigin {
    /// Whether to talk HTTP or HTTPS to it.
    #[schemars(extend("enum" = ["http-only", "https-only", "match-viewer"]))]
    pub(crate) origin_protocol_policy: String,
    /// Port for HTTP; 80 at first.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) http_port: Option<i32>,
    /// Port for HTTPS; 443 at first.
    #[schemars(range(min = 1, max = 65535))]
    pub(crate) https_port: Option<i32>,
    /// Protocols to use for HTTPS; TLSv1.2 at first.
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

/// A server in a private network.
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

/// One more cache, before the origin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OriginShield {
    /// Whether to use it.
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

/// What the schema cannot say of origins and groups.
pub(super) fn check(origins: &[Origin], groups: &[OriginGroup], violations: &mut Violations) {
    violations.add_if(
        origins.is_empty(),
        "/origins",
        "a distribution has at least one origin",
    );
    for (index, origin) in origins.iter().enumerate() {
        let at = format!("/origins/{index}");
        let sorts = [
            origin.s3_origin.is_some(),
            origin.custom_origin.is_some(),
            origin.vpc_origin.is_some(),
        ];
        violations.add_if(
            sorts.into_iter().filter(|said| *said).count() != 1,
            &at,
            "an origin has one of s3Origin, customOrigin and vpcOrigin",
        );
        violations.add_if(
            origins[..index].iter().any(|other| other.id == origin.id),
            format!("{at}/id"),
            format!("two origins are called {:?}", origin.id),
        );
        violations.add_if(
            origin
                .origin_shield
                .as_ref()
                .is_some_and(|shield| shield.enabled != shield.region.is_some()),
            format!("{at}/originShield/region"),
            "an origin shield has a region if it is enabled, and none if it is not",
        );
    }
    for (index, group) in groups.iter().enumerate() {
        for (place, id) in group.origin_ids.iter().enumerate() {
            violations.add_if(
                !origins.iter().any(|origin| origin.id == *id),
                format!("/originGroups/{index}/originIds/{place}"),
                format!("there is no origin {id:?}"),
            );
        }
    }
}
