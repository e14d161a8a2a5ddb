//! The real control plane, and the command that starts one.

#![allow(clippy::unwrap_used, reason = "helpers of tests may, as tests do")]

mod command;
mod control_plane;
