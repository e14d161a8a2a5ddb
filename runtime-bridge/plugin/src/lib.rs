//! The gRPC client side of the contract: connect, negotiate, call, classify.
//!
//! [`Plugin::connect`] shakes hands and fetches the kinds. What it gives is a handle that many tasks share, and a
//! [`Supervision`] to be run beside it, which notices that the plugin was restarted or no longer answers, and publishes a new
//! [`PluginState`]. No session: a call needs nothing but the handle, and a plugin may be another process from one call to the next.

pub mod answer;
mod call;
mod handshake;
mod kind;
mod observer;
mod random;
mod send;
mod state;
mod status;
mod supervision;

pub use bridge_transport::{Endpoint, EndpointError, Now, TlsFiles, secrets};
pub use call::Plugin;
pub use handshake::HandshakeError;
pub use observer::{CallObserver, CallRecord, Unobserved};
pub use send::with_metadata;
pub use state::{ConnectionStatus, PluginState, RejectedKind, Served};
pub use supervision::{Options, Supervision};

/// The contract package that this bridge speaks.
pub const CONTRACT_VERSION: &str = "v1alpha1";
