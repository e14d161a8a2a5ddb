#![doc = include_str!("../README.md")]
//!
//! # Where to begin
//!
//! A kind implements [`Resource`]; [`Plugin`] collects the kinds and serves them. A call's time ends with its [`Deadline`]. Logs go to [`tracing`]:
//! install a subscriber to see them. With the feature `testing`, the module `testing` drives a plugin in a unit test: every call, a kill
//! inside of one, and what comes after.

mod answer;
mod call;
mod config;
mod deadline;
mod document;
mod failure;
pub mod handle;
mod kind;
mod plugin;
pub mod prelude;
mod resource;
mod serve;
mod served;
mod service;
#[cfg(feature = "testing")]
pub mod testing;

pub use answer::{Listed, ListedItem, Observation, Observed, Operation, Outcome};
pub use call::{Call, ConfigCall, Create, Delete, Desired, Known, List, Poll, Target, Update};
pub use config::{Config, CredentialKey};
pub use crossbridge_types::{Effect, FailureCode, OperationVerb};
pub use deadline::Deadline;
pub use failure::Failure;
pub use kind::{Example, ExternalName, Kind, Reference};
pub use plugin::Plugin;
pub use resource::Resource;
pub use serve::{ServeError, TlsProblem};

pub use async_trait::async_trait;
pub use {schemars, serde, serde_json};
