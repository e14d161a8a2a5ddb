//! The usage machine against a model of the API server: what people do, written out, schedules with one or two faults, and random ones.

#![allow(clippy::unwrap_used)] // What these tests share is of tests, too.

mod api;
mod behaviour;
mod collected;
mod faults;
mod life;
mod process;
mod random;
