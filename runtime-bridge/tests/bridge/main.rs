//! The binary as a whole: its command line, its CRDs on a real API server, its life beside a real plugin.

mod admin;
mod cli;
mod cluster;
mod notes;
mod program;
mod rules;
mod serve;
