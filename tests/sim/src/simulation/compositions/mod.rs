//! Compositions in virtual time: a kind of seed of its own, in which a composition function stands beside the plugin.

mod invariants;
mod manifests;
mod plan;
mod run;
mod secrets;
mod state;
mod steps;
mod trouble;
mod user;

pub(crate) use self::invariants::CompositionChecker;
pub(super) use self::run::run;
