//! The end of a definition: each plan as it prints, whole.

#![allow(clippy::unwrap_used)] // What these tests share is of tests, too.

mod sample;
mod teardown;
mod to_the_end;
mod withdrawal;
