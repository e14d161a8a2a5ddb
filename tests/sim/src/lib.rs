//! Deterministic simulation. `tests/model` holds the machine against a model world: scenarios, random lives, and the explorer.
//! [`simulation`] runs the whole bridge in virtual time, on one thread: one seed is one schedule.

pub mod simulation;
