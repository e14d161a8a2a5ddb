//! How a managed resource was once lost or doubled, trace by trace (`crash-traces` in the reliability documents). None may come back.
//!
//! 20, 22 and 26 lie with the plugin: what the machine can do about 20 is here, 22 and 26 are the conformance kit's.

mod accounts;
mod create;
mod delete;
mod finalizer;
mod foreign;
mod lost_answers;
mod questions;
mod replacement;
mod token;
