//! The composite machine against a model of the API server: what people do, written out, and all schedules with one or two faults.

#![allow(clippy::unwrap_used)] // What these tests share is of tests, too.

mod api;
mod behaviour;
mod blocked;
mod blockers;
mod circuit;
mod explore;
mod faults;
mod in_use;
mod kept;
mod life;
mod process;
mod requested;
mod reserved;
mod ruled;
