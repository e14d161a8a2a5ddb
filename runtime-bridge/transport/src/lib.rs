//! What the bridge's gRPC clients share: where a server listens, the channel to it, and that nothing is sent after its deadline.

mod channel;
mod clock;
mod endpoint;
mod guard;
pub mod status;

pub use channel::Channels;
pub use clock::Now;
pub use endpoint::{Endpoint, EndpointError, TlsFiles};
pub use guard::{CompressedAnswer, DeadlinePassed, Guarded};
