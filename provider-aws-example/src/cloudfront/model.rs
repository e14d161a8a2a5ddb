//! The types of a distribution.

mod check;
mod convert;
mod viewer;

use aws_sdk_cloudfront::types as aws;
use aws_smithy_types::date_time::Format;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(super) use convert::{found, new, over};
use viewer::{CustomErrorResponse, GeoRestriction, Logging, Restrictions, ViewerCertificate};

use super::behavior::{Behavior, OrderedBehavior};
use super::origin::{Origin, OriginGroup};
use crate::ownership::Tags;
use crate::partition::Partition;

/// A CloudFront distribution. What is left out stays as it is, and is as AWS has it in a new distribution.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DistributionParameters {
    /// Whether it serves. A new one does unless told otherwise.
    pub(crate) enabled: Option<bool>,
    /// For people.
    #[schemars(length(max = 128))]
    pub(crate) comment: Option<String>,
    /// Alternate domain names. They need a certificate.
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub(crate) aliases: Option<Vec<String>>,
    /// Where it gets what it serves; all origins.
    #[schemars(
        required,
        length(min = 1),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"])
    )]
    pub(crate) origins: Option<Vec<Origin>>,
    /// Groups of origins; all of them.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["id"]))]
    pub(crate) origin_groups: Option<Vec<OriginGroup>>,
    /// How requests are answered that no other behavior is for.
    #[schemars(required)]
    pub(crate) default_cache_behavior: Option<Behavior>,
    /// How requests for some paths are answered; all behaviors. The first whose path matches counts.
    pub(crate) ordered_cache_behaviors: Option<Vec<OrderedBehavior>>,
    /// What viewers get in the place of errors; all of them.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["errorCode"]))]
    pub(crate) custom_error_responses: Option<Vec<CustomErrorResponse>>,
    /// What is served for the root, such as index.html. Empty text: nothing.
    #[schemars(length(max = 255), regex(pattern = r"^$|^[^/]"))]
    pub(crate) default_root_object: Option<String>,
    /// Which of AWS's places serve: cheap ones, more, or all.
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
    /// Who is served.
    pub(crate) restrictions: Option<Restrictions>,
    /// Access logs.
    pub(crate) logging: Option<Logging>,
    /// ARN of an AWS WAF web ACL, or id of one of WAF Classic. Empty text: none.
    #[serde(rename = "webACLId")]
    pub(crate) web_acl_id: Option<String>,
    /// Tags of the distribution; all of them. Left out, those that are there stay.
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    pub(crate) tags: Option<Tags>,
}

/// What is known of a distribution.
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
    /// `InProgress` while a change is on its way to all places, else `Deployed`.
    pub(crate) status: String,
    /// When it was last changed.
    pub(crate) last_modified_time: Option<String>,
    /// Invalidations under way.
    pub(crate) in_progress_invalidation_batches: i32,
}

impl DistributionStatus {
    /// Of what AWS tells.
    pub(super) fn of(found: &aws::Distribution, partition: Partition) -> Self {
        Self {
            id: found.id.clone(),
            arn: found.arn.clone(),
            domain_name: found.domain_name.clone(),
            hosted_zone_id: hosted_zone(partition).to_owned(),
            status: found.status.clone(),
            last_modified_time: found.last_modified_time.fmt(Format::DateTime).ok(),
            in_progress_invalidation_batches: found.in_progress_invalidation_batches,
        }
    }
}

/// One for all distributions, which no call tells.
fn hosted_zone(partition: Partition) -> &'static str {
    match partition.name {
        "aws-cn" => "Z3RFFRIM2A3IF5",
        _ => "Z2FDTNDATAQYW2",
    }
}
