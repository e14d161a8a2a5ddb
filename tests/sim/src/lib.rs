//! Deterministic simulation. `tests/model` holds the machine against a reference model: scenarios, random runs, and the explorer.
//! [`simulation`] runs the whole bridge in virtual time, on one thread: one seed is one schedule. [`scenario`]s run in it, and with real
//! processes in `tests/crash-matrix`, and must agree. [`exploration`] runs those of compositions with one or two faults at every place.

pub mod composition_scenario;
pub mod exploration;
pub mod scenario;
pub mod simulation;
