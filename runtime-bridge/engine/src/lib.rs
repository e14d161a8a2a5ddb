//! Kubernetes I/O of the bridge: watches, store, queue driver, writers. No gRPC, no resource semantics.

pub mod api_error;
pub mod clock;
pub mod object;
pub mod ports;
pub mod reconcile;
pub mod store;
