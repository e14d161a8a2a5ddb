//! The client of plugins, against a plugin of the tests.
#![allow(clippy::unwrap_used)] // Also helpers of tests are tests.

mod calls;
mod fake;
mod handshake;
mod hostile;
mod transport;
mod undeclared;
