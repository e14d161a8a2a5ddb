//! The types of a distribution.

mod behavior;
mod check;
pub(super) mod convert;
mod lists;
mod origin;
mod viewer;

use aws_sdk_cloudfront::types as aws;
use aws_smithy_types::date_time::Format;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::partition::Partition;
use crate::tags::Tags;
use behavior::{Behavior, OrderedBehavior};
use origin::{Origin, OriginGroup};
use viewer::{CustomErrorResponse, Logging, Restrictions, ViewerCertificate};

/// A CloudFront distribution. Omitted fields stay as they are; in a new distribution they have AWS's defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DistributionParameters {
    /// Whether it serves requests; a new one does by default.
    pub(crate) enabled: Option<bool>,
    /// A comment for people.
    #[schemars(length(max = 128))]
    pub(crate) comment: Option<String>,
    /// Alternate domain names. They need a certificate.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) aliases: Option<Vec<String>>,
    /// All origins of its content.
    #[schemars(
        required,
        length(min = 1),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"])
    )]
    pub(crate) origins: Option<Vec<Origin>>,
    /// All groups of origins.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub(crate) origin_groups: Option<Vec<OriginGroup>>,
    /// The behavior for requests that no other behavior matches.
    #[schemars(required)]
    pub(crate) default_cache_behavior: Option<Behavior>,
    /// All behaviors for requests to some paths. The first whose path matches applies.
    pub(crate) ordered_cache_behaviors: Option<Vec<OrderedBehavior>>,
    /// What viewers get in place of errors; all responses.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["errorCode"]))]
    pub(crate) custom_error_responses: Option<Vec<CustomErrorResponse>>,
    /// What is served for the root, such as index.html. Empty text: nothing.
    #[schemars(length(max = 255), regex(pattern = r"^$|^[^/]"))]
    pub(crate) default_root_object: Option<String>,
    /// Which edge locations serve: cheap ones, more, or all.
    #[schemars(extend("enum" = ["PriceClass_100", "PriceClass_200", "PriceClass_All"]))]
    pub(crate) price_class: Option<String>,
    /// The newest versions of HTTP that are served.
    #[schemars(extend("enum" = ["http1.1", "http2", "http3", "http2and3"]))]
    pub(crate) http_version: Option<String>,
    /// Whether it is served over IPv6.
    #[serde(rename = "isIPv6Enabled")]
    pub(crate) is_ipv6_enabled: Option<bool>,
    /// The certificate that viewers see.
    pub(crate) viewer_certificate: Option<ViewerCertificate>,
    /// Which viewers are served.
    pub(crate) restrictions: Option<Restrictions>,
    /// Access logs, written to a bucket.
    pub(crate) logging: Option<Logging>,
    /// ARN of an AWS WAF web ACL, or id of one of WAF Classic. Empty text: none.
    #[serde(rename = "webACLId")]
    pub(crate) web_acl_id: Option<String>,
    /// All tags of the distribution. If omitted, existing tags are kept.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub(crate) tags: Option<Tags>,
}

/// The observed state of a distribution that is no parameter.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DistributionStatus {
    /// Id of the distribution.
    pub(crate) id: String,
    /// ARN of the distribution.
    pub(crate) arn: String,
    /// Domain name of the distribution, to which aliases point.
    pub(crate) domain_name: String,
    /// Id of the Route 53 zone that alias records for the domain name refer to.
    pub(crate) hosted_zone_id: String,
    /// `InProgress` while a change is being deployed to all edge locations, else `Deployed`.
    pub(crate) status: String,
    /// When it was last changed.
    pub(crate) last_modified_time: Option<String>,
    /// Number of invalidations in progress.
    pub(crate) in_progress_invalidation_batches: i32,
}

impl DistributionStatus {
    pub(super) fn new(distribution: &aws::Distribution, partition: Partition) -> Self {
        Self {
            id: distribution.id.clone(),
            arn: distribution.arn.clone(),
            domain_name: distribution.domain_name.clone(),
            hosted_zone_id: hosted_zone(partition).to_owned(),
            status: distribution.status.clone(),
            last_modified_time: distribution.last_modified_time.fmt(Format::DateTime).ok(),
            in_progress_invalidation_batches: distribution.in_progress_invalidation_batches,
        }
    }
}

/// The zone of all distributions, which no request returns.
fn hosted_zone(partition: Partition) -> &'static str {
    match partition.name {
        "aws-cn" => "Z3RFFRIM2A3IF5",
        _ => "Z2FDTNDATAQYW2",
    }
}
