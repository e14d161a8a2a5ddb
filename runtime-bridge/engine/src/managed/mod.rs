//! The shell of the managed-resource machine: gathers what is known, carries out the one thing that was decided, comes back with the result.
//! No resource semantics: those are [`bridge_core::managed`].

mod awaited_permits;
mod collect;
mod config_source;
mod controller;
mod counts;
mod desired_state;
mod digest;
pub mod failpoint;
mod kept_observations;
mod metrics;
mod pass;
mod permit;
mod permits;
mod plugin_calls;
mod publish;
mod reconciler;
mod rest;
mod suspensions;
mod view;

pub use config_source::ConfigSource;
pub use desired_state::secret_references;
pub use digest::{DIGEST_KEY_SECRET, DigestKeyError, Digester};
pub use metrics::ManagedMetrics;
pub use reconciler::{ManagedOptions, ManagedReconciler, Shared};
pub use suspensions::Suspensions;
pub use view::ownership_marker;
