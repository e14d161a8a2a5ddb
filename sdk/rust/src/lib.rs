//! Write a Crossbridge plugin in Rust.
//!
//! A plugin makes one cloud's resources available in Kubernetes. Its author writes, for each kind, a type for the
//! parameters, a type for the status, and one implementation of [`Resource`]; [`Plugin`] collects the kinds and serves them.
//! The runtime bridge does everything that is Kubernetes.
//!
//! A whole plugin, which keeps text files in a folder:
//!
//! ```no_run
#![doc = include_str!("../../../examples/files-plugin/src/main.rs")]
//! ```
//!
//! # What an author can rely on
//!
//! - A request is complete and in form before the author's code sees it; parameters have the author's type; an external name keeps
//!   the kind's rules; credentials are there and not expired.
//! - The future of a call is dropped at its [`Deadline`], also when the caller goes away. A panic ends that call only.
//! - An answer is checked before it leaves. One that breaks the contract becomes an `INTERNAL` failure, and an error in the log.
//! - `Debug` of every type here, and the SDK's own log, show no credential, no sensitive value, no connection detail.
//!
//! # Serving
//!
//! `PROVIDER_PLUGIN_ENDPOINT` names the address: `unix:///path` (only its owner can reach it), `http://127.0.0.1:port` (loopback only), or
//! `https://host:port` with mutual TLS by the files (read anew when they change) that `PROVIDER_PLUGIN_TLS_CERT`, `PROVIDER_PLUGIN_TLS_KEY` and
//! `PROVIDER_PLUGIN_TLS_CA` name. Health and reflection are served beside. Logs go to [`tracing`]: install a subscriber to see them.
//! SIGTERM and SIGINT let running calls end.
//!
//! # Testing
//!
//! With the feature `testing`, the module `testing` drives a plugin in a unit test: every call, a kill inside of one, and what comes after.

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
