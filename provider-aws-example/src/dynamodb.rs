//! DynamoDB.

mod aspects;
mod change;
mod check;
mod find;
mod follow;
mod kind;
mod look;
mod make;
mod model;
mod observed;
mod operation;
mod plan;
mod state;
mod table;
mod wished;
mod work;

pub(crate) use table::Table;

pub(crate) const GROUP: &str = "dynamodb.aws.crossbridge.dev";
