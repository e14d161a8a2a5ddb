//! The shell of the managed-resource machine: gathers what is known, carries out the one thing that was decided, comes back with the result.
//! No resource semantics: those are [`bridge_core::managed`].

mod config_source;
mod counts;
mod detached;
mod digest;
pub mod fault_point;
mod gather;
mod holds;
mod memories;
mod metrics;
mod pass;
mod place;
mod publish;
mod reconciler;
mod view;
mod wish;

pub use config_source::ConfigSource;
pub use detached::Detached;
pub use digest::{DIGEST_KEY_SECRET, DigestKeyError, Digester};
pub use holds::Holds;
pub use metrics::ManagedMetrics;
pub use reconciler::{ManagedOptions, ManagedReconciler, Shared};
pub use view::ownership_marker;
pub use wish::secret_references;
