//! S3.

mod bucket;
mod look;
mod model;
mod write;

pub(crate) use bucket::Bucket;

pub(crate) const GROUP: &str = "s3.aws.crossbridge.dev";
