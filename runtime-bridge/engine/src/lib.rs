//! Kubernetes I/O of the bridge: watches, store, queue driver, writers. No gRPC, no resource semantics.

pub mod api_error;
pub mod client;
pub mod clock;
pub mod composite;
pub mod config;
pub mod crd;
mod digest;
mod discovery;
pub mod dispatch;
pub mod engine;
pub mod event;
pub mod lease;
pub mod managed;
pub mod metrics;
pub mod object;
pub mod ports;
mod random;
pub mod reconcile;
pub mod secret;
pub mod serve;
pub mod shell;
mod single_flight;
pub mod state;
pub mod store;
pub mod watch;
pub mod write;
