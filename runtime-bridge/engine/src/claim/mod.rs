//! The shell of the claim machine: collects what is known, carries out the one thing that was decided, comes back with the result. What is decided,
//! and why, is [`bridge_core::claim`]. Claims are served for each definition that offers them, as long as their CRD is the definition's.

mod collect;
mod controller;
mod dependencies;
mod offered;
mod pass;
mod perform;
mod reconciler;

pub use offered::OfferedClaims;
pub use reconciler::ClaimReconciler;
