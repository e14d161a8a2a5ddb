//! The decisions of the bridge, pure: no I/O, no clock, no randomness. Time is an argument, and what is decided is a value that prints.

pub mod back_off;
pub mod crd;
pub mod driver;
mod error_chain;
pub mod external;
pub mod kind;
pub mod lease;
pub mod managed;
pub mod queue;
pub mod watch_plan;

pub use error_chain::error_chain;
