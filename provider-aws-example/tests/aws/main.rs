//! The plugin, served over gRPC, against an AWS of one's own: every kind through its life, and through trouble.

mod bucket;
mod config;
#[cfg(feature = "cloudfront")]
mod distribution;
mod queue;
mod table;
mod world;
