//! The client of functions, against a function of the tests.
#![allow(clippy::unwrap_used)] // Also helpers of tests are tests.

mod cache;
mod calls;
mod clock;
mod hold;
mod host;
mod limits;
mod metrics;
mod places;
mod raw;
mod refusal;
mod texts;
mod tls;
