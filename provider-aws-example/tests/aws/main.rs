//! The plugin, served over gRPC, against an emulated AWS: every kind through its lifecycle, and through errors of AWS.

// What the services share is more than some of them use.
#![cfg_attr(not(feature = "all-services"), allow(dead_code, unused_imports))]

mod fixture;

#[cfg(feature = "s3")]
mod bucket;
mod command_line;
#[cfg(feature = "all-services")]
mod config;
#[cfg(feature = "cloudfront")]
mod distribution;
#[cfg(feature = "all-services")]
mod floor_plan;
#[cfg(feature = "sqs")]
mod queue;
#[cfg(feature = "dynamodb")]
mod table;
