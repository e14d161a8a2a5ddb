//! The engine on a real API server.

#![allow(clippy::unwrap_used, reason = "helpers of tests may, as tests do")]

mod admin;
mod applies;
mod compositions;
mod configs_in_use;
mod connection_secrets;
mod definitions;
mod discovery;
mod events;
mod finalizers;
mod generated_crds;
mod harness;
mod interruptions;
mod large_answers;
mod leases;
mod managed;
mod permissions;
mod secrets;
mod serving;
mod status;
mod things;
mod wakes;
mod watches;
mod wire;
mod writes;
