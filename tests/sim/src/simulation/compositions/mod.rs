//! Compositions in virtual time: a kind of seed of its own, in which a composition function stands beside the plugin.

mod departures;
mod functions;
mod invariants;
mod manifests;
mod plan;
mod releases;
mod run;
mod secrets;
mod settings;
mod standalone;
mod state;
mod steps;
mod trouble;
mod user;

pub(super) use self::run::run;
pub(crate) use self::{
    functions::FunctionProfile,
    invariants::{CompositionChecker, Sender},
};
