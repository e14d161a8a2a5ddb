//! Kubernetes I/O of the bridge: watches, store, queue driver, writers.
