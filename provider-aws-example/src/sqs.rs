//! SQS.

mod attributes;
mod kind;
mod look;
mod model;
mod name;
mod queue;

pub(crate) use queue::Queue;

pub(crate) const GROUP: &str = "sqs.aws.crossbridge.dev";
