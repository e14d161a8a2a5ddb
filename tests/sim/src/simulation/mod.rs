//! The whole bridge in virtual time: the real engine and the real plugin client, against an API server and a cloud in the process.
//!
//! Everything that happens is drawn from the seed: which kinds, what users do, what becomes of each request, when something dies. A
//! bridge dies by its runtime being dropped: whatever it had in memory is lost, while API server and cloud stay as they are.

mod bridge;
mod chance;
mod cloud_link;
mod compositions;
mod coverage;
mod environment;
mod function_host;
mod invariants;
mod journal;
mod kube_link;
mod plan;
mod plugin_host;
mod run;
mod steps;
mod time;
mod user;
mod wire;

pub(crate) use self::{
    bridge::run as run_bridge,
    environment::Environment,
    plugin_host::PluginHost,
    run::{collect_garbage, in_runtime},
};
pub use self::{
    compositions::run as run_compositions,
    coverage::{Counts, ENOUGH_SEEDS, never_happened},
    run::{Report, known_composition_seeds, known_seeds, run},
};
