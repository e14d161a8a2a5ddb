//! `CloudFront`.

mod behavior;
mod change;
mod distribution;
mod find;
mod lists;
mod make;
mod model;
mod origin;
mod refused;
mod remove;
mod work;

pub(crate) use distribution::Distribution;

pub(crate) const GROUP: &str = "cloudfront.aws.crossbridge.dev";
