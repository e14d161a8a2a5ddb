//! The scenarios of `tests/sim`, with real processes on a real API server: they must agree with the simulation.
#![allow(missing_docs, clippy::unwrap_used)]

mod compositions;
mod managed;
mod user;
