//! What the bridge's gRPC clients share: where a server listens, the channel to it, that nothing is sent after its deadline, and that no secret
//! comes back in a text.

mod addresses;
mod channel;
mod clock;
mod endpoint;
mod guard;
mod large;
mod peer;
mod route;
pub mod secrets;
pub mod status;
mod tls;

pub use addresses::{AddressChannels, Resolve};
pub use channel::Channels;
pub use clock::Now;
pub use endpoint::{Endpoint, EndpointError};
pub use guard::{CompressedAnswer, DeadlinePassed, Guarded};
pub use large::{LargeAnswer, LargeAnswers};
pub use route::{Candidate, Route};
pub use tls::TlsFiles;
