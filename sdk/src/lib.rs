//! Write a Crossbridge plugin in Rust.
//!
//! A plugin makes one cloud's resources available in Kubernetes. Its author writes, for each kind, a type for the
//! parameters, a type for the status, and one implementation of [`Resource`]; [`Plugin`] collects the kinds and serves them.
//! The runtime bridge does everything that is Kubernetes.

mod answer;
mod call;
mod config;
mod deadline;
mod document;
mod failure;
mod kind;
mod plugin;
pub mod prelude;
mod resource;
mod serve;
mod served;
mod service;

pub use answer::{Listed, ListedItem, Observation, Observed, Operation, Outcome};
pub use call::{Call, ConfigCall, Create, Delete, Desired, List, Poll, Target, Update};
pub use config::{Config, CredentialKey};
pub use crossbridge_proto::checked::{Effect, FailureCode, OperationVerb};
pub use deadline::Deadline;
pub use failure::Failure;
pub use kind::{Example, ExternalName, Kind, Reference};
pub use plugin::Plugin;
pub use resource::Resource;
pub use serve::ServeError;

pub use async_trait::async_trait;
pub use {schemars, serde, serde_json};
