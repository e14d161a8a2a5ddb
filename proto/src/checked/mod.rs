//! The contract's messages after every check: domain types, and the conversions between them and the wire.

mod failure;
mod operation;
mod secrets;

pub use failure::{Effect, Failure, FailureCode, FieldViolation};
pub use operation::{Operation, OperationVerb};
pub use secrets::Secrets;
