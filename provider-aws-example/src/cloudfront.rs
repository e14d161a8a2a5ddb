//! CloudFront.

pub(crate) const GROUP: &str = "cloudfront.aws.crossbridge.dev";
