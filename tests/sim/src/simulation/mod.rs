//! The whole bridge in virtual time: the real engine and the real plugin client, against an API server and a cloud in the process.
//!
//! Everything that happens is drawn from the seed: which kinds, what users do, what becomes of each request, when something dies. A
//! bridge dies by its runtime being dropped: whatever it had in memory is lost, while API server and cloud stay as they are.

mod bridge;
mod chance;
mod cloud_link;
mod compositions;
mod coverage;
mod deadline;
mod departure;
mod environment;
mod function_host;
mod invariants;
mod journal;
mod kube_link;
mod plan;
mod plugin_host;
mod run;
mod seed_kind;
mod steps;
mod time;
mod user;
mod wire;
mod write_faults;

pub(crate) use self::{
    bridge::run as run_bridge,
    compositions::{CompositionChecker, Sender},
    deadline::Deadline,
    environment::Environment,
    function_host::FunctionHost,
    plugin_host::PluginHost,
    run::{collect_garbage, in_runtime},
};
pub use self::{
    coverage::Counts,
    departure::UserStep,
    run::Report,
    seed_kind::SeedKind,
    write_faults::{FaultAt, WriteFault},
};
