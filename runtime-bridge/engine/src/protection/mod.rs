//! The shell of the usage machine: collects what is known, carries out the one thing that was decided, comes back with the result. What is decided,
//! and why, is [`bridge_core::protection`]. Who refuses deletions of what is in use is a [`Guard`].

mod collect;
mod controller;
mod dependencies;
mod guard;
mod kinds;
mod layer;
mod pass;
mod perform;
mod reconciler;
mod resolve;
mod stored;

#[cfg(test)]
pub(crate) use dependencies::edges as usage_edges;
pub use guard::{FixedGuard, Guard, GuardOptions, GuardState, UsageGuard, WebhookOptions};
pub(crate) use kinds::unknown_usages;
pub use kinds::usage_kinds;
pub(crate) use layer::ServedUsages;
pub(crate) use stored::{StoredUsages, ancestors};
