//! What nearly every plugin names: `use crossbridge_sdk::prelude::*`.

pub use crate::{
    Call, Config, Create, Delete, Desired, Example, ExternalName, Failure, Kind, Known, Observation,
    Observed, Operation, Outcome, Plugin, Poll, Resource, ServeError, Update, async_trait, serde_json::json,
};
