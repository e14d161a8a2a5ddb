//! DynamoDB.

mod aspects;
mod change;
mod check;
mod kind;
mod look;
mod model;
mod observed;
mod plan;
mod table;
mod wished;

pub(crate) use table::Table;

pub(crate) const GROUP: &str = "dynamodb.aws.crossbridge.dev";
