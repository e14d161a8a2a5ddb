//! Kubernetes I/O of the bridge: watches, store, queue driver, writers. No gRPC, no resource semantics.

pub mod ports;
