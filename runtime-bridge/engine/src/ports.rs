//! What the engine needs from outside itself: the binary wires a plugin behind it, a simulation something else.

pub use bridge_core::port::{External, Permit};
