//! The binary as a whole: its command line, its CRDs on a real API server, its life beside a real plugin.
#![allow(clippy::unwrap_used)] // Also helpers of tests are tests.

mod admin;
mod cli;
mod cluster;
mod compositions;
mod debug;
mod deployment;
mod dev;
mod function_certs;
mod isolation;
mod leadership;
mod life;
mod notes;
mod program;
mod render;
mod render_golden;
mod render_internal;
mod rules;
mod serve;
mod usages;
