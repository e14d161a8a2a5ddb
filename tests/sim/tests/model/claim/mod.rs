//! The claim machine against a model of the API server: what people do, written out, and schedules with one or two faults.

#![allow(clippy::unwrap_used)] // What these tests share is of tests, too.

mod actions;
mod api;
mod behaviour;
mod explore;
mod faults;
mod kept;
mod life;
mod process;
