//! The plugin, served over gRPC, against an AWS of one's own: every kind through its life, and through trouble.

// What the services share is more than some of them use.
#![cfg_attr(
    not(all(feature = "cloudfront", feature = "dynamodb", feature = "s3", feature = "sqs")),
    allow(dead_code, unused_imports)
)]

#[cfg(feature = "s3")]
mod bucket;
#[cfg(all(feature = "cloudfront", feature = "dynamodb", feature = "s3", feature = "sqs"))]
mod config;
#[cfg(feature = "cloudfront")]
mod distribution;
#[cfg(feature = "sqs")]
mod queue;
#[cfg(feature = "dynamodb")]
mod table;
mod world;
