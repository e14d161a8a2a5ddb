//! The shell of the composite machine: collects what is known, carries out the one thing that was decided, comes back with the result. Runs of pipelines are
//! tasks beside the reconciles, so that no function ever holds one of their turns. What is decided, and why, is [`bridge_core::composite`].

mod awaited_kinds;
mod choice;
mod collect;
mod confirmation;
mod connection;
mod controller;
mod dependencies;
mod find;
mod function_news;
mod library;
mod live;
mod objects;
mod pass;
mod reconciler;
mod run;
mod runs;
mod schema;
mod schemas;
mod secret_users;
mod shared;
mod step_calls;
mod stored_outcome;
mod views;

pub(crate) use dependencies::edges;
pub(crate) use find::{Finder, key_of};
pub(crate) use live::live;
pub(crate) use objects::{GuardedApply, failure};
pub use reconciler::CompositeReconciler;
pub use shared::{CompositeOptions, CompositeShared};
